"""How soon a long debate can be used in a browser: `python bench/page.py`.

A hundred turns of 4 kB, in the system's Chromium, from the click on a link until a turn has been folded: under a
second. Beside it a debate of one turn, to tell the page from the browser. Exit 1 when it takes longer.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path += [str(Path(__file__).parent.parent / "tests" / folder) for folder in ("", "web")]

from theatre import Theatre, company

from moot.core.debate import Status

LOADS = 7
SPEECH = ("Some **words** that go on. " * 160)[:4000]
LIMITS = {"max_total_output_tokens": 10**6, "max_runtime_seconds": 1e6}


def usable(page: Page, url: str) -> float:
    """Seconds until the first turn has been folded."""
    began = time.perf_counter()
    page.goto(url, wait_until="domcontentloaded")
    page.locator("#card-0 summary").click()
    return time.perf_counter() - began


def main() -> int:
    chromium = shutil.which("chromium") or sys.exit("there is no chromium: apt-get install chromium")
    replies = company()
    seconds = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        theatre = Theatre(Path(folder), lambda request: replies(request) if request.schema else SPEECH)
        theatre.start()
        page = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"]).new_page()
        for rounds in (1, 50):
            debate_id = theatre.create("duel", "Cats", max_rounds=rounds, **LIMITS)
            theatre.until(debate_id, Status.FINISHED)
            url = f"{theatre.url}/debates/{debate_id}"
            usable(page, url)
            seconds[rounds] = statistics.median(usable(page, url) for _ in range(LOADS))
            print(f"{2 * rounds + 1:4} turns: {seconds[rounds]:.2f} s")
        theatre.stop()
    return 0 if seconds[50] < 1 else 1


if __name__ == "__main__":
    sys.exit(main())
