"""Text from a log made harmless for people's screens and documents: visible, masked, and inert in Markdown.

Whatever a prompt holds may reach a report only through these functions. Order matters: ``mask`` first (it
must see the text as it was), then ``visible``, then a format's own escape.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["clip", "code", "mask", "prose", "visible"]

HIDDEN = "***"

# A secret may be cut by the excerpt's own edge, so each pattern also accepts a short rest at the very end.
_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", HIDDEN),
        (r"\beyJ[\w-]{8,}(?:\.[\w-]*){0,2}", HIDDEN),
        (
            r"\b(sk-|sk_live_|pk_live_|rk_live_|hf_|glpat-|xox[abeprs]-)(?:[\w-]{12,}|[\w-]{3,}\Z)",
            rf"\1{HIDDEN}",
        ),
        (r"\b(gh[opsur]_|github_pat_)(?:\w{16,}|\w{3,}\Z)", rf"\1{HIDDEN}"),
        (r"\b(AKIA|ASIA)(?:[0-9A-Z]{12,}|[0-9A-Z]{3,}\Z)", rf"\1{HIDDEN}"),
        (r"\b(AIza)(?:[\w-]{30,}|[\w-]{3,}\Z)", rf"\1{HIDDEN}"),
        (r"(?i)(\bauthorization[\"']?\s*[:=]\s*[\"']?(?:bearer|basic)\s+)[^\s\"']+", rf"\1{HIDDEN}"),
        (r"(?i)(\bbearer\s+)(?=\S*\d)[\w.~+/=-]{6,}", rf"\1{HIDDEN}"),
        (
            r"(?i)\b((?:pass(?:word|wd|phrase)|secret|api[_-]?key|access[_-]?key|auth[_-]?token)"
            r"[\"']?\s*[=:]\s*[\"']?)[^\s\"',;]{4,}",
            rf"\1{HIDDEN}",
        ),
        (r"[\w.+%-]+@(?:[\w-]+\.)+[A-Za-z]{2,}|[\w.+%-]+@[\w.-]*\Z", f"{HIDDEN}@{HIDDEN}"),
        (r"\A(?=[A-Za-z_]*\d)(?=[\d_]*[A-Za-z])\w{16,}", HIDDEN),
    )
)

_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def mask(text: str) -> str:
    """Hide what looks like a secret.

    Keys by vendor prefix (``sk-``, ``ghp_``, ``AKIA`` ...), bearer tokens, JSON web tokens, private keys,
    values after ``password=`` or ``api_key:``, e-mail addresses, and a key whose beginning lies before the
    excerpt. A vendor's prefix stays, so that a reader knows what was there.
    """
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def visible(text: str) -> str:
    r"""Replace every character that acts instead of showing by its escape.

    Newline and tab read ``\n`` and ``\t``; other controls (ANSI escapes, NUL), zero-width characters and
    direction overrides, surrogates and unassigned code points ``\x1b``, ``\u202e`` or ``\U000e0001``.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _escape(char) if unicodedata.category(char) in _UNSAFE_CATEGORIES else char for char in text
    )


def _escape(char: str) -> str:
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char)
    if named is not None:
        return named
    number = ord(char)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def clip(text: str, length: int) -> str:
    """At most ``length`` characters, the cut marked by an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def code(text: str, *, in_table: bool = False) -> str:
    r"""Text from a log as a Markdown code span that nothing inside can close.

    Backticks become ``\x60``, as ``visible`` writes other active characters, and in a table pipes ``\x7c``:
    it would split at a pipe even inside a code span.
    """
    inner = visible(text).replace("`", "\\x60").strip()
    if in_table:
        inner = inner.replace("|", "\\x7c")
    return f"`{inner}`" if inner else "(empty)"


_ACTIVE = re.compile(r"[\\`*\[\]<>#|~]|(?<![^\W_])_|_(?![^\W_])")
_LINKING = re.compile(r"(?i)(?<=[a-z])(:)(?=//)|(?<=www)(\.)")
_LEADING = re.compile(r"^\s*(?:([-+=])|(\d+)([.)])(?=\s|$))")


def prose(text: str) -> str:
    """A sentence that may quote names from a log, as Markdown that renders to exactly that sentence.

    Every character with a meaning is escaped, bare addresses do not become links, and a beginning that would
    open a list or a heading does not.
    """
    text = _ACTIVE.sub(lambda match: "\\" + match[0], visible(text).replace("&", "&amp;"))
    text = _LINKING.sub(lambda match: "\\" + match[0], text)
    return _LEADING.sub(lambda match: f"\\{match[1]}" if match[1] else f"{match[2]}\\{match[3]}", text)
