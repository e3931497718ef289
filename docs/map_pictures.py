"""Take the pictures of a map of claims that the documentation shows: python docs/map_pictures.py [FOLDER]

A panel of three perspectives and two rounds, whose words and claims are those of a strong model (noted by hand, see
tests/strong), is played by a scripted model; Chromium looks at its map. Needs playwright and chromium.
"""

import asyncio
import json
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import ViewportSize, async_playwright

from moot.app import App, build
from moot.llm.client import Request
from moot.settings import AppSettings
from moot.testing import ScriptedModel
from moot.web.server import Uvicorn, build_app, listening
from moot.web.stream.hub import Hub

STRONG = Path(__file__).parent.parent / "tests" / "strong" / "claims-panel-redis.json"
QUESTION = "Should we use Redis or PostgreSQL for caching?"
CAST = ["Performance Advocate", "Operational Simplicity", "Future Flexibility"]
FORMS = {
    "analysis": {"framing": "It depends on load.", "domain": "architecture", "debaters": 3, "perspectives": CAST},
    "evaluation": {"summary": "New points still come up.", "state": "new_ground", "decision": "continue"},
    "synthesis": {"recommendation": "PostgreSQL first, then a load test.", "because": ["C6", "C10", "C27"]},
}
SIZES: dict[str, ViewportSize] = {"1280": {"width": 1280, "height": 1000}, "390": {"width": 390, "height": 844}}


class Panel:
    """Says in each seat what was said there, one speech after the other."""

    def __init__(self) -> None:
        strong = json.loads(STRONG.read_bytes())
        self.notes = strong["notes"]
        self.left: dict[tuple[str, str], list[str]] = {}
        for each in strong["speeches"]:
            name = CAST[int(each["seat"][-1]) - 1]
            self.left.setdefault((name, each["kind"]), []).append(each["content"])

    def __call__(self, request: Request) -> str:
        kind = request.schema.name if request.schema else "opening"
        speaker = next((name for name in CAST if f"You are {name}." in request.messages[-1].content), None)
        if speaker:
            speech = self.left[speaker, kind].pop(0)
            return json.dumps({"content": speech}) if kind == "rebuttal" else speech
        if request.schema is None:
            return "Who pays for the CPU, and who is on call?"
        return json.dumps(self.notes if kind == "notes" else FORMS[kind])


async def play(app: App) -> str:
    settings = {"max_rounds": 2, "checkpoints": False, "ballots": 0}
    record = await app.create("panel", QUESTION, settings)
    await app.run(record.id, lambda event: None)
    return record.id


async def take(url: str, folder: Path) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for size, viewport in SIZES.items():
            for scheme in ("light", "dark"):
                page = await browser.new_page(viewport=viewport, color_scheme=scheme)
                await page.goto(url)
                await page.screenshot(path=folder / f"map-{size}-{scheme}.png")
                await page.close()
        await browser.close()


async def main(folder: Path) -> None:
    with TemporaryDirectory() as data, listening("127.0.0.1", 0) as listener:
        settings = AppSettings(database_url=f"sqlite:///{data}/moot.db", model="scripted:example", grace_seconds=0)
        async with build(settings, {}, {"scripted": ScriptedModel(Panel())}) as app:
            debate_id = await play(app)
            hub = Hub(app.follow)
            server = Uvicorn(build_app(app, hub), hub.close)
            serving = asyncio.create_task(server.serve([listener]))
            await take(f"http://127.0.0.1:{listener.getsockname()[1]}/debates/{debate_id}/claims", folder)
            server.should_exit = True
            await serving


if __name__ == "__main__":
    pictures = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("pictures")
    pictures.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(pictures))
