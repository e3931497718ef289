"""The commands that stay: parse the words, hand them to `terminal.serve`."""

from __future__ import annotations

import click

from moot.terminal import options
from moot.terminal.help import Commands, refuse_unused
from moot.terminal.options import PORT, Number
from moot.terminal.running import run


@click.command()
@options.host
@options.port
@click.option(
    "--work/--no-work",
    default=True,
    show_default=True,
    help="Run debates here too, or leave them to the workers on its Postgres.",
)
def serve(host: str | None, port: int | None, work: bool) -> None:
    """Serve pages and the HTTP API, and run debates while nobody watches."""
    from moot.terminal import serve as processes

    run(processes.serve(host, port, work), stays=True)


@click.command()
@click.option("--concurrency", type=Number(1), help="How many debates at once.", show_default="MOOT_MAX_RUNNING, 20")
@click.option("--metrics-port", type=PORT, help="Tell /metrics and /api/health there; 0 takes a free one.")
def worker(concurrency: int | None, metrics_port: int | None) -> None:
    """Run debates from a Postgres that any number of workers and servers share."""
    from moot.terminal import serve as processes

    run(processes.worker(concurrency, metrics_port), stays=True)


@click.group("db", cls=Commands)
def database_commands() -> None:
    """The database."""


@database_commands.command()
def upgrade() -> None:
    """Bring the database's schema up to date, as every command does when it finds it behind."""
    from moot.terminal import serve as processes

    run(processes.upgrade_database())


@click.command()
@click.option("--http", is_flag=True, help="Over streamable HTTP instead of stdin and stdout.")
@options.host
@options.port
@click.pass_context
def mcp(context: click.Context, http: bool, host: str | None, port: int | None) -> None:
    """Serve debates as tools to coding assistants and other MCP clients."""
    from moot.terminal import serve as processes

    if not http:
        refuse_unused(context, "without --http", ["host", "port"])
    run(processes.mcp(http, host, port), stays=True)
