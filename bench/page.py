"""How soon a long debate can be used in a browser, and what a live one costs it: `python bench/page.py`.

A hundred turns of 4 kB, in the system's Chromium, from the click on a link until a turn has been folded: under 0.8
seconds. Beside it a debate of one turn, to tell the page from the browser. Then a panel of four who speak at once, 50
tokens a second each: the renderer's processor time is under a fifth of a core. Exit 1 when either takes longer.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

sys.path += [str(Path(__file__).parent.parent / "tests" / folder) for folder in ("", "web")]

from theatre import Theatre, company

from moot.core.debate import Status

LOADS = 7
SPEECH = ("Some **words** that go on. " * 160)[:4000]
LIMITS = {"max_total_output_tokens": 10**6, "max_runtime_seconds": 1e6}
USABLE_SECONDS = 0.8
SPEAKERS = ["Performance Advocate", "Operational Simplicity", "Security Advocate", "Future Flexibility"]
TOKENS_A_SECOND = 50
LONG_SPEECH = "\n\n".join(["Some **words** that go on, with `code` and a [link](https://example.org). " * 8] * 40)
WATCHED_SECONDS = 20
SHARE_OF_A_CORE = 0.2


def usable(page: Page, url: str) -> float:
    """Seconds until the first turn has been opened."""
    began = time.perf_counter()
    page.goto(url, wait_until="domcontentloaded")
    page.locator("#transcript details.turn:visible > summary").first.click()
    page.locator("#transcript details.turn[open]").first.wait_for()
    return time.perf_counter() - began


def loads(browser: Browser, folder: Path) -> float:
    replies, page, seconds = company(), browser.new_page(), 0.0
    theatre = Theatre(folder, lambda request: replies(request) if request.schema else SPEECH)
    theatre.start()
    for rounds in (1, 50):
        debate_id = theatre.create("duel", "Cats", max_rounds=rounds, **LIMITS)
        theatre.until(debate_id, Status.FINISHED)
        url = f"{theatre.url}/debates/{debate_id}"
        usable(page, url)
        seconds = statistics.median(usable(page, url) for _ in range(LOADS))
        print(f"{2 * rounds + 1:4} turns: usable after {seconds:.2f} s")
    page.close()
    theatre.stop()
    return seconds


def live(browser: Browser, folder: Path) -> float:
    """The share of a core that the page of four who speak at once keeps busy."""
    replies = company(opening=LONG_SPEECH)
    theatre = Theatre(folder, replies)
    theatre.start()
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    theatre.baton.let(28)  # the moderator's analysis
    debate_id = theatre.create("panel", "Redis or Postgres?", perspectives=SPEAKERS, checkpoints=False, **LIMITS)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    theatre.model._pace = lambda: asyncio.sleep(1 / TOKENS_A_SECOND)
    theatre.baton.let_all()
    expect(page.locator(".turn.side.speaking")).to_have_count(len(SPEAKERS))
    before, began = renderer_seconds(browser), time.perf_counter()
    page.wait_for_timeout(1000 * WATCHED_SECONDS)
    share = (renderer_seconds(browser) - before) / (time.perf_counter() - began)
    letters = sum(len(text) for text in page.locator(".turn.side.speaking .prose").all_inner_texts())
    print(f"{len(SPEAKERS)} at {TOKENS_A_SECOND} tokens/s, {letters} letters: {share:.1%} of a core")
    page.close()
    theatre.stop()
    return share


def renderer_seconds(browser: Browser) -> float:
    told = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
    return float(sum(each["cpuTime"] for each in told["processInfo"] if each["type"] == "renderer"))


def main() -> int:
    chromium = shutil.which("chromium") or sys.exit("there is no chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        share = live(browser, Path(folder))
        seconds = loads(browser, Path(folder))
        browser.close()
    return 0 if seconds < USABLE_SECONDS and share < SHARE_OF_A_CORE else 1


if __name__ == "__main__":
    sys.exit(main())
