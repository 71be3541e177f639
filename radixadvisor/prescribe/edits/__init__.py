"""What an EditSpec does to a request. A family's file names its edits in ``EDITS``.

An edit is pure and idempotent, and keeps turns, their order and their roles, and every tool call with its
result. It returns the same request object where it has nothing to change, and may build new Message and
ToolSet objects freely: ``counterfactual`` interns them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from radixadvisor.prescribe.edits import blocks, history, orders, tools
from radixadvisor.records import EditSpec, Request

__all__ = ["EDITS", "LOG_EDITS", "Edit", "LogEdit", "apply_edit"]

Edit = Callable[[Request, Mapping[str, str]], Request]

LogEdit = Callable[[Sequence[Request], Mapping[str, str]], list[Request]]

EDITS: dict[str, Edit] = {**blocks.EDITS, **orders.EDITS, **tools.EDITS}

LOG_EDITS: dict[str, LogEdit] = {**history.LOG_EDITS}
"""Edits that need the requests before: they see all of an application in order of arrival."""


def apply_edit(requests: Sequence[Request], spec: EditSpec) -> list[Request]:
    """Requests of one application, in order of arrival, with one fix; the same objects where it does not
    apply.
    """
    parameters = dict(spec.parameters)
    if spec.kind in LOG_EDITS:
        return LOG_EDITS[spec.kind](requests, parameters)
    edit = EDITS[spec.kind]
    return [edit(request, parameters) for request in requests]
