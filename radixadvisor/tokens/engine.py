"""Which template and which tokenizer a log's model gets; the tokenizer protocol is at hand here too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from radixadvisor.catalog import Family, family_of
from radixadvisor.errors import UnknownName
from radixadvisor.render.base import Renderer
from radixadvisor.render.registry import renderer, template_hash, template_names
from radixadvisor.tokens.base import Tokenizer, added_pattern, encode_prompt_text, pack, unpack, verify
from radixadvisor.tokens.vocabularies import VOCABULARIES, built_in, vocabulary_names

__all__ = [
    "Tokenizer",
    "TokenizerChoice",
    "added_pattern",
    "choose",
    "encode_prompt_text",
    "pack",
    "unpack",
    "verify",
]

_TEMPLATE_OF = {
    "cl100k": "chatml",
    "deepseek-r1": "deepseek-r1",
    "deepseek-v3": "deepseek-v3",
    "deepseek-v3.1": "deepseek-v3.1",
    "glm4": "chatml",
    "gpt-oss": "gpt-oss",
    "llama3": "llama3.1",
    "mistral-tekken": "mistral-v3",
    "o200k": "chatml",
    "qwen2.5": "qwen2.5",
    "qwen3": "qwen3",
}
"""The template that goes with a vocabulary named alone."""


@dataclass(frozen=True, slots=True)
class TokenizerChoice:
    """A template with a tokenizer.

    ``exact`` is True where a reference implementation confirmed both; ``notes`` say what stands in otherwise.
    ``template_hash`` is the first 16 hex digits of a SHA-256: over the template's source, or for a built-in
    family over the text it prints for a fixed conversation.
    """

    renderer: Renderer
    tokenizer: Tokenizer
    name: str
    template: str
    template_hash: str
    exact: bool
    notes: tuple[str, ...]


def _directory(name: str, also: tuple[str, ...] = ()) -> Tokenizer:
    from radixadvisor.tokens.directory import DirectoryTokenizer

    return DirectoryTokenizer(Path(name), also)


def _is_directory(name: str) -> bool:
    from radixadvisor.tokens.directory import holds_tokenizer

    return holds_tokenizer(Path(name)) or (name.lower() not in VOCABULARIES and Path(name).is_dir())


def _template(name: str) -> Renderer:
    """A template named by the user: a file, or one of the built-in families."""
    if name.lower() not in template_names() and Path(name).is_file():
        from radixadvisor.render.jinja import read_template

        return read_template(Path(name))
    return renderer(name)


def _named(tokenizer: str, family: Family) -> tuple[str, str, str | None]:
    """Vocabulary, template and assumption for ``--tokenizer NAME``: a vocabulary or any known model."""
    name = tokenizer.lower()
    if name in VOCABULARIES:
        template = family.template if family.vocabulary == name else _TEMPLATE_OF[name]
        return name, template, None
    named = family_of(tokenizer)
    if not named.known:
        raise UnknownName("tokenizer", tokenizer, vocabulary_names())
    return named.vocabulary, named.template, named.assumption


def choose(
    model_name: str, tokenizer: str | None = None, chat_template: str | None = None
) -> TokenizerChoice:
    """The template and the tokenizer for a log's model.

    Args:
        model_name: as the log names it; an unknown one gets o200k and plain ChatML, not exact.
        tokenizer: the name of a vocabulary or model, or a model's directory, whose own template is used if it
            has one; None to go by ``model_name``.
        chat_template: the name of a built-in template or a file with a Jinja template; None to go by the
            model.

    Raises:
        UnknownName: no vocabulary, model or template has the given name, and no file either.
        UsageError: a model directory or a template file cannot be used.
    """
    family = family_of(model_name)
    vocabulary, template, assumption = family.vocabulary, family.template, family.assumption
    chosen: Renderer | None = None
    notes = []
    if chat_template is not None:
        chosen = _template(chat_template)
        notes.append(f"Template {chosen.name} as named by --chat-template.")
    if tokenizer is not None:
        notes.append(f"Tokenizer {tokenizer} as named by --tokenizer.")
    if tokenizer is not None and _is_directory(tokenizer):
        from radixadvisor.render.jinja import directory_template

        own = directory_template(Path(tokenizer))
        if chosen is None and own is None:
            notes.append(f"The directory has no chat template: {template} stands in.")
        assumption = None if chosen is not None or own is not None else assumption
        chosen = chosen or own or renderer(template)
        engine = _directory(tokenizer, chosen.added_tokens)
    else:
        if tokenizer is not None:
            vocabulary, template, assumption = _named(tokenizer, family)
        chosen = chosen or renderer(template)
        engine = built_in(vocabulary, chosen.added_tokens)
    notes += [assumption] if assumption else []
    notes += [*chosen.notes, *engine.notes]
    return TokenizerChoice(
        renderer=chosen,
        tokenizer=engine,
        name=engine.name,
        template=chosen.name,
        template_hash=template_hash(chosen),
        exact=chosen.exact and assumption is None and not engine.notes,
        notes=tuple(notes),
    )
