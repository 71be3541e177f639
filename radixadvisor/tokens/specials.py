"""The added tokens of the built-in vocabularies with the ids that the models use."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["SPECIALS"]


def _numbered(first: int, names: list[str]) -> dict[str, int]:
    return {name: first + offset for offset, name in enumerate(names)}


def _words(table: str) -> list[str]:
    return table.split()


_QWEN = _words("""
<|endoftext|> <|im_start|> <|im_end|> <|object_ref_start|> <|object_ref_end|> <|box_start|> <|box_end|>
<|quad_start|> <|quad_end|> <|vision_start|> <|vision_end|> <|vision_pad|> <|image_pad|> <|video_pad|>
<tool_call> </tool_call> <|fim_prefix|> <|fim_middle|> <|fim_suffix|> <|fim_pad|> <|repo_name|> <|file_sep|>
""")

_QWEN3_MORE = ["<tool_response>", "</tool_response>", "<think>", "</think>"]

_DEEPSEEK_TAIL = _words("""
<｜fim▁hole｜> <｜fim▁begin｜> <｜fim▁end｜> <｜User｜> <｜Assistant｜> <|EOT|>
<｜tool▁calls▁begin｜> <｜tool▁calls▁end｜> <｜tool▁call▁begin｜> <｜tool▁call▁end｜> <｜tool▁outputs▁begin｜>
<｜tool▁outputs▁end｜> <｜tool▁output▁begin｜> <｜tool▁output▁end｜> <｜tool▁sep｜>
""")


def _deepseek(renamed: dict[int, str]) -> dict[str, int]:
    """DeepSeek's table; ``renamed`` gives the placeholders that a release put to use."""
    head = _numbered(0, ["<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", "<｜▁pad▁｜>"])
    holders = [renamed.get(number, f"<｜place▁holder▁no▁{number}｜>") for number in range(800)]
    return {**head, **_numbered(128000, holders + _DEEPSEEK_TAIL)}


def _llama3() -> dict[str, int]:
    names = [f"<|reserved_special_token_{number}|>" for number in range(248)]
    names[2:2] = ["<|finetune_right_pad_id|>"]
    names[4:4] = ["<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>"]
    return _numbered(128000, ["<|begin_of_text|>", "<|end_of_text|>", *names])


def _gpt_oss() -> dict[str, int]:
    names = {number: f"<|reserved_{number}|>" for number in range(200000, 201088)}
    names.update(
        {
            199998: "<|startoftext|>",
            199999: "<|endoftext|>",
            200002: "<|return|>",
            200003: "<|constrain|>",
            200005: "<|channel|>",
            200006: "<|start|>",
            200007: "<|end|>",
            200008: "<|message|>",
            200012: "<|call|>",
            200018: "<|endofprompt|>",
        }
    )
    return {name: number for number, name in sorted(names.items())}


def _mistral() -> dict[str, int]:
    names = _words("""
<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS]
[TOOL_CALLS] [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT]
[TOOL_CONTENT]
""")
    return _numbered(0, [*names, *(f"<SPECIAL_{number}>" for number in range(20, 1000))])


SPECIALS: dict[str, Callable[[], dict[str, int]]] = {
    "qwen2.5": lambda: _numbered(151643, _QWEN),
    "qwen3": lambda: _numbered(151643, _QWEN + _QWEN3_MORE),
    "deepseek-v3": lambda: _deepseek({}),
    "deepseek-r1": lambda: _deepseek({798: "<think>", 799: "</think>"}),
    "deepseek-v3.1": lambda: _deepseek(
        {796: "<｜search▁begin｜>", 797: "<｜search▁end｜>", 798: "<think>", 799: "</think>"}
    ),
    "llama3": _llama3,
    "mistral-tekken": _mistral,
    "gpt-oss": _gpt_oss,
    "glm4": lambda: _numbered(
        151329,
        _words("""
<|endoftext|> [MASK] [gMASK] [sMASK] <sop> <eop> <|system|> <|user|> <|assistant|> <|observation|>
<|begin_of_image|> <|end_of_image|> <|begin_of_video|> <|end_of_video|>
"""),
    ),
    "o200k": lambda: {
        "<|endoftext|>": 199999,
        "<|endofprompt|>": 200018,
        "<|im_start|>": 200264,
        "<|im_end|>": 200265,
        "<|im_sep|>": 200266,
    },
    "cl100k": lambda: {
        "<|endoftext|>": 100257,
        "<|fim_prefix|>": 100258,
        "<|fim_middle|>": 100259,
        "<|fim_suffix|>": 100260,
        "<|im_start|>": 100264,
        "<|im_end|>": 100265,
        "<|im_sep|>": 100266,
        "<|endofprompt|>": 100276,
    },
}
"""Vocabulary name -> its table, built when asked for (some have a thousand entries)."""
