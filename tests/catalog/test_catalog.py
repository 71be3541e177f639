"""Model names in the spellings that logs hold, and the tables against the reference data."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from radixadvisor.catalog import (
    Model,
    families,
    family_of,
    find_model,
    gpu,
    gpus,
    model,
    models,
    pool_tokens,
)
from radixadvisor.errors import UnknownName, UsageError
from radixadvisor.render.registry import template_names
from radixadvisor.tokens.vocabularies import vocabulary_names

NAMES = {
    "Qwen/Qwen2.5-7B-Instruct": "qwen2.5",
    "qwen2.5:7b": "qwen2.5",
    "qwen2.5-coder-32b-instruct": "qwen2.5",
    "Qwen2.5-VL-7B": "qwen",
    "qwen-max": "qwen",
    "Qwen/Qwen3-8B": "qwen3",
    "qwen3-30b-a3b": "qwen3",
    "Qwen3-30B-A3B-Instruct-2507": "qwen3-later",
    "qwen3-coder-plus": "qwen3-later",
    "Qwen3.5-9B": "qwen3-later",
    "meta-llama/Meta-Llama-3.1-8B-Instruct": "llama-3.1",
    "accounts/fireworks/models/llama-v3p1-70b-instruct": "llama-3.1",
    "meta.llama3-1-8b-instruct-v1:0": "llama-3.1",
    "llama3.1:8b": "llama-3.1",
    "meta-llama/Llama-3.3-70B-Instruct": "llama-3.3",
    "us.meta.llama3-2-3b-instruct-v1:0": "llama-3.2",
    "llama-3-8b": "llama",
    "deepseek-ai/DeepSeek-V3": "deepseek-v3",
    "DeepSeek-V3-0324": "deepseek-v3",
    "deepseek-ai/DeepSeek-V3.1": "deepseek-v3.1",
    "deepseek-v3.2-exp": "deepseek-v3.2",
    "deepseek-ai/DeepSeek-R1": "deepseek-r1",
    "DeepSeek-R1-Distill-Llama-70B": "deepseek-r1-distill-llama",
    "DeepSeek-R1-Distill-Qwen-32B": "deepseek-r1-distill-qwen",
    "deepseek-chat": "deepseek-api",
    "deepseek/deepseek-reasoner": "deepseek-api",
    "openai/gpt-oss-120b": "gpt-oss",
    "gpt-4o-2024-08-06": "gpt",
    "gpt-4.1-mini": "gpt",
    "gpt-5": "gpt",
    "o3-mini": "gpt",
    "openai/o1": "gpt",
    "chatgpt-4o-latest": "gpt",
    "gpt-4": "gpt-4",
    "gpt-4-turbo-2024-04-09": "gpt-4",
    "azure/gpt-35-turbo": "gpt-4",
    "gpt-3.5-turbo-0125": "gpt-4",
    "claude-sonnet-4-5-20250929": "claude",
    "us.anthropic.claude-3-5-sonnet-20241022-v2:0": "claude",
    "vertex_ai/gemini-2.5-pro": "gemini",
    "mistralai/Mistral-Nemo-Instruct-2407": "mistral-v3",
    "mistral-small-2501": "mistral-v7",
    "mistral-large-latest": "mistral",
    "zai-org/GLM-4.6": "glm",
    "": "unknown",
    "acme-1": "unknown",
    "flagship-o4x": "unknown",
}


@pytest.mark.parametrize(("name", "family"), NAMES.items())
def test_names_as_logs_spell_them(name: str, family: str) -> None:
    assert family_of(name).name == family
    assert family_of(name.upper()).name == family


def test_every_family_names_a_template_and_a_vocabulary_that_exist() -> None:
    for family in families():
        assert family.template in template_names()
        assert family.vocabulary in vocabulary_names()
        assert family.source and family.checked == "2026-12-01"
        assert family.provider == "self" or family.assumption
    assert families()[-1].name == "unknown" and not families()[-1].known


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        *[("claude-opus-4", "anthropic"), ("gpt-4o", "openai"), ("gemini-2.0-flash", "gemini")],
        *[("deepseek-chat", "deepseek"), ("deepseek-ai/DeepSeek-V3", "self"), ("gpt-oss-20b", "self")],
    ],
)
def test_providers(name: str, provider: str) -> None:
    assert family_of(name).provider == provider


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "qwen2.5-7b"),
        ("Qwen/Qwen2.5-72B-Instruct", "qwen2.5-72b"),
        ("qwen3:8b", "qwen3-8b"),
        ("Qwen3-235B-A22B", "qwen3-235b-a22b"),
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("accounts/fireworks/models/llama-v3p3-70b-instruct", "llama-3.3-70b"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek-v3"),
        ("openai/gpt-oss-20b", "gpt-oss-20b"),
        ("qwen2.5-coder-32b-instruct", "qwen2.5-32b"),
        ("gpt-4o", None),
        ("qwen3-80b", None),
        ("DeepSeek-R1-Distill-Llama-70B", None),
    ],
)
def test_shapes_by_the_names_of_logs(name: str, expected: str | None) -> None:
    found = find_model(name)
    assert (found and found.name) == expected


def test_a_target_without_a_shape_lists_what_exists() -> None:
    assert model("QWEN2.5-7B").kv_bytes_per_token == 2 * 28 * 4 * 128 * 2
    with pytest.raises(UnknownName, match=r"Unknown model 'acme-1'.*llama-3\.1-8b"):
        model("acme-1")


def test_counts_are_those_of_the_reference_table(shared: Path) -> None:
    with (shared / "models.csv").open(encoding="utf-8", newline="") as rows:
        stated = {row["model"]: row for row in csv.DictReader(rows)}
    assert len(stated) == 22 and {entry.name for entry in models()} == stated.keys()
    for name, row in stated.items():
        found = find_model(name)
        assert found is not None and found.name == name
        shape = found.shape
        assert found.kv_bytes_per_token == int(row["kv_bytes_per_token_bf16"])
        assert shape.pair_flops == int(row["attn_flops_per_qk_pair_per_layer"])
        assert shape.linear_active == int(row["linear_params_active"])
        assert shape.parameters == int(row["params_total_calc"])
        assert shape.active == int(row["params_active_calc"])


KV_BYTES = {
    "llama-3.1-8b": 131_072,
    "llama-3.1-70b": 327_680,
    "deepseek-v3": 70_272,
    "qwen3-30b-a3b": 98_304,
    "gpt-oss-20b": 49_152,
}


@pytest.mark.parametrize(("name", "size"), KV_BYTES.items())
def test_kv_bytes_per_token(name: str, size: int) -> None:
    assert model(name).kv_bytes_per_token == size


@pytest.mark.parametrize("entry", models(), ids=lambda entry: entry.name)
def test_dimensions_add_up_to_the_published_count(entry: Model) -> None:
    assert entry.published is not None and entry.source and entry.checked
    limit = 0.03 if entry.name == "kimi-k2" else 0.005
    assert entry.parameters == pytest.approx(entry.published, rel=limit)


def test_what_was_not_read_at_the_source_says_so() -> None:
    assert {entry.name for entry in models() if entry.unverified} == {
        "mistral-7b-v0.3",
        "mistral-small-24b-2501",
    }
    assert {card.name for card in gpus() if card.unverified} == {"A10-24GB", "MI300X-192GB"}


def test_cards_are_those_of_the_reference_table(shared: Path) -> None:
    with (shared / "gpus.csv").open(encoding="utf-8", newline="") as rows:
        stated = {row["gpu"]: row for row in csv.DictReader(rows)}
    assert len(stated) == 12 and {card.name for card in gpus()} == stated.keys()
    for card in gpus():
        row = stated[card.name]
        assert card.bf16_tflops == float(row["bf16_dense_tflops"])
        assert card.fp8_tflops == (float(row["fp8_dense_tflops"]) if row["fp8_dense_tflops"] else None)
        assert card.bandwidth_gbps == float(row["hbm_GBps"])
        assert card.memory_gib == float(row["mem_GiB"])
        assert card.pcie_gbps == float(row["pcie_GBps_oneway"])
        assert card.link_gbps == float(row["intranode_GBps_oneway"])


def test_a_peak_is_that_of_the_weights_if_the_card_has_one() -> None:
    assert gpu("h100-sxm").flops("fp8") == 1978e12
    assert gpu("h100-sxm").flops("int4") == gpu("h100-sxm").flops("bf16") == 989e12
    assert gpu("a100-sxm-80").flops("fp8") == 312e12


def test_weights_weigh_what_is_shipped_unless_told_otherwise() -> None:
    mixed = model("gpt-oss-20b")
    experts = mixed.shape.all_experts_params
    assert mixed.weight_bytes() == 2 * (mixed.parameters - experts) + experts * 4.25 / 8
    assert mixed.weight_bytes("bf16") == 2 * mixed.parameters
    assert model("deepseek-v3").weight_bytes() == model("deepseek-v3").parameters


def test_cards_in_parallel_split_weights_and_heads_but_not_latents() -> None:
    card = gpu("h100-sxm")
    room = 80 * 2**30 * 0.88
    assert pool_tokens(model("llama-3.1-8b"), card, tensor_parallel=16) == (
        (room - 2 * 8_029_995_008 / 16) // (131_072 / 8)
    )
    target = model("deepseek-v3")
    expected = (room - target.parameters / 16) // 70_272
    assert pool_tokens(target, card, tensor_parallel=16) == expected
    with pytest.raises(UsageError, match=r"8 x H100-SXM-80GB has 640.*--tp"):
        pool_tokens(target, card, tensor_parallel=8, weights="bf16")


def test_a_pool_is_what_the_weights_leave() -> None:
    target, card = model("llama-3.1-8b"), gpu("h100-sxm")
    expected = (80 * 2**30 * 0.88 - 2 * 8_029_995_008) // 131_072
    assert pool_tokens(target, card) == expected
    assert pool_tokens(target, card, kv_dtype="fp8") == pytest.approx(2 * expected, abs=2)
    with pytest.raises(UsageError, match="A10-24GB"):
        pool_tokens(model("llama-3.1-70b"), gpu("a10"))


def test_a_card_is_found_by_the_beginning_of_its_name_only_if_one_has_it() -> None:
    assert gpu("H200").name == "H200-SXM-141GB"
    assert (gpu("l4").name, gpu("L40S").name) == ("L4-24GB", "L40S-48GB")
    assert (gpu("h100").name, gpu("H100-pcie").name) == ("H100-SXM-80GB", "H100-PCIE-80GB")
    with pytest.raises(UnknownName, match="A100-PCIE-80GB"):
        gpu("a100")
