"""The commands that stay: parse the words, hand them to `terminal.serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from moot.terminal.help import refuse_unused
from moot.terminal.running import run

Host = Annotated[
    str | None,
    typer.Option(
        help="Where to listen; beyond this machine only with MOOT_TOKEN.", show_default="MOOT_HOST, 127.0.0.1"
    ),
]


def serve(
    host: Host = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", "-p", metavar="N", min=0, max=65535, help="0 takes a free one.", show_default="MOOT_PORT, 8321"
        ),
    ] = None,
    work: Annotated[
        bool, typer.Option(help="Run debates here too, or leave them to the workers on its Postgres.")
    ] = True,
) -> None:
    """Serve pages and the HTTP API, and run debates while nobody watches."""
    from moot.terminal import serve as processes

    run(processes.serve(host, port, work))


def worker(
    concurrency: Annotated[int | None, typer.Option(metavar="N", min=1, help="How many debates at once.")] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=65535, help="Tell /metrics and /api/health there; 0 takes a free one."),
    ] = None,
) -> None:
    """Run debates from a Postgres that any number of workers and servers share."""
    from moot.terminal import serve as processes

    run(processes.worker(concurrency, metrics_port))


database_commands = typer.Typer(help="The database.", no_args_is_help=True)


@database_commands.command()
def upgrade() -> None:
    """Bring the database's schema up to date, as every command does when it finds it behind."""
    from moot.terminal import serve as processes

    run(processes.upgrade_database())


def mcp(
    context: typer.Context,
    http: Annotated[bool, typer.Option("--http", help="Over streamable HTTP instead of stdin and stdout.")] = False,
    host: Host = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", "-p", metavar="N", min=0, max=65535, help="0 takes a free one.", show_default="MOOT_PORT, 8321"
        ),
    ] = None,
) -> None:
    """Serve debates as tools to coding assistants and other MCP clients."""
    from moot.terminal import serve as processes

    if not http:
        refuse_unused(context, "without --http", ["host", "port"])
    run(processes.mcp(http, host, port))
