"""A check as JUnit XML: a test case for each gate."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from radixadvisor.analysis.gate.results import FAIL, SKIP
from radixadvisor.report.escape import visible
from radixadvisor.report.gates.text import place_of
from radixadvisor.report.gates.view import CheckView, GateRow, summary

__all__ = ["to_junit"]

_SUITE = "radixadvisor check"
_MOST = 50


def to_junit(view: CheckView) -> str:
    """One suite. A gate that could not be evaluated is skipped; since readers take that for a pass, a check
    that ends so holds one more case, with an error.
    """
    failed, skipped = view.checked.count(FAIL), view.checked.count(SKIP)
    incomplete = view.checked.exit_code == 3
    counts = {
        "tests": str(len(view.gates) + incomplete),
        "failures": str(failed),
        "errors": str(int(incomplete)),
        "skipped": str(skipped),
        "time": "0",
    }
    root = Element("testsuites", {"name": _SUITE, **counts})
    suite = SubElement(root, "testsuite", {"name": _SUITE, **counts})
    for row in view.gates:
        _case(suite, row, view)
    if incomplete:
        case = _named(suite, "every gate can be evaluated")
        SubElement(case, "error", type="NotEvaluated", message=summary(view))
    indent(root)
    # What is no character of XML, visible() has written as an escape before.
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _named(suite: Element, name: str) -> Element:
    return SubElement(suite, "testcase", classname="radixadvisor.check", name=name, time="0")


def _case(suite: Element, row: GateRow, view: CheckView) -> None:
    case = _named(suite, visible(row.name))
    message = visible(f"{row.told}: {row.reason}")
    if row.status == SKIP:
        SubElement(case, "skipped", message=message)
    elif row.status == FAIL:
        failure = SubElement(case, "failure", type="GateFailed", message=message)
        failure.text = "\n".join(_places(row, view)) or message
    else:
        SubElement(case, "system-out").text = message


def _places(row: GateRow, view: CheckView) -> list[str]:
    """One line for each finding that breaks a gate."""
    found = [item for item in view.findings if row.name in item.breaks]
    lines = [
        f"{'' if item.source is None else place_of(item.source) + ' '}{item.rule} {item.title} "
        f"({item.finding.lost_tokens:,} tokens)"
        for item in found[:_MOST]
    ]
    if row.source is not None:
        lines.append(place_of(row.source))
    return [visible(line) for line in lines]
