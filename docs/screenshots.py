"""Take the pictures of the pages that the documentation shows: python docs/screenshots.py [FOLDER]

A real server with a scripted model plays a panel and a duel; Chromium looks at them. Needs playwright and chromium.
"""

import asyncio
import json
import re
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.async_api import Browser, Page, async_playwright

from moot.app import build
from moot.llm.client import Request
from moot.runs.embedded import EmbeddedQueue
from moot.settings import AppSettings, Price
from moot.testing import ScriptedModel
from moot.web.server import Uvicorn, build_app, listening
from moot.web.stream.hub import Hub

QUESTION = "Should a team of six replace its REST API with GraphQL this year?"
CLAIM = "Remote work makes software teams better"
FAST, CALM = "Performance Advocate", "Operational Simplicity"
DEBATERS = {
    FAST: [
        "**Adopt GraphQL, but only for the mobile screens.** The home screen makes eleven REST calls; on a slow "
        "connection each one costs a round trip. One query answers it in a single trip.\n\n"
        "- The app asks for exactly what it shows, so payloads shrink.\n"
        "- New screens need no new endpoint, so the mobile team stops waiting.\n\n"
        "I would give up the simple cache in front of REST for that.",
        "You say caching at the edge is lost. It is lost for *uncached personal data*, which was never cached: the "
        "home screen is different for everyone. I concede that public catalogue pages should stay on REST.",
        "At two screens a month the waiting is smaller than I claimed. I would accept two aggregate endpoints now, if "
        "we agree on a number at which we look again: **more than four new screens a month**.",
    ],
    CALM: [
        "**Stay with REST and add two aggregate endpoints.** Six people already run nine services. A graph needs "
        "query limits, a schema registry, and somebody who is woken at night when a nested query takes the database "
        "down.\n\n1. Two endpoints for the home screen remove most of the round trips.\n"
        "2. HTTP caches, logs and alerts go on working as they are.\n\n"
        "The price: each new screen costs us an endpoint.",
        "One query per screen is true, and one *unbounded* query per bug is true as well. You have not said who "
        "writes the cost limits. If the catalogue stays on REST, we run two stacks with six people.",
        "Two screens a month is two endpoints a month, which is an afternoon each. Nobody is woken for an endpoint. "
        "A date to look again costs nothing, and I support it.",
    ],
}
MODERATOR = {
    "analysis": {
        "framing": "A small team weighs fewer round trips on mobile against one more thing to run. "
        "It depends on how many screens change each month, and on who is on call.",
        "domain": "architecture",
        "constraints": ["six people", "this year"],
        "too_vague": False,
        "question": "",
        "debaters": 2,
        "perspectives": [FAST, CALM],
    },
    "summary": "Two things are open: how many round trips two aggregate endpoints would really save, and who would "
    "keep a graph's query costs in check. Please speak to both.",
    "evaluation": {
        "summary": "Both agree that the home screen is the problem and that public pages stay on REST. They differ on "
        "whether six people can afford to run a second kind of API.",
        "state": "new_ground",
        "decision": "continue",
    },
    "synthesis": {
        "recommendation": "Keep REST, and add two aggregate endpoints for the home screen this quarter. Measure again "
        "in three months: if the mobile team still waits for endpoints, put GraphQL in front of the mobile screens "
        "alone, with persisted queries.",
        "perspectives": [
            {
                "perspective": FAST,
                "key_arguments": [
                    "The home screen makes eleven REST calls; one query answers it in a single trip.",
                    "New screens need no new endpoint, so the mobile team stops waiting.",
                ],
                "trade_offs_accepted": "Public catalogue pages stay on REST.",
            },
            {
                "perspective": CALM,
                "key_arguments": [
                    "Two endpoints for the home screen remove most of the round trips.",
                    "A graph needs query limits, a schema registry, and somebody who is woken at night.",
                ],
                "trade_offs_accepted": "Each new screen costs an endpoint.",
            },
        ],
        "agreement": ["The home screen is the problem.", "Public pages stay on REST."],
        "tensions": ["Speed of building screens against things to run at night."],
        "caveats": ["If more than four screens change each month, the balance tips."],
        "dissent": "The Performance Advocate holds that waiting three months costs more than a gateway would.",
        "tasks": ["Add two aggregate endpoints", "Measure round trips before and after"],
        "acceptance": ["The home screen loads with at most three calls"],
    },
}
SPEECHES = {
    "FOR": [
        "Remote teams write things down. What is written can be searched, questioned and handed to whoever joins "
        "next year; what is said at a desk is gone by Friday.",
        "My opponent praises the whiteboard. A whiteboard serves those in the room. A shared document serves those "
        "in the room, those at home, and those not hired yet.",
    ],
    "AGAINST": [
        "Writing things down is a habit, not a place. What distance takes away is the question nobody schedules: "
        "the newcomer who looks puzzled, and is helped within the minute.",
        "Documents record what we knew to ask. Teams get better through what they did not know to ask, and that "
        "happens between people who see each other.",
    ],
}


def reply(request: Request) -> str:
    """What the seat says that is asked."""
    asked = request.messages[-1].content
    if request.schema and "score" in json.dumps(request.schema.schema):
        sides = [name for name in request.schema.schema["properties"] if name.startswith("score_")]
        summary = "Both sides agreed that habits matter; only one said what distance itself changes, and showed how."
        return json.dumps({"summary": summary, **dict(zip(sides, (6, 8), strict=True))})
    for stance, speeches in SPEECHES.items():
        if f" {stance} this" in asked:
            return speeches["You open" not in asked and "First answer" not in asked]
    speaker = (re.findall(r"^You are (?:the )?(.+?)\.(?: |$)", asked, re.MULTILINE) or ["moderator"])[-1]
    kind = request.schema.name if request.schema else "opening"
    if speaker in DEBATERS:
        first, rebuttal, last = DEBATERS[speaker]
        speech = first if "strongest reasons from your perspective" in asked else last
        return json.dumps({"content": rebuttal, "responding_to": []}) if kind == "rebuttal" else speech
    part = MODERATOR[kind if request.schema else "summary"]
    return part if isinstance(part, str) else json.dumps(part)


class Pace:
    """A hundred words a second at most, and none at all while somebody takes a picture."""

    def __init__(self) -> None:
        self.going = asyncio.Event()
        self.going.set()

    async def __call__(self) -> None:
        await self.going.wait()
        await asyncio.sleep(0.012)


async def take(browser: Browser, url: str, pace: Pace, folder: Path) -> None:
    context = await browser.new_context(viewport={"width": 1280, "height": 860}, device_scale_factor=1.5)
    page = await context.new_page()
    await page.goto(f"{url}/new?format=duel")
    await page.fill("#topic", CLAIM)
    await page.click("button[value=start]")
    await page.wait_for_selector("#outcome .headline")
    await page.goto(f"{url}/new?format=panel")
    await page.fill("#topic", QUESTION)
    await page.screenshot(path=folder / "new.png")
    await page.fill("#panel-max_rounds", "2")
    await page.click("button[value=start]")
    await page.locator(".turn.speaking.beside").filter(has_text="eleven REST").wait_for()
    pace.going.clear()
    await shot(page, folder / "live.png", ".round:last-of-type")
    pace.going.set()
    await page.wait_for_selector("button[value=continue]")
    await shot(page, folder / "checkpoint.png", ".checkpoint")
    await page.fill("#words", "We change about two screens a month.")
    await page.click("button[value=guide]")
    await page.wait_for_selector("button[value=approve]")
    await page.click("button[value=approve]")
    await page.wait_for_selector("#outcome .headline")
    await page.goto(page.url.partition("#")[0])
    await page.screenshot(path=folder / "outcome.png")
    await page.emulate_media(color_scheme="dark")
    await page.screenshot(path=folder / "outcome-dark.png")
    await page.emulate_media(color_scheme="light")
    await page.goto(url)
    await page.screenshot(path=folder / "list.png", clip={"x": 0, "y": 0, "width": 1280, "height": 460})
    await context.close()


async def shot(page: Page, path: Path, what: str) -> None:
    await page.locator(what).scroll_into_view_if_needed()
    await page.screenshot(path=path)


async def main(folder: Path) -> None:
    pace = Pace()
    with TemporaryDirectory() as data, listening("127.0.0.1", 0) as listener:
        model = "scripted:example"
        price = {model: Price(input=0.28, output=0.42)}
        settings = AppSettings(database_url=f"sqlite:///{data}/moot.db", model=model, prices=price, grace_seconds=0)
        async with build(settings, {}, {"scripted": ScriptedModel(reply, pace=pace)}) as app:
            hub = Hub()
            app.queue = EmbeddedQueue(app.runner, hub.emit, hub.tell_stopped)
            web = build_app(app, hub)
            server = Uvicorn(web, hub.close)
            serving = asyncio.create_task(server.serve([listener]))
            async with async_playwright() as playwright:
                chromium = shutil.which("chromium") or shutil.which("google-chrome")
                browser = await playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                await take(browser, f"http://127.0.0.1:{listener.getsockname()[1]}", pace, folder)
                await browser.close()
            server.should_exit = True
            await serving


if __name__ == "__main__":
    pictures = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("pictures")
    pictures.mkdir(parents=True, exist_ok=True)
    asyncio.run(main(pictures))
