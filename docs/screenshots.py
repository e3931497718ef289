"""Take the pictures of the pages that the documentation shows: python docs/screenshots.py [FOLDER]

A real server plays the examples that ship with moot; Chromium looks at them. Beside the pictures stands the structure
of every page in them (structure.txt), by which a test knows that they are out of date. Needs playwright and chromium.
"""

import asyncio
import shutil
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx

from moot.app import App, build
from moot.core.debate import Status
from moot.examples.catalog import MODEL, Example, examples
from moot.llm.client import Completion, Request
from moot.llm.models import EXAMPLE_SPEED
from moot.llm.replays import Replays
from moot.runs.embedded import EmbeddedQueue
from moot.settings import AppSettings, Price
from moot.web.server import Uvicorn, build_app, listening
from moot.web.stream.hub import Hub

PICTURES = Path(__file__).with_name("pictures")
WIDTH, HEIGHT = 1280, 860


class Recorded:
    """Answers as a large model did; when it is held, those who open stop in the middle of their speeches."""

    def __init__(self, speed: float | None) -> None:
        self._client = Replays([each.recording for each in examples()], speed)
        self.going, self.held = asyncio.Event(), asyncio.Event()
        self.going.set()
        self._speeches = 0

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        if self.going.is_set() or request.schema:
            return await self._client.complete(request, on_text)
        said: list[str] = []
        told = await self._client.complete(request, said.append)
        self._speeches += 1  # the first is the moderator's, then three debaters open
        half = len(said) * (3 + self._speeches) // 15 if self._speeches > 1 else len(said)
        on_text("".join(said[:half]))
        if self._speeches > 1:
            if self._speeches == 4:
                self.held.set()
            await self.going.wait()
        on_text("".join(said[half:]))
        return told


class Scene(NamedTuple):
    """A page as it is at this moment, by the name of its picture."""

    name: str
    path: str


async def scenes(app: App, model: Recorded) -> AsyncGenerator[Scene]:
    """From the first visit to a decision."""
    by_format = {each.format: each for each in examples()}
    panel = by_format.pop("panel")
    yield Scene("first", "/")
    yield Scene("new", f"/new?{urlencode({'format': panel.format, 'topic': panel.topic})}")
    for name, example in by_format.items():
        debate_id = await _started(app, example)
        await _until(app, debate_id, Status.FINISHED)
        yield Scene(name, f"/debates/{debate_id}")
    model.going.clear()
    debate_id = await _started(app, panel, checkpoints=True)
    await model.held.wait()
    yield Scene("live", f"/debates/{debate_id}")
    model.going.set()
    await _until(app, debate_id, Status.WAITING)
    yield Scene("checkpoint", f"/debates/{debate_id}")
    await app.reply(debate_id, "continue")
    await _until(app, debate_id, Status.WAITING)
    await app.reply(debate_id, "approve")
    await _until(app, debate_id, Status.FINISHED)
    yield Scene("outcome", f"/debates/{debate_id}")
    yield Scene("list", "/")


async def _started(app: App, example: Example, **chosen: Any) -> str:
    settings = {**example.settings(), **chosen}
    return (await app.create(example.format, example.topic, settings, start=True)).id


async def _until(app: App, debate_id: str, *statuses: Status) -> None:
    async with aclosing(app.follow(debate_id, through_waits=True)) as events:
        async for _ in events:
            if (await app.load(debate_id)).record.status in statuses:
                return


# The structure of a page


LANDMARKS = frozenset({"header", "nav", "main", "section", "article", "aside", "footer", "form", "dialog", "figure"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4"})
CONTROLS = frozenset({"button", "summary", "input", "select", "textarea", "table", "details"})
VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})
KEPT = LANDMARKS | HEADINGS | CONTROLS


def outline(html: str) -> Iterator[str]:
    """Landmarks, headings, controls and whatever has a class, a line each; what is alike follows each other once.

    Neither words nor numbers, ids nor addresses are in it, nor what a picture is drawn of.
    """
    reader = _Outline()
    reader.feed(html)
    yield from _lines(reader.open[0][1], 0)


class _Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, list[Any]]] = [("", [])]
        self._drawing = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._drawing += tag == "svg"
        classes = dict(attrs).get("class") or ""
        label = ".".join((tag, *sorted(classes.split()))) if tag in KEPT or classes else ""
        inside: list[Any] = []
        if not self._drawing or tag == "svg":
            self.open[-1][1].append((label, inside))
        if tag not in VOID:
            self.open.append((tag, inside))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Only pictures are drawn with such."""

    def handle_endtag(self, tag: str) -> None:
        self._drawing -= tag == "svg"
        if tag not in VOID:
            self.open.pop()


def _lines(nodes: list[Any], depth: int) -> Iterator[str]:
    before: list[str] = []
    for label, inside in nodes:
        lines = [f"{' ' * depth}{label}"] if label else []
        lines += _lines(inside, depth + bool(label))
        if lines != before:
            yield from lines
        before = lines or before


async def structure(read: Callable[[str], Awaitable[httpx.Response]], shown: Scene) -> str:
    return "\n".join([f"# {shown.name}", *outline((await read(shown.path)).text), ""])


@asynccontextmanager
async def playing(folder: Path, speed: float | None = None) -> AsyncIterator[tuple[App, Recorded]]:
    """Everything but the server, with nothing of this machine's settings."""
    model = Recorded(speed)
    settings = AppSettings.model_construct(
        database_url=f"sqlite:///{folder}/moot.db",
        model=MODEL,
        prices={MODEL: Price(input=0, output=0)},
        decisions=folder / "decisions",
    )
    async with build(settings, {}, {"recorded": model}) as app:
        app.queue = EmbeddedQueue(app.runner)
        yield app, model


# The pictures


async def take(url: str, app: App, model: Recorded, folder: Path) -> None:
    from playwright.async_api import async_playwright

    found: list[str] = []
    async with async_playwright() as playwright, httpx.AsyncClient(base_url=url) as client:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = await browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, device_scale_factor=1.5)
        page = await context.new_page()
        async with aclosing(scenes(app, model)) as shown:
            async for scene in shown:
                found.append(await structure(client.get, scene))
                await page.goto(f"{url}{scene.path}")
                await page.mouse.move(0, 0)
                if scene.name == "live":
                    await page.locator(".turn.speaking").nth(2).wait_for()
                    await page.keyboard.press("f")  # follows those who speak
                    await page.wait_for_timeout(1000)
                if scene.name == "checkpoint":
                    await page.locator("button[value=continue]").wait_for()
                await page.screenshot(path=folder / f"{scene.name}.png")
                if scene.name == "outcome":
                    await page.emulate_media(color_scheme="dark")
                    await page.screenshot(path=folder / "outcome-dark.png")
                    await page.emulate_media(color_scheme="light")
        await browser.close()
    (folder / "structure.txt").write_text("\n".join(found), "utf-8")


async def main(folder: Path) -> None:
    with TemporaryDirectory() as data, listening("127.0.0.1", 0) as listener:
        async with playing(Path(data), EXAMPLE_SPEED) as (app, model):
            hub = Hub(app.follow)
            server = Uvicorn(build_app(app, hub), hub.close)
            serving = asyncio.create_task(server.serve([listener]))
            await take(f"http://127.0.0.1:{listener.getsockname()[1]}", app, model, folder)
            server.should_exit = True
            await serving


if __name__ == "__main__":
    pictures = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    pictures.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(pictures))
