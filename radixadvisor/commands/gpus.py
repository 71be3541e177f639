"""``radixadvisor gpus``: the cards that are known, and what is assumed of them."""

from __future__ import annotations

from typing import Annotated

import typer

from radixadvisor.commands.options import Json, NoColor, Out, Quiet

__all__ = ["gpus"]


def gpus(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="A card, for its page.", show_default=False),
    ] = None,
    json: Json = False,
    out: Out = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """List the cards that are known, or show one with the shares of its peaks that predictions assume."""
    from radixadvisor import catalog
    from radixadvisor.commands.output import emit, note, screen
    from radixadvisor.report.catalog import gpu_page, gpu_table, gpus_json
    from radixadvisor.report.write import write_file

    chosen = list(catalog.gpus()) if name is None else [catalog.gpu(name)]
    content = gpus_json(chosen, page=name is not None)
    if out is not None:
        written = write_file(out / "gpus.json", content, private=False)
        if not quiet:
            note(f"Wrote {written}.")
    if json:
        emit(content.decode())
    elif quiet:
        emit("".join(f"{card.name} {card.memory_gib:g}\n" for card in chosen))
    elif name is None:
        emit(gpu_table(chosen, screen(no_color=no_color)))
    else:
        emit(gpu_page(chosen[0], screen(no_color=no_color)))
