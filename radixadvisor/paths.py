"""Where the data that ships with the package lies: inside the wheel, or beside it in the repository."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def data_dir(name: str) -> Path:
    """The folder ``rules`` or ``samples``.

    Raises:
        FileNotFoundError: neither the installed package nor the repository holds it.
    """
    for base in (_PACKAGE / "_data", _PACKAGE.parent):
        if (base / name).is_dir():
            return base / name
    raise FileNotFoundError(f"radixadvisor's data folder {name!r} is missing: reinstall the package.")
