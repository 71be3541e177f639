"""No room imports one to its right, the engine never imports the advisor, heavy libraries load where they are
used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
ROOMS = [
    *["errors", "paths", "records", "catalog", "ingest", "render", "tokens", "trace", "measure"],
    *[
        "simulate",
        "diagnose",
        "prescribe",
        "predict",
        "verdict",
        "results_advice",
        "results_order",
        "results",
        "analysis",
        "replaying",
        "rewriting",
        "endpoint",
        "report",
    ],
    *["commands", "cli"],
]
HEAVY = {"torch", "transformers", "pandas", "pyarrow", "plotly", "numpy", "jinja2", "tokenizers"}
HEAVY |= {"tiktoken", "splintr", "genai_prices"}


def sources(package: Path) -> list[Path]:
    return sorted(package.rglob("*.py"))


def is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports(tree: ast.AST, *, top_only: bool) -> Iterator[str]:
    """Absolute module names that a file imports; ``top_only`` leaves out functions and type checking."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                assert node.level == 1, "a relative import stays inside its room"
                continue
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        if top_only and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if top_only and isinstance(node, ast.If) and is_type_checking(node):
            continue
        todo.extend(ast.iter_child_nodes(node))


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "radixadvisor" and len(parts) > 1 and parts[1] in ROOMS else None


@pytest.mark.parametrize("path", sources(REPOSITORY / "radixadvisor"), ids=lambda p: p.stem)
def test_rooms_import_only_to_their_left(path: Path) -> None:
    own = path.relative_to(REPOSITORY / "radixadvisor").parts[0].removesuffix(".py")
    if own.startswith("__"):
        return
    assert own in ROOMS, f"{own} has no place in the order of rooms"
    for module in imports(ast.parse(path.read_text()), top_only=False):
        room = room_of(module)
        if room is not None:
            assert ROOMS.index(room) <= ROOMS.index(own), f"{path.name} imports {module}"
        if module.split(".")[0] == "radixengine":
            assert ROOMS.index(own) >= ROOMS.index("measure"), f"{path.name} imports {module}"


@pytest.mark.parametrize("path", sources(REPOSITORY / "replay"), ids=lambda p: p.stem)
def test_the_engine_never_imports_the_advisor(path: Path) -> None:
    modules = [*imports(ast.parse(path.read_text()), top_only=False)]
    assert not [module for module in modules if module.split(".")[0] == "radixadvisor"]


@pytest.mark.parametrize("path", sources(REPOSITORY / "radixadvisor"), ids=lambda p: p.stem)
def test_heavy_libraries_load_where_they_are_used(path: Path) -> None:
    modules = {module.split(".")[0] for module in imports(ast.parse(path.read_text()), top_only=True)}
    assert not modules & HEAVY
