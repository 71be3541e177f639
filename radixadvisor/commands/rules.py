"""``radixadvisor rules``: the root causes that are diagnosed, as a table and page by page."""

from __future__ import annotations

from typing import Annotated

import typer

from radixadvisor.commands.options import Json, NoColor, Out, Quiet

__all__ = ["rules"]


def rules(
    rule_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]", help="A rule by id or name, such as RA101, for its page.", show_default=False
        ),
    ] = None,
    json: Json = False,
    out: Out = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """List the causes of cache misses that are known, or explain one: why it costs and what to do instead."""
    from radixadvisor.commands.output import emit, note, screen
    from radixadvisor.diagnose.rules import rule
    from radixadvisor.diagnose.rules import rules as every_rule
    from radixadvisor.report.rules import render_page, render_table, to_json
    from radixadvisor.report.write import write_file

    chosen = list(every_rule().values()) if rule_id is None else [rule(rule_id)]
    if out is not None:
        written = write_file(out / "rules.json", to_json(chosen, page=rule_id is not None), private=False)
        if not quiet:
            note(f"Wrote {written}.")
    if json:
        emit(to_json(chosen, page=rule_id is not None).decode())
    elif quiet:
        emit("".join(f"{entry.id} {entry.title}\n" for entry in chosen))
    elif rule_id is None:
        emit(render_table(chosen, screen(no_color=no_color)))
    else:
        emit(render_page(chosen[0], screen(no_color=no_color)))
