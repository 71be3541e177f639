"""What an EditSpec does to a request. A family's file names its edits in ``EDITS``.

An edit is pure and idempotent, and keeps turns, their order and their roles, and every tool call with its
result. It returns the same request object where it has nothing to change, and may build new Message and
ToolSet objects freely: ``counterfactual`` interns them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from radixadvisor.prescribe.edits import blocks
from radixadvisor.records import EditSpec, Request

__all__ = ["EDITS", "Edit", "apply_edit"]

Edit = Callable[[Request, Mapping[str, str]], Request]

EDITS: dict[str, Edit] = {**blocks.EDITS}


def apply_edit(request: Request, spec: EditSpec) -> Request:
    """The request with one fix; the same object where the fix does not apply."""
    return EDITS[spec.kind](request, dict(spec.parameters))
