"""``radixadvisor formats``: the log formats that are read, and the settings that produce them."""

from __future__ import annotations

from typing import Annotated

import typer

from radixadvisor.commands.options import Json, NoColor, Out, Quiet

__all__ = ["SCHEMA", "formats"]

SCHEMA = "radixadvisor/formats/1"


def formats(
    how: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The settings that produce a usable log.", show_default=False),
    ] = None,
    json: Json = False,
    out: Out = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """List the log formats that are read, each with an example line and what it can answer."""
    import json as encoder

    from radixadvisor.commands.output import emit, note, screen
    from radixadvisor.ingest.handbook import entries, entry
    from radixadvisor.report.formats import render_page, render_table
    from radixadvisor.report.write import write_file

    chosen = list(entries()) if how is None else [entry(how)]
    document = {"schema": SCHEMA, "formats": [each.as_dict() for each in chosen]}
    data = encoder.dumps(document, indent=2, ensure_ascii=True) + "\n"
    if out is not None:
        written = write_file(out / "formats.json", data.encode(), private=False)
        if not quiet:
            note(f"Wrote {written}.")
    if json:
        emit(data)
    elif how is not None:
        emit(render_page(chosen[0], screen(no_color=no_color)))
    elif quiet:
        emit("".join(f"{each.name} {each.title}\n" for each in chosen))
    else:
        emit(render_table(chosen, screen(no_color=no_color)))
