"""The pages in a real Chromium, on a real server with a scripted model: every flow, every variant, every attack."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from hostile import PAYLOADS
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright
from theatre import Theatre, company

from moot.core.debate import Status
from moot.llm.client import Request
from pdf_file import pdf

VARIANTS = [(scheme, width) for scheme in ("light", "dark") for width in (360, 1280)]
UNTIL_STYLED = """
Promise.allSettled(
  document.getAnimations().filter(each => each instanceof CSSTransition).map(each => each.finished)
).then(() => null)
"""
"""A transition that is cancelled, as one of a part that was renewed, is over too."""
LISTENER = """
addEventListener("DOMContentLoaded", () => {
  window.announced = [];
  const announcer = document.getElementById("announcer");
  const note = () => announced.push(announcer.textContent);
  if (announcer) new MutationObserver(note).observe(announcer, {childList: true});
});
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium, installed when we may; gone with this file, as its loop would be in other tests' way."""
    found = shutil.which("chromium") or _installed()
    if found is None:
        pytest.skip("there is no chromium, and nobody but root can install one: apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


def _installed() -> str | None:
    """Where Chromium is, once one of the processes that run tests has installed it."""
    with open(Path(gettempdir()) / "moot-chromium.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shutil.which("chromium") and os.geteuid() == 0 and shutil.which("apt-get"):
            subprocess.run(["apt-get", "install", "-y", "chromium"], check=False, capture_output=True)
    return shutil.which("chromium")


@contextmanager
def playing(folder: Path, replies: Callable[[Request], str] | None = None, **settings: Any) -> Iterator[Theatre]:
    theatre = Theatre(folder, replies or company(), **settings)
    theatre.start()
    try:
        yield theatre
    finally:
        theatre.stop()


@pytest.fixture
def theatre(tmp_path: Path) -> Iterator[Theatre]:
    with playing(tmp_path) as started:
        yield started


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    made.set_default_timeout(10_000)
    made.add_init_script(LISTENER)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A tab in which nothing may go wrong unnoticed."""
    made = context.new_page()
    faults: list[str] = []
    made.on("pageerror", lambda error: faults.append(str(error)))
    yield made
    assert faults == []


def titles(page: Page) -> list[str]:
    return [" ".join(text.split()) for text in page.locator(".turn h3, .turn .speaker").all_inner_texts()]


def place(page: Page, what: str) -> float:
    """How far from the top of the window something is."""
    box = page.locator(what).bounding_box()
    assert box
    return box["y"]


def press(page: Page, button: str) -> None:
    """Send a form as a browser without scripts does, and wait for the page it leads to."""
    with page.expect_navigation():
        page.click(f"button[value={button}]")


def positions(page: Page) -> list[str | None]:
    return [turn.get_attribute("data-position") for turn in page.locator("#transcript [data-position]").all()]


# Flows


def test_a_duel_from_creation_to_its_verdict(theatre: Theatre, page: Page) -> None:
    page.goto(f"{theatre.url}/")
    page.fill("textarea", "Cats are better than dogs")
    page.get_by_role("button", name="Start a first debate").click()
    page.get_by_text("Two debaters argue for and against").click()
    page.locator("label", has_text=re.compile("^con$")).click()
    page.fill("#duel-max_rounds", "1")
    theatre.baton.let(3)
    page.focus("#topic")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".turn.speaking .streaming")).to_have_text(re.compile(r"^Reason number \d+ $"))
    expect(page.locator("[data-seat=debater_a]")).to_contain_text("is speaking")
    expect(page.locator(".masthead .status")).to_have_text("live")
    theatre.baton.let_all()
    expect(page.locator("#outcome .headline")).to_have_text("Debater A (con) wins, 7 : 4")
    expect(page.locator(".turn.speaking")).to_have_count(0)
    assert titles(page) == ["Debater A argument", "Debater B argument", "Judge verdict"]
    expect(page.locator("#announcer")).to_have_text("The debate is finished")
    announced = page.evaluate("announced")
    assert announced[0] == "Debater A is speaking"
    assert announced[-1] == "The debate is finished"
    assert {re.sub(r" .* ", " … ", text) for text in announced} == {
        "Debater … speaking",
        "Debater … finished",
        "Judge … speaking",
        "Judge … finished",
        "The … finished",
    }


def test_a_panel_with_a_checkpoint_answered_in_the_page_and_an_approval(theatre: Theatre, page: Page) -> None:
    page.goto(f"{theatre.url}/new?format=panel")
    page.fill("#topic", "Redis or Postgres?")
    page.fill("#panel-max_rounds", "2")
    page.click("button[value=start]")
    expect(page.locator(".checkpoint h2")).to_have_text("Your turn")
    expect(page.locator(".checkpoint .left")).to_have_text(re.compile(r"^Waits \d+ more minutes, then it is paused"))
    page.click("button[value=guide]")
    expect(page.get_by_role("alert")).to_have_text("`guide` needs a text: say what you want the debate to hear")
    page.fill("#words", "Mind the **cost**.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#turn-7")).to_have_text("Mind the cost.")
    expect(page.locator("#turn-7 strong")).to_have_text("cost")
    page.click("button[value=approve]")
    expect(page.locator("#outcome .headline")).to_have_text("Use Redis. (Low confidence, approved)")
    page.locator(".contents a", has_text="Dissent").click()
    expect(page.get_by_role("heading", name="Dissent")).to_be_in_viewport()
    page.get_by_role("button", name="Create a workflow").click()
    expect(page.locator("#workflow h2")).to_have_text(re.compile("^Workflow WFL-"))
    page.locator("#rating label", has_text="4").click()
    page.locator("#rating").get_by_role("button", name="Save").click()
    expect(page.locator("#rating p")).to_have_text("You gave it 4 of 5 stars.")
    page.reload()
    link = page.locator("a.turn-link").first
    target = (link.get_attribute("href") or "").removeprefix("#")
    expect(page.locator(f"#{target}")).to_be_hidden()
    link.click()
    expect(page.locator(f"#{target}")).to_be_in_viewport()


def test_parallel_openings_stand_side_by_side_and_become_markdown(tmp_path: Path, page: Page) -> None:
    with playing(tmp_path, company(opening="# Big\n\nIt is **fast** and `safe`.")) as theatre:
        theatre.baton.let(28 + 6 + 4)
        debate_id = theatre.create("panel", "Redis or Postgres?", max_rounds=1)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        expect(page.locator(".turn.speaking.beside")).to_have_count(2)
        left, right = (turn.bounding_box() for turn in page.locator(".turn.beside").all())
        assert left
        assert right
        assert left["y"] == right["y"]
        assert left["x"] + left["width"] < right["x"]
        theatre.baton.let_all()
        expect(page.locator(".turn.beside strong")).to_have_text(["fast", "fast"])
        expect(page.locator(".turn.speaking")).to_have_count(0)
        page.reload()
        expect(page.locator(".turn.beside strong")).to_have_text(["fast", "fast"])


def test_a_reload_in_the_middle_shows_the_text_so_far_and_then_the_rest(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(6 + 4)
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    streaming = page.locator(".turn.speaking .streaming")
    expect(streaming).to_have_text(re.compile(r"^Reason number \d+ speaks $"))
    so_far = streaming.inner_text()
    page.reload()
    expect(streaming).to_have_text(so_far)
    theatre.baton.let_all()
    expect(page.locator("#outcome .headline")).to_be_visible()
    assert page.locator("#turn-1").inner_text() == f"{so_far}for it."
    assert positions(page) == ["0", "1", "2"]


def test_a_server_restarted_in_between_loses_nothing_and_shows_nothing_twice(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(6 + 3)
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=2)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    expect(page.locator(".turn.speaking .streaming")).to_have_text(re.compile(r"^Reason number \d+ $"))
    theatre.stop()
    expect(page.locator("#connection")).to_have_text("connection lost, trying again")
    theatre.baton.let_all()
    theatre.start()
    expect(page.locator("#outcome .headline")).to_be_visible()
    expect(page.locator("#connection")).to_have_text("")
    stored = theatre.do(lambda app: app.load(debate_id)).turns
    assert page.locator("#transcript .prose").all_inner_texts() == [turn.content for turn in stored]
    assert positions(page) == ["0", "1", "2", "3", "4"]


def test_stop_lets_the_turn_end_and_resume_goes_on(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(3)
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#controls .state")).to_have_text("Finishing this turn, then it stops.")
    theatre.baton.let_all()
    expect(page.locator("#controls .state")).to_have_text("Stopped: a person stopped it. Nothing is lost.")
    assert titles(page) == ["Debater A argument"]
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#outcome .headline")).to_be_visible()


def test_words_are_heard_and_the_rounds_concluded_while_it_runs(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(3)
    debate_id = theatre.create("duel", "Cats are better than dogs")
    page.goto(f"{theatre.url}/debates/{debate_id}")
    page.fill("#words", "Think of the birds.")
    page.get_by_role("button", name="Say it").click()
    expect(page.locator("#words")).to_have_value("")
    page.get_by_role("button", name="Conclude now").click()
    expect(page.get_by_role("button", name="Concluding after this turn")).to_be_disabled()
    theatre.baton.let_all()
    expect(page.locator("#outcome .headline")).to_be_visible()
    assert titles(page) == ["Debater A argument", "You remark", "Judge verdict"]
    expect(page.locator("#outcome")).to_contain_text("Ended because a person asked for the conclusion.")


def test_words_on_their_way_stay_out_of_the_field_when_the_page_renews_itself(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(3)
    debate_id = theatre.create("duel", "Cats are better than dogs")
    page.goto(f"{theatre.url}/debates/{debate_id}")
    held: list[Route] = []
    page.route("**/reply", lambda route: held.append(route))
    page.fill("#words", "Think of the birds.")
    page.get_by_role("button", name="Say it").click()
    theatre.do(lambda app: app.conclude(debate_id))
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.get_by_role("button", name="Concluding after this turn")).to_be_disabled()
    with page.expect_response(re.compile("/parts")):
        held[0].continue_()
    expect(page.locator("#words")).to_have_value("")
    theatre.baton.let_all()


def test_words_that_cannot_be_sent_are_back_in_their_field(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(3)
    debate_id = theatre.create("duel", "Cats are better than dogs")
    page.route("**/reply", lambda route: route.abort())
    page.goto(f"{theatre.url}/debates/{debate_id}")
    page.fill("#words", "Think of the birds.")
    page.get_by_role("button", name="Say it").click()
    expect(page.locator("[role=alert]")).to_have_text("The server cannot be reached. Try again.")
    expect(page.locator("#words")).to_have_value("Think of the birds.")
    theatre.baton.let_all()


def test_eight_tabs_on_live_debates_all_load_and_all_end(theatre: Theatre, context: BrowserContext) -> None:
    theatre.baton.let(3)
    tabs = []
    for number in range(8):
        debate_id = theatre.create("duel", f"Topic number {number}", max_rounds=1)
        tabs.append(context.new_page())
        tabs[-1].goto(f"{theatre.url}/debates/{debate_id}")
        expect(tabs[-1].locator("h1")).to_have_text(f"Topic number {number}")
    theatre.baton.let_all()
    for tab in tabs:
        expect(tab.locator("#outcome .headline")).to_have_text("Debater A (pro) wins, 7 : 4")


def test_a_tab_that_nobody_looks_at_gives_its_connection_back(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(3)
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    expect(page.locator(".turn.speaking")).to_have_count(1)
    with page.expect_event("requestfailed", lambda request: "/events" in request.url):
        page.evaluate(HIDE, True)
    theatre.baton.let_all()
    with page.expect_response(re.compile("/parts")):
        page.evaluate(HIDE, False)
    expect(page.locator("#outcome .headline")).to_be_visible()


HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_the_reader_stays_where_they_are_and_is_offered_what_is_new(tmp_path: Path, page: Page) -> None:
    speech = " ".join(f"word{number}" for number in range(400))
    with playing(tmp_path, lambda request: company()(request) if request.schema else speech) as theatre:
        theatre.baton.let(400 + 10)
        debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        # The first speech, which is over, is longer than the window: its reader is not at the end of the page.
        expect(page.locator("#card-0:not(.speaking)")).to_contain_text("word399")
        expect(page.locator("#card-1 .streaming")).to_contain_text("word9")
        page.evaluate("scrollTo(0, 150)")
        before = place(page, "#card-0")
        theatre.baton.let_all()
        expect(page.locator("#new-turns")).to_have_text(re.compile(r"^\d new$"))
        expect(page.locator("#outcome .headline")).to_have_count(1)
        assert place(page, "#card-0") == pytest.approx(before, abs=1)
        page.locator("#new-turns").click()
        expect(page.locator("#new-turns")).to_be_hidden()


def test_the_page_follows_the_text_while_the_reader_is_at_its_end(tmp_path: Path, page: Page) -> None:
    speech = " ".join(f"word{number}" for number in range(900))
    with playing(tmp_path, lambda request: company()(request) if request.schema else speech) as theatre:
        theatre.baton.let(20)
        debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        expect(page.locator(".turn.speaking .streaming")).to_contain_text("word15")
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        theatre.baton.let(850)
        expect(page.locator(".turn.speaking .streaming")).to_contain_text("word800")
        expect(page.get_by_role("button", name="Stop")).to_be_in_viewport()
        expect(page.locator("#new-turns")).to_be_hidden()


def test_everything_by_keyboard_alone(theatre: Theatre, page: Page) -> None:
    page.goto(f"{theatre.url}/debates/none")
    page.keyboard.press("n")
    expect(page.locator("#topic")).to_be_focused()
    page.keyboard.type("Cats are better")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.locator("input[name=format][value=duel]")).to_be_checked()
    expect(page.get_by_label("Settings of duel")).to_be_visible()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#outcome .headline")).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator("#card-0")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator("#card-1")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("cats")
    page.keyboard.press("Enter")
    expect(page.locator(".topic")).to_have_text(["Cats are better"])
    page.keyboard.press("j")
    expect(page.locator(".topic").first).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("is deleted")
    page.get_by_role("button", name="Undo").press("Enter")
    expect(page.locator("h1")).to_have_text("Cats are better")


def test_everything_without_javascript(theatre: Theatre, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{theatre.url}/new")
    expect(page.get_by_label("Settings of panel")).to_be_visible()
    page.get_by_text("Two debaters argue for and against").click()
    expect(page.get_by_label("Settings of panel")).to_be_hidden()
    expect(page.get_by_label("Settings of duel")).to_be_visible()
    page.get_by_text("Two to four perspectives").click()
    page.fill("#topic", "Redis or Postgres?")
    page.fill("#panel-max_rounds", "2")
    press(page, "start")
    debate_id = page.url.rpartition("/")[2]
    theatre.until(debate_id, Status.WAITING)
    page.reload()
    page.fill("#words", "Mind the cost.")
    press(page, "guide")
    theatre.until(debate_id, Status.WAITING)
    page.reload()
    press(page, "approve")
    theatre.until(debate_id, Status.FINISHED)
    page.reload()
    expect(page.locator("#outcome .headline")).to_have_text("Use Redis. (Low confidence, approved)")
    link = page.locator("a.turn-link").first
    link.click()
    expect(page.locator(f"{link.get_attribute('href')}")).to_be_in_viewport()
    context.close()


def test_files_are_read_and_become_sources_that_can_be_removed(theatre: Theatre, page: Page, tmp_path: Path) -> None:
    for name in ("one.md", "two.txt"):
        (tmp_path / name).write_text(f"What {name} says.")
    page.goto(f"{theatre.url}/new?format=panel")
    page.locator("input[data-files]").nth(0).set_input_files([tmp_path / "one.md", tmp_path / "two.txt"])
    expect(page.locator('[name="panel.sources.1.text"]')).to_have_value("What two.txt says.")
    (tmp_path / "report.pdf").write_bytes(pdf("A page."))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    page.locator("input[data-files]").nth(0).set_input_files([tmp_path / "report.pdf", tmp_path / "picture.png"])
    expect(page.locator("[data-reading]").nth(0)).to_contain_text("picture.png is no text")
    expect(page.locator(".row:has([name='panel.sources.2.text']) [data-size]")).to_have_text("7 characters")
    page.locator(".row:has([name='panel.sources.2.text']) [data-remove]").click()
    page.fill("#topic", "Redis or Postgres?")
    theatre.baton.let(0)
    page.click("button[value=start]")
    expect(page.locator("h1")).to_have_text("Redis or Postgres?")
    record = theatre.do(lambda app: app.load(page.url.rpartition("/")[2])).record
    assert record.settings["sources"] == [
        {"name": "one.md", "text": "What one.md says."},
        {"name": "two.txt", "text": "What two.txt says."},
    ]


def test_the_list_is_renewed_while_a_debate_goes_on(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(3)
    theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(theatre.url)
    expect(page.locator(".status")).to_have_text("live")
    theatre.baton.let_all()
    expect(page.locator(".status")).to_have_text("finished")
    expect(page.locator(".result")).to_have_text("Debater A (pro) wins, 7 : 4")


def test_models_that_can_be_reached_are_offered(theatre: Theatre, page: Page) -> None:
    page.goto(f"{theatre.url}/new")
    expect(page.locator("#models option[value='local:smollm2']")).to_have_count(1)


# For everybody


@pytest.fixture
def scenes(theatre: Theatre) -> dict[str, str]:
    """Every kind of page there is."""
    duel = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    panel = theatre.create("panel", "Redis or Postgres?", max_rounds=1, checkpoints=False)
    waiting = theatre.create("panel", "Redis or Memcached?", max_rounds=2)
    idea = theatre.create("evaluation", "A bakery that bakes at night")
    for debate_id in (duel, panel, idea):
        theatre.until(debate_id, Status.FINISHED)
    theatre.until(waiting, Status.WAITING)
    theatre.baton.let(3)
    live = theatre.create("duel", "Tea is better than coffee")
    return {
        "list": "/",
        "nothing found": "/?q=nothing",
        "new duel": "/new?format=duel",
        "new panel": "/new?format=panel",
        "finished duel": f"/debates/{duel}",
        "finished panel": f"/debates/{panel}",
        "finished evaluation": f"/debates/{idea}",
        "checkpoint": f"/debates/{waiting}",
        "live": f"/debates/{live}",
        "not found": "/debates/DEB-22222222",
        "login": "/login",
    }


def test_axe_finds_nothing_on_any_page_in_any_variant(theatre: Theatre, scenes: dict[str, str], page: Page) -> None:
    found: list[tuple[str, str, int, str, list[Any]]] = []
    for name, path in scenes.items():
        page.goto(theatre.url + path)
        if name == "live":
            expect(page.locator(".turn.speaking")).to_have_count(1)
        if name.startswith("new"):
            for summary in page.locator(".of-format details:visible > summary").all():
                summary.click()
        page.evaluate(AXE_SCRIPT)
        for scheme, width in VARIANTS:  # the page itself is the same in all of them, its style alone tells them apart
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": 800})
            page.evaluate(UNTIL_STYLED)
            faults = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
            found += [(name, scheme, width, each["id"], [node["html"] for node in each["nodes"]]) for each in faults]
            wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if wider > 0:
                found.append((name, scheme, width, "wider than the screen", [wider]))
    assert found == []


def test_a_hundred_turns_are_all_there_and_can_be_folded(tmp_path: Path, page: Page) -> None:
    speech = ("Some **words** that go on. " * 160)[:4000]
    with playing(tmp_path, lambda request: company()(request) if request.schema else speech) as theatre:
        debate_id = theatre.create(
            "duel", "Cats", max_rounds=50, max_total_output_tokens=10**6, max_runtime_seconds=1e6
        )
        theatre.until(debate_id, Status.FINISHED)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        assert len(positions(page)) == 101
        page.locator("#card-0 summary").click()
        expect(page.locator("#card-0 details")).not_to_have_attribute("open", "")


# Attacks


def test_hostile_texts_run_nothing_and_fetch_nothing(tmp_path: Path, context: BrowserContext, page: Page) -> None:
    groups = ["\n\n".join(PAYLOADS[start : start + 19]) for start in range(0, len(PAYLOADS), 19)]
    spoken = iter(range(10**6))

    def hostile(request: Request) -> str:
        return company()(request) if request.schema else groups[next(spoken) % len(groups)]

    foreign: list[str] = []
    dialogs: list[str] = []
    with playing(tmp_path, hostile) as theatre:
        page.on("request", lambda request: request.url.startswith(theatre.url) or foreign.append(request.url))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        for group in groups:
            page.goto(f"{theatre.url}/new?format=duel")
            page.fill("#topic", group[:4000])
            page.fill("#duel-max_rounds", "2")
            theatre.baton.let(5)
            page.click("button[value=start]")
            expect(page.locator(".turn.speaking")).to_have_count(1)
            page.fill("#words", group[:2000])
            with page.expect_response(re.compile("/reply")):
                page.get_by_role("button", name="Say it").click()
            theatre.baton.let_all()
            expect(page.locator("#outcome .headline")).to_be_visible()
            assert titles(page).count("You remark") == 1
            page.reload()
            assert page.evaluate("window.executed") is None
        for path in ("/", "/?q=" + "%3Cscript%3Ewindow.executed%3D1%3C/script%3E"):
            page.goto(theatre.url + path)
            assert page.evaluate("window.executed") is None
    assert (foreign, dialogs) == ([], [])


def test_a_hostile_perspective_is_a_name_and_no_more(tmp_path: Path, page: Page) -> None:
    name = "Speed ![x](http://127.0.0.1:9/leak.png) [y](javascript:window.executed=1) **z**"[:60]
    own = {"name": name, "priorities": ["speed"], "trade_offs": "Accepts complexity for speed"}
    other = {"name": "Calm", "priorities": ["simplicity"], "trade_offs": "Accepts slowness for simplicity"}
    opposed = [{**own, "values": ["a"], "costs": ["b"]}, {**other, "values": ["b"], "costs": ["a"]}]
    foreign: list[str] = []
    with playing(tmp_path) as theatre:
        page.on("request", lambda request: request.url.startswith(theatre.url) or foreign.append(request.url))
        debate_id = theatre.create("panel", "Redis?", max_rounds=1, checkpoints=False, perspectives=opposed)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        expect(page.locator("#outcome .headline")).to_be_visible()
        expect(page.locator("[data-seat] .who", has_text="Speed")).to_have_text(name)
        assert page.evaluate("window.executed") is None
    assert foreign == []
