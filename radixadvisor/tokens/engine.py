"""Which template and which tokenizer a log's model gets; the tokenizer protocol is at hand here too."""

from __future__ import annotations

from dataclasses import dataclass

from radixadvisor.catalog import Family, family_of
from radixadvisor.errors import UnknownName
from radixadvisor.render.base import Renderer
from radixadvisor.render.registry import fingerprint, renderer
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


def _family_named(name: str) -> Family | None:
    """The family that a user means by ``--tokenizer NAME``: a vocabulary's name or any known model's."""
    family = family_of(name)
    return family if family.known else None


def choose(
    model_name: str, tokenizer: str | None = None, chat_template: str | None = None
) -> TokenizerChoice:
    """The template and the tokenizer for a log's model.

    Args:
        model_name: as the log names it; an unknown one gets o200k and plain ChatML, not exact.
        tokenizer: the name of a vocabulary or model, or a model's directory; None to go by ``model_name``.
        chat_template: the name of a built-in template or a file with a Jinja template; None to go by the
            model.

    Raises:
        UnknownName: no vocabulary, model or template has the given name, and no file either.
    """
    family = family_of(model_name)
    vocabulary, template, notes = family.vocabulary, family.template, []
    assumption = family.assumption
    if tokenizer is not None:
        if tokenizer.lower() in VOCABULARIES:
            vocabulary, assumption = tokenizer.lower(), None
            if vocabulary != family.vocabulary:
                template = _TEMPLATE_OF[vocabulary]
        else:
            named = _family_named(tokenizer)
            if named is None:
                raise UnknownName("tokenizer", tokenizer, vocabulary_names())
            vocabulary, template, assumption = named.vocabulary, named.template, named.assumption
        notes.append("Template and vocabulary as named by --tokenizer.")
    if chat_template is not None:
        template = chat_template
    chosen = renderer(template)
    engine = built_in(vocabulary, chosen.added_tokens)
    notes += [assumption] if assumption else []
    notes += [*chosen.notes, *engine.notes]
    return TokenizerChoice(
        renderer=chosen,
        tokenizer=engine,
        name=engine.name,
        template=chosen.name,
        template_hash=fingerprint(chosen),
        exact=chosen.exact and assumption is None and not engine.notes,
        notes=tuple(notes),
    )
