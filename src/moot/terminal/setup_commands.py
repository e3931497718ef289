"""The commands about moot itself: servers, models, the set-up, templates, numbers over all debates."""

from __future__ import annotations

from pathlib import Path

import click

from moot.terminal import options
from moot.terminal.command import Command, Commands, run
from moot.terminal.options import FILE, PORT, Number, argument, flag, option


def _models() -> None:
    if click.get_current_context().invoked_subcommand is None:
        from moot.terminal.doctor import models

        raise click.exceptions.Exit(run(models()))


doctor = Command("doctor.doctor", "Check the set-up, and say what to do about each problem.")
COMMANDS = (
    Command(
        "serve.serve",
        "Serve pages and the HTTP API, and run debates while nobody watches.",
        options.host,
        options.port,
        option(
            "--work/--no-work",
            default=True,
            show_default=True,
            help="Run debates here too, or leave them to the workers on its Postgres.",
        ),
        examples=("moot serve", "MOOT_TOKEN=… moot serve --host 0.0.0.0 --port 80"),
        stays=True,
    ),
    Command(
        "serve.worker",
        "Run debates from a Postgres that any number of workers and servers share.",
        option("--concurrency", type=Number(1), help="How many debates at once.", show_default="MOOT_MAX_RUNNING, 20"),
        option("--metrics-port", type=PORT, help="Tell /metrics and /api/health there; 0 takes a free one."),
        examples=("MOOT_DATABASE_URL=postgresql://… moot worker --concurrency 20",),
        stays=True,
    ),
    Command(
        "serve.mcp",
        "Serve debates as tools to coding assistants and other MCP clients.",
        flag("--http", help="Over streamable HTTP instead of stdin and stdout."),
        options.host,
        options.port,
        examples=("claude mcp add moot -- moot mcp", "moot mcp --http --port 8322"),
        stays=True,
    ),
    doctor,
    Command(
        "allow.allow",
        "Let the moot.yaml of a folder name servers, programs, addresses and files.",
        argument(
            "folder", type=FILE, default=Path(), metavar="[FOLDER]", help="Where the file is; here when left out."
        ),
        flag("--yes", help="Do not ask."),
        flag("--revoke", help="Take it back."),
        flag("--list", help="Show the files that were allowed or refused."),
        examples=("moot allow", "moot allow --list"),
    ),
    Commands(
        "templates",
        "Reasoning templates: moot's own and yours.",
        Command("templates.list", "Show all templates, and what each is for.", examples=("moot templates list",)),
        Command(
            "templates.show",
            "Show one template as a model reads it.",
            argument("name", help="As `moot templates list` shows it."),
            examples=("moot templates show fermi-estimate",),
        ),
        Command(
            "templates.search",
            "Show which templates a question would get.",
            argument("question", help="What would be debated."),
            option("--top", type=Number(1), default=3, show_default=True, help="How many."),
            examples=('moot templates search "How many piano tuners are in Chicago?" --top 1',),
        ),
        Command(
            "templates.add",
            "Check a template of your own and keep it.",
            argument("file", type=FILE, help="Markdown, as docs/templates.md describes it."),
            examples=("moot templates add my-template.md",),
        ),
        Command(
            "templates.remove",
            "Remove a template of your own.",
            argument("name", help="One of your own."),
            examples=("moot templates remove my-template",),
        ),
    ),
    Commands(
        "traces",
        "What all debates together tell.",
        Command(
            "kept.stats",
            "Ratings, rounds, early stops and tokens, by format and model.",
            options.json,
            examples=("moot traces stats --json",),
        ),
    ),
    Commands(
        "db",
        "The database.",
        Command(
            "serve.upgrade",
            "Bring the database's schema up to date, as every command does when it finds it behind.",
            examples=("moot db upgrade",),
        ),
    ),
    Commands(
        "models",
        "Show which models can be reached, and what each seat would use.",
        Command(
            "pulling.pull",
            "Get a GGUF file for llama.cpp; local:NAME is a model from then on. A cut download goes on when asked "
            "again.",
            argument("source", help="smollm2, https://…/FILE.gguf, or OWNER/REPOSITORY/FILE.gguf."),
            option("--name", help="What to call it: local:NAME; without it as its file is called."),
            option(
                "--hub",
                envvar="HF_ENDPOINT",
                show_envvar=True,
                metavar="URL",
                default="https://huggingface.co",
                show_default=True,
                help="The hub that OWNER/REPOSITORY is on.",
            ),
            option("--sha256", metavar="SUM", help="What the file's SHA-256 must be."),
            examples=("moot models pull https://…/qwen3-4b.gguf --name qwen3", "moot debate … -m local:qwen3"),
        ),
        callback=_models,
        invoke_without_command=True,
    ),
)
