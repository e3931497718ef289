"""The options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from moot.terminal.help import complete_model

DebateId = Annotated[str, typer.Argument(metavar="ID", help="The debate, DEB-…")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
EventsAsJson = Annotated[bool, typer.Option("--json", help="Print events as JSON lines.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="PROVIDER:MODEL",
        help="For every seat; `moot models` shows what there is.",
        autocompletion=complete_model,
    ),
]
ModelFor = Annotated[list[str] | None, typer.Option(metavar="SEAT=MODEL", help="The model of one seat.")]
Judges = Annotated[
    str | None, typer.Option(metavar="MODEL,MODEL", help="Judges of other models, each for a pair of judgings.")
]
Set = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Any setting of the format.")]
Record = Annotated[Path | None, typer.Option(metavar="FILE", help="Keep every model call in FILE.")]
Replay = Annotated[Path | None, typer.Option(metavar="FILE", help="Answer model calls from FILE.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="DIR", help="Write the outcome's document here, approved or not."),
]
