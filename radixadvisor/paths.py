"""Where the data that ships with the package lies, and how a file takes another's place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from radixadvisor.errors import OutputError

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


@contextmanager
def replacing(path: Path, *, private: bool) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends well, and is removed
    otherwise.

    With ``private`` its owner alone may read it; else its mode follows the umask.

    Raises:
        OutputError: the folder cannot be made or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(0, "is a directory")
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            if not private:
                umask = os.umask(0)
                os.umask(umask)
                temporary.chmod(0o666 & ~umask)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error.strerror or error}. Name another place.") from error
