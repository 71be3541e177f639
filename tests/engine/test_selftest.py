"""The self-test passes here, writes what calibrate reads, and is loud about planted errors."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from radixengine.attention import attention_named
from radixengine.attention.base import Layout
from radixengine.memory import KVMemory
from radixengine.selftest.__main__ import main
from radixengine.selftest.kernels import check_attention

from radixadvisor.predict.calibrate import calibrate
from radixadvisor.predict.points import read_points

CPU = torch.device("cpu")


class Planted:
    """A backend with one fault."""

    def __init__(self, memory: KVMemory, name: str) -> None:
        self.inner = attention_named(name, memory)
        self.name = self.inner.name

    def plan(self, layout: Layout) -> Any:
        return self.inner.plan(layout)

    def attend(
        self, plan: Any, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
    ) -> torch.Tensor:
        return self.inner.attend(plan, layer, q, k, v)


class OneHeadOff(Planted):
    """The last head is a hundredth off."""

    def attend(
        self, plan: Any, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
    ) -> torch.Tensor:
        out = super().attend(plan, layer, q, k, v)
        out[:, -q.shape[2] :] += 0.01
        return out


class StaleSlot(Planted):
    """The last cached token of each extend is read from a slot that another request left behind."""

    def plan(self, layout: Layout) -> Any:
        extends = []
        for part in layout.extends:
            context = part.context.copy()
            if len(context):
                taken = {int(slot) for slot in (*context, *layout.slots)}
                context[-1] = next(slot for slot in range(len(taken) + 1) if slot not in taken)
            extends.append(part._replace(context=context))
        return self.inner.plan(layout._replace(extends=tuple(extends)))


class RowLeftOut(Planted):
    """The last row is never written."""

    def attend(
        self, plan: Any, layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
    ) -> torch.Tensor:
        found = super().attend(plan, layer, q, k, v)
        out = torch.empty_like(found)
        out[:-1] = found[:-1]
        return out


def checked(planted: type[Planted], name: str = "split") -> float:
    found = check_attention(
        name, lambda memory: planted(memory, name), device=CPU, dtype="float32", cases=12, seed=3
    )
    assert found.passed == (found.error <= found.tolerance)
    return found.error


@pytest.mark.parametrize("name", ["sdpa", "split"])
def test_faults_of_a_kernel_show(name: str) -> None:
    assert checked(Planted, name) < 1e-5
    assert checked(OneHeadOff, name) == pytest.approx(0.01, rel=0.01)
    assert math.isnan(checked(StaleSlot, name))
    assert math.isnan(checked(RowLeftOut, name))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_types_stay_within_their_tolerance(dtype: str, seed: int) -> None:
    found = check_attention(
        "sdpa", lambda memory: attention_named("sdpa", memory), device=CPU, dtype=dtype, cases=8, seed=seed
    )
    assert found.passed, found


@pytest.mark.parametrize("planted", [OneHeadOff, StaleSlot])
def test_a_planted_fault_fails_the_whole_test_loudly(
    planted: type[Planted],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def named(name: str, memory: KVMemory) -> Planted:
        return planted(memory, name)

    for module in ("radixengine.engine", "radixengine.selftest.conduct"):
        monkeypatch.setattr(f"{module}.attention_named", named)
    path = tmp_path / "selftest.json"
    assert main(["--json", str(path), "--seed", "5"]) == 1
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1].startswith("FAILED: attention sdpa float32")
    assert "FAIL attention split float32" in shown
    body = json.loads(path.read_text())
    assert body["passed"] is False
    assert body["rates"] == []
    if planted is StaleSlot:
        assert "FAIL cache on = off" in shown


def test_a_run_is_clean_and_its_points_calibrate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result, points = tmp_path / "selftest.json", tmp_path / "points.json"
    assert main(["--json", str(result), "--points", str(points)]) == 0
    shown = capsys.readouterr().out
    body = json.loads(result.read_text())
    assert body["passed"] and len(body["checks"]) == 6
    assert body["seconds"] < 600
    assert {rate["phase"] for rate in body["rates"]} == {"prefill", "decode"}
    assert all(0 < rate["share"] < 1.5 and rate["tokens"] > 0 for rate in body["rates"])
    assert [gain["shared"] for gain in body["gains"]] == [0.0, 0.5, 0.9]
    assert body["gains"][2]["flops"] > body["gains"][1]["flops"] > body["gains"][0]["flops"] == 1.0
    assert body["host"]["loaded"] > 0
    assert "all 6 checks passed" in shown
    assert "left out: the 8B shape" in shown
    found = calibrate(read_points(points))
    assert found.prefill.points >= 8
    assert found.decode.points >= 6


def test_a_device_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    assert main(["--device", "cuda"]) == 2
    assert "--device cpu" in capsys.readouterr().err


def test_files_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("radixengine.selftest.conduct.attention_named", lambda n, m: OneHeadOff(m, n))
    assert main(["--json", str(tmp_path / "absent" / "x.json")]) == 2
