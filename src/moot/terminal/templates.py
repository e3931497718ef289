"""The commands about reasoning templates, moot's own and the user's."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from moot import settings
from moot.app import build
from moot.errors import InvalidInput, NotFound, meant
from moot.terminal.tables import print_table, say


async def list() -> None:
    async with build(settings.load()) as app:
        known = sorted(app.library.templates().values(), key=lambda template: template.name)
    rows = [(each.name, each.title, "" if each.built_in else "yours", each.when) for each in known]
    print_table(Console(), ("name", "title", "", "when to use it"), rows, wide=("title",))


async def show(name: str) -> None:
    async with build(settings.load()) as app:
        known = app.library.templates()
    if name not in known:
        raise NotFound(f"no template named {name!r}{meant(name, known) or ';'} moot templates list shows all")
    say(Console(), f"{known[name].title}\n\n{known[name].when}\n\n{known[name].text}")


async def search(question: str, top: int) -> None:
    if not question.strip():
        raise InvalidInput("nothing to search for: give a QUESTION")
    async with build(settings.load()) as app:
        found = await app.library.find(question, top)
    rows = [(f"{each.score:.2f}", each.template.name, each.template.title) for each in found]
    print_table(Console(), ("score", "name", "title"), rows)


async def add(file: Path) -> None:
    async with build(settings.load()) as app:
        added = app.library.add(file)
    say(Console(), f"{added.name}: {added.title}")


async def remove(name: str) -> None:
    async with build(settings.load()) as app:
        app.library.remove(name)
    say(Console(), f"{name} is removed")
