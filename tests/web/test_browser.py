"""The pages in a real Chromium, on a real server with a scripted model: every flow, every variant, every attack."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from hostile import PAYLOADS
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect, sync_playwright
from theatre import Theatre, company

from moot.core.debate import Status
from moot.errors import RateLimited
from moot.llm.client import Completion, Request
from moot.web.stream import hub
from pdf_file import pdf

expect.set_options(timeout=30_000)
VARIANTS = [(scheme, width) for scheme in ("light", "dark") for width in (360, 1280)]
UNTIL_STYLED = """
Promise.allSettled(
  document.getAnimations().filter(each => each instanceof CSSTransition).map(each => each.finished)
).then(() => null)
"""
"""A transition that is cancelled, as one of a part that was renewed, is over too."""
BROKEN_WORDS = r"""
[...document.querySelectorAll("th")].flatMap(cell => {
  const text = cell.firstChild, range = document.createRange();
  if (!text || text.nodeType !== Node.TEXT_NODE) return [];
  return [...text.data.matchAll(/\S+/g)].filter(word => {
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return new Set([...range.getClientRects()].map(rect => rect.top)).size > 1;
  }).map(word => word[0]);
})
"""
"""The words in the heads of columns and rows that stand on more than one line."""
LISTENER = """
addEventListener("DOMContentLoaded", () => {
  window.announced = [];
  const announcer = document.getElementById("announcer");
  const note = () => announced.push(announcer.textContent);
  if (announcer) new MutationObserver(note).observe(announcer, {childList: true});
});
"""

LATE = """
const listen = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (type, ...more) {
  if (!["turn_finished", "debate_finished"].includes(type)) listen.call(this, type, ...more);
};
"""
"""Events that come later than what they tell of can be read."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium; gone with this file, as its loop would be in other tests' way."""
    found = shutil.which("chromium")
    if found is None:
        absent = "there is no chromium; `make browser` installs one"
        pytest.fail(absent) if os.environ.get("CI") else pytest.skip(absent)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


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
    made.set_default_timeout(30_000)
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
    return [" ".join(text.split()) for text in page.locator(".turn h3").all_inner_texts()]


def place(page: Page, what: str) -> float:
    """How far from the top of the window something is."""
    box = page.locator(what).bounding_box()
    assert box
    return box["y"]


def open_fold(page: Page) -> None:
    """What is chosen more seldom stands in a fold of the form."""
    page.locator(".advanced:visible > summary").click()


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
    page.get_by_role("button", name="More settings").click()
    page.get_by_text("Two debaters argue for and against").click()
    page.locator("label", has_text=re.compile("^con$")).click()
    open_fold(page)
    page.fill("#duel-max_rounds", "1")
    expect(page.locator("#estimate")).to_have_text("19 s")
    theatre.baton.let(3)
    page.focus("#topic")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".turn.speaking .prose")).to_have_text(re.compile(r"^Reason number \d+ ?$"))
    expect(page.locator(".turn.against.speaking h3")).to_have_text("Against is speaking")
    expect(page.locator(".mast .state")).to_have_text("live")
    theatre.baton.let_all()
    expect(page.locator("#verdict .headline")).to_have_text("The case against it wins")
    expect(page.locator(".turn.speaking")).to_have_count(0)
    assert titles(page) == ["Debater A argument", "Debater B argument", "Judge verdict"]
    assert page.url.endswith("#verdict")
    expect(page.locator("#verdict")).to_be_focused()


def test_a_panel_with_a_checkpoint_answered_in_the_page_and_an_approval(theatre: Theatre, page: Page) -> None:
    page.goto(f"{theatre.url}/new?format=panel")
    page.fill("#topic", "Redis or Postgres?")
    open_fold(page)
    page.fill("#panel-max_rounds", "2")
    page.click("button[value=start]")
    expect(page.locator(".dock.yours h2")).to_have_text("Your turn Round 1 is over. Go on?")
    expect(page.locator(".dock.yours h2")).to_be_focused()
    expect(page.locator(".dock.yours")).to_contain_text(re.compile(r"Waits another \d+ min, then it is paused"))
    expect(page).to_have_title("Your turn · Redis or Postgres? · moot")
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("favicon-yours"))
    page.click("button[value=guide]")
    expect(page.get_by_role("alert")).to_have_text("`guide` needs a text: say what you want the debate to hear")
    page.fill("#words", "Mind the **cost**.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#turn-7")).to_have_text("Mind the cost.")
    expect(page.locator("#turn-7 strong")).to_have_text("cost")
    page.click("button[value=approve]")
    expect(page.locator("#verdict .headline")).to_have_text("Use Redis")
    page.locator(".rail .toc a", has_text="How it was reached").click()
    expect(page.get_by_role("heading", name="How it was reached")).to_be_in_viewport()
    page.get_by_role("button", name="Create an issue").click()
    expect(page.locator("#workflow summary")).to_have_text(re.compile("^WFL-"))
    page.locator("#rating label", has_text="4").click()
    page.locator("#rating").get_by_role("button", name="Save").click()
    expect(page.locator("#rating p")).to_have_text("You gave it 4 of 5 stars.")
    page.reload()
    link = page.locator("#reached a.cite").first
    target = (link.get_attribute("href") or "").removeprefix("#turn-")
    expect(page.locator(f"#text-{target}")).to_be_hidden()
    link.click()
    expect(page.locator(f"#text-{target}")).to_be_in_viewport()


def test_parallel_openings_stand_side_by_side_and_become_markdown(tmp_path: Path, page: Page) -> None:
    with playing(tmp_path, company(opening="# Big\n\nIt is **fast** and `safe`.")) as theatre:
        theatre.baton.let(28 + 6 + 4)
        debate_id = theatre.create("panel", "Redis or Postgres?", max_rounds=1)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        beside = page.locator(".lanes > .turn.side")
        expect(page.locator(".lanes > .turn.side.speaking")).to_have_count(2)
        expect(beside.first.locator("p.heading")).to_have_text("Big")
        left, right = (turn.bounding_box() for turn in beside.all())
        assert left
        assert right
        assert left["y"] == right["y"]
        assert left["x"] + left["width"] < right["x"]
        theatre.baton.let_all()
        expect(page.locator(".lanes > .turn.side strong").first).to_have_text("fast")
        expect(page.locator(".turn.speaking")).to_have_count(0)
        page.reload()
        expect(page.locator(".lanes:has(> .turn:nth-child(2)) strong").first).to_have_text("fast")


def test_on_a_phone_those_who_speak_at_once_have_a_tab_each(tmp_path: Path, page: Page) -> None:
    speech = " ".join(["word"] * 40)
    with playing(tmp_path, company(opening=speech)) as theatre:
        page.set_viewport_size({"width": 360, "height": 780})
        theatre.baton.let(28 + 6 + 4)
        debate_id = theatre.create("panel", "Redis or Postgres?", max_rounds=1, checkpoints=False)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        openings = page.locator(".part").filter(has=page.locator("[data-kind=opening]")).locator(".tabbed").first
        tabs, turns = openings.get_by_role("tab"), openings.locator(".turn")
        expect(tabs).to_have_count(2)
        expect(turns.filter(visible=True)).to_have_count(1)
        assert [tab.get_attribute("data-state") for tab in tabs.all()] == ["speaking", "speaking"]
        tabs.first.focus()
        page.keyboard.press("ArrowRight")
        expect(tabs.last).to_be_focused()
        expect(tabs.last).to_have_attribute("aria-selected", "true")
        expect(turns.last).to_be_visible()
        expect(turns.first).to_be_hidden()
        page.keyboard.press("Home")
        expect(turns.first).to_be_visible()
        expect(openings.get_by_role("tabpanel")).to_have_accessible_name(re.compile("is speaking"))
        page.set_viewport_size({"width": 1280, "height": 780})  # side by side where there is room
        expect(tabs).to_have_count(0)
        expect(page.locator(".lanes > .turn.side").filter(visible=True)).to_have_count(2)
        page.set_viewport_size({"width": 360, "height": 780})
        theatre.baton.let(80)  # both have ended
        expect(tabs.last).to_have_attribute("data-state", "unseen")
        expect(tabs.last).to_contain_text("has said something new")
        last = turns.last.get_attribute("data-position")
        expect(page.locator(f"#turn-{last}")).to_be_attached()  # what was streamed cannot be linked to
        page.evaluate(f"location.hash = 'turn-{last}'")
        expect(turns.last).to_be_visible()
        expect(tabs.last).to_have_attribute("data-state", "")
        theatre.baton.let_all()


def test_who_answers_and_who_objects_stand_in_columns(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(30)
    debate_id = theatre.create("critique", "How many chargers does a town need?", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    theatre.baton.let_all()
    expect(page.locator("#verdict .headline")).to_be_visible()
    page.wait_for_function("""() => {
        const [left, right] = ["for", "against"].map((side) =>
            document.querySelector(`.sides > details.turn.${side}`).getBoundingClientRect());
        return left.y === right.y && left.right < right.x;
    }""")


def test_a_reload_in_the_middle_shows_the_text_so_far_and_then_the_rest(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(6 + 4)
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    streaming = page.locator(".turn.speaking .prose")
    expect(streaming).to_have_text(re.compile(r"^Reason number \d+ speaks ?$"))
    so_far = streaming.inner_text()
    page.reload()
    expect(streaming).to_have_text(so_far)
    theatre.baton.let_all()
    expect(page.locator("#verdict .headline")).to_be_visible()
    assert page.locator("#text-1").inner_text() == f"{so_far.strip()} for it."
    assert positions(page) == ["0", "1", "2"]


def test_who_comes_back_in_the_middle_of_a_turn_sees_its_text_once_also_with_emoji(
    tmp_path: Path, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub.Hub.__init__, "__defaults__", (hub.BEAT_SECONDS, 0.0))  # nobody lingers
    with playing(tmp_path, lambda request: "😀 is 😀 and 😀 or 😀 at last.") as theatre:
        theatre.baton.let(4)
        debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        streaming = page.locator(".turn.speaking .prose")
        expect(streaming).to_have_text("😀 is 😀 and")
        with page.expect_event("requestfailed", lambda request: "/events" in request.url):
            page.evaluate(HIDE, True)
        theatre.baton.let(2)
        page.evaluate(HIDE, False)
        expect(streaming).to_have_text("😀 is 😀 and 😀 or")
        theatre.baton.let(1)
        expect(streaming).to_have_text("😀 is 😀 and 😀 or 😀")
        theatre.baton.let_all()


def test_a_server_restarted_in_between_loses_nothing_and_shows_nothing_twice(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(6 + 3)
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=2)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    expect(page.locator(".turn.speaking .prose")).to_have_text(re.compile(r"^Reason number \d+ ?$"))
    theatre.stop()
    expect(page.locator("#connection")).to_have_text("connection lost, trying again")
    theatre.baton.let_all()
    theatre.start()
    expect(page.locator("#verdict .headline")).to_be_visible()
    stored = theatre.do(lambda app: app.load(debate_id)).turns
    assert [text.strip() for text in page.locator("#transcript .prose").all_text_contents()] == [
        turn.content for turn in stored
    ]
    assert positions(page) == ["0", "1", "2", "3", "4"]


def test_stop_lets_the_turn_end_and_resume_goes_on(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(3)
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    page.get_by_text("End…").click()
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#controls .told")).to_have_text("Finishing this turn, then it stops.")
    theatre.baton.let_all()
    expect(page.locator("#controls .told")).to_have_text("Stopped: a person stopped it. Nothing is lost.")
    assert titles(page) == ["For Debater A argument"]
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#verdict .headline")).to_be_visible()


def test_words_are_heard_and_the_rounds_concluded_while_it_runs(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(3)
    debate_id = theatre.create("duel", "Cats are better than dogs")
    page.goto(f"{theatre.url}/debates/{debate_id}")
    page.fill("#words", "Think of the birds.")
    page.get_by_role("button", name="Say it").click()
    expect(page.locator("#words")).to_have_value("")
    page.get_by_text("End…").click()
    page.get_by_role("button", name="Conclude now").click()
    expect(page.locator("#conclude")).to_be_disabled()
    theatre.baton.let_all()
    expect(page.locator("#verdict .headline")).to_be_visible()
    assert titles(page) == ["Debater A argument", "You remark", "Judge verdict"]
    expect(page.locator("#verdict")).to_contain_text("Ended because a person asked for the conclusion.")


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
    expect(page.locator("#conclude")).to_be_disabled()
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
        expect(tab.locator("#verdict .headline")).to_have_text("The case for it wins")


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
    expect(page.locator("#verdict .headline")).to_be_visible()


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
        expect(page.locator("#card-1 .prose")).to_contain_text("word9")
        page.evaluate("scrollTo(0, 150)")
        page.mouse.wheel(0, -50)
        page.evaluate("new Promise(function done(tell) { scrollY === 100 ? tell() : setTimeout(done, 20, tell) })")
        before = place(page, "#card-0")
        theatre.baton.let(300)
        expect(page.locator("#card-1 .prose")).to_contain_text("word300")
        expect(page.locator("#follow")).to_have_text("Debater B is speaking · follow")
        assert place(page, "#card-0") == pytest.approx(before, abs=1)
        page.locator("#follow").click()
        expect(page.locator("#follow")).to_be_hidden()
        page.mouse.wheel(0, -400)
        theatre.baton.let_all()
        expect(page.locator("#to-verdict")).to_have_text("Decided · read the verdict")
        expect(page).to_have_title("Decided · Cats are better than dogs · moot")
        expect(page.locator("link[rel=icon]")).to_have_attribute("href", re.compile("favicon-done"))
        page.locator("#to-verdict").click()
        expect(page.locator("#verdict")).to_be_focused()


def test_the_page_follows_the_text_while_the_reader_is_at_its_end(tmp_path: Path, page: Page) -> None:
    speech = " ".join(f"word{number}" for number in range(900))
    with playing(tmp_path, lambda request: company()(request) if request.schema else speech) as theatre:
        theatre.baton.let(20)
        debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        expect(page.locator(".turn.speaking .prose")).to_contain_text("word15")
        theatre.baton.let(850)
        expect(page.locator(".turn.speaking .prose")).to_contain_text("word800")
        expect(page.locator(".caret")).to_be_in_viewport()
        expect(page.locator("#follow")).to_be_hidden()


def test_who_follows_is_taken_to_a_column_that_begins_above(tmp_path: Path, page: Page) -> None:
    speech = "\n\n".join(f"word{number} " * 30 for number in range(60))
    with playing(tmp_path, lambda request: company()(request) if request.schema else speech) as theatre:
        theatre.baton.let(20)
        debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        expect(page.locator("#card-0.speaking .caret")).to_be_in_viewport()
        theatre.baton.let(len(speech.split()) - 10)
        expect(page.locator("#card-1.speaking .caret")).to_be_in_viewport()
        expect(page.locator("#card-1 h3")).to_be_in_viewport()
        expect(page.locator("#follow")).to_be_hidden()
        page.mouse.wheel(0, 2000)  # a short speech stays beside a long one
        expect(page.locator("#card-1.speaking .caret")).to_be_in_viewport()
        expect(page.locator("#follow")).to_be_hidden()


def test_everything_by_keyboard_alone(theatre: Theatre, page: Page) -> None:
    page.goto(f"{theatre.url}/debates/none")
    page.keyboard.press("n")
    expect(page.locator("#topic")).to_be_focused()
    page.keyboard.type("Cats are better")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.locator("input[name=format][value=duel]")).to_be_checked()
    expect(page.get_by_label("Settings of duel")).to_be_visible()
    theatre.baton.let(3)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".turn.speaking")).to_have_count(1)
    theatre.baton.let_all()
    expect(page.locator("#verdict")).to_be_focused()  # by the same module that hears keys
    page.keyboard.press("j")
    expect(page.locator("#turn-0 summary")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator("#turn-1 summary")).to_be_focused()
    page.keyboard.press("i")
    expect(page.locator("#inspector.open")).to_contain_text("What it was sent")
    expect(page.locator("#inspector")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#inspector")).to_have_count(0)
    expect(page.locator("#turn-1 [data-inspect]")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.goto(f"{theatre.url}/")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("cats")
    page.keyboard.press("Enter")
    expect(page.locator(".topic")).to_have_text(["Cats are better"])
    page.keyboard.press("j")
    expect(page.locator(".topic").first).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".debate")).to_have_text(re.compile("Deleted: Cats are better"))
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".topic")).to_be_focused()
    page.reload()
    expect(page.locator(".topic")).to_have_text(["Cats are better"])


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
    open_fold(page)
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
    expect(page.locator("#verdict .headline")).to_have_text("Use Redis")
    link = page.locator("#reached a.cite").first
    link.click()
    expect(page.locator(f"{link.get_attribute('href')}")).to_be_in_viewport()
    context.close()


def test_files_and_folders_become_sources_that_can_be_removed(theatre: Theatre, page: Page, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("one.md", "two.txt", ".hidden", "picture.png"):
        (folder / name).write_bytes(b"\x89PNG\0" if name.endswith("png") else f"What {name} says.".encode())
    (tmp_path / "report.pdf").write_bytes(pdf("A page."))
    (tmp_path / "large.txt").write_bytes(b"a" * 20_000_001)
    page.goto(f"{theatre.url}/new?format=panel")
    expect(page.locator(".file")).to_have_count(0)
    files, folders = page.locator("input[data-files]").all()
    files.set_input_files([tmp_path / "report.pdf", folder / "picture.png", tmp_path / "large.txt"])
    told = page.locator("[data-told]")
    expect(told).to_contain_text("picture.png is no text; give text, markdown, PDF, HTML, docx, CSV or source code")
    expect(told).to_contain_text("large.txt is larger than 20 MB; give the part that matters")
    folders.set_input_files(folder)
    expect(told).to_contain_text("1 file left out: is no text")
    expect(page.locator(".file")).to_have_count(3)
    expect(page.locator(".file [data-size]").first).to_have_text("7 characters")
    page.get_by_role("button", name="Remove report.pdf").click()
    expect(page.get_by_role("button", name="Remove notes/one.md")).to_be_focused()
    assert page.locator(".file .tag").all_inner_texts() == ["S1", "S2"]
    page.get_by_role("button", name="Paste text").click()
    page.keyboard.type("pasted")
    page.get_by_label("Text of source 3").fill("Words.")
    page.get_by_text("Two debaters argue for and against").click()  # another format has the same sources
    page.fill("#topic", "Redis or Postgres?")
    theatre.baton.let(0)
    page.click("button[value=start]")
    expect(page.locator("h1")).to_have_text("Redis or Postgres?")
    expect(page.locator("#sources li")).to_have_count(3)
    record = theatre.do(lambda app: app.load(page.url.rpartition("/")[2])).record
    assert (record.format, record.settings["sources"]) == (
        "duel",
        [
            {"name": "notes/one.md", "text": "What one.md says."},
            {"name": "notes/two.txt", "text": "What two.txt says."},
            {"name": "pasted", "text": "Words."},
        ],
    )


def test_files_are_dropped_on_the_form(theatre: Theatre, page: Page) -> None:
    page.goto(f"{theatre.url}/new")
    dropped = page.evaluate_handle(
        """() => {
          const data = new DataTransfer();
          data.items.add(new File(["What it says."], "dropped.md"));
          return data;
        }"""
    )
    page.dispatch_event("[data-drop]", "dragover", {"dataTransfer": dropped})
    expect(page.locator(".drop.over")).to_have_count(1)
    page.dispatch_event("[data-drop]", "drop", {"dataTransfer": dropped})
    expect(page.get_by_label("Name of source 1")).to_have_value("dropped.md")
    expect(page.locator(".drop.over")).to_have_count(0)


def test_files_that_are_too_large_together_are_told_on_the_form_without_javascript(
    theatre: Theatre, browser: Browser, tmp_path: Path
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    (tmp_path / "large.txt").write_bytes(b"a" * 20_000_001)
    page.goto(f"{theatre.url}/new")
    page.fill("#topic", "Redis or Postgres?")
    page.set_input_files("#sources-files", tmp_path / "large.txt")
    press(page, "start")
    expect(page.locator("#sources-fault")).to_contain_text("over 20 MB together")
    context.close()


def test_a_false_quote_is_marked_and_citations_are_links_while_the_debate_goes_on(tmp_path: Path, page: Page) -> None:
    said = 'It says "nobody came to swim" [S1] and "all is well with us" [S1 p. 9].'
    replies = company()
    with playing(tmp_path, lambda request: replies(request) if request.schema else said) as theatre:
        theatre.baton.let(len(said.split()) + 2)
        sources = [{"name": "notes.md", "text": "The winter was long, and nobody came to swim."}]
        debate_id = theatre.create("duel", "Should the pool close?", max_rounds=1, sources=sources)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        expect(page.locator("#card-0 .notes")).to_contain_text("not found: “all is well with us” [S1]")
        expect(page.locator(".turn.speaking")).to_have_count(1)
        assert page.locator("#card-0 a.cite").all_inner_texts() == ["S1", "S1 p. 9"]
        page.locator("#card-0 a.cite").first.click()
        expect(page.locator("mark:target")).to_have_text("nobody came to swim")
        page.locator(".by a.turn-link").click()
        expect(page.locator("#turn-0")).to_be_in_viewport()
        theatre.baton.let_all()
        theatre.until(debate_id, Status.FINISHED)


def test_the_list_is_renewed_while_a_debate_goes_on(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(3)
    theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(theatre.url)
    expect(page.locator(".running .state")).to_have_text("live")
    theatre.baton.let_all()
    expect(page.locator(".debate .result")).to_have_text("The case for it wins, 7 : 4")


def test_the_bill_is_that_of_the_depth_which_the_browser_puts_back(theatre: Theatre, page: Page) -> None:
    page.goto(f"{theatre.url}/new?format=duel&topic=Cats")
    calls = page.locator(".bill-facts dd").nth(1)
    normal = calls.inner_text()
    page.locator("[name='duel.depth'][value=careful]").check()
    expect(calls).not_to_have_text(normal)
    careful = calls.inner_text()
    page.goto(f"{theatre.url}/models")
    page.go_back()
    expect(page.locator("[name='duel.depth'][value=careful]")).to_be_checked()
    expect(calls).to_have_text(careful)


def test_a_question_in_a_window_of_twice_the_size_scrolls_in_one_direction(theatre: Theatre, page: Page) -> None:
    debate_id = theatre.create("panel", "Redis or Postgres?", max_rounds=2)
    theatre.until(debate_id, Status.WAITING)
    page.set_viewport_size({"width": 640, "height": 450})
    page.goto(f"{theatre.url}/debates/{debate_id}")
    expect(page.locator(".dock.yours")).to_be_visible()
    page.evaluate("scrollTo(9999, 0)")
    assert page.evaluate("scrollX") == 0


def test_ways_to_a_stronger_model_stand_in_even_columns(theatre: Theatre, page: Page) -> None:
    theatre.settings.model = None
    page.goto(theatre.url)
    places = "[...document.querySelectorAll('.setup li > *')].map(each => each.getBoundingClientRect()).map(box => {})"
    heights = page.evaluate(places.format("box.height"))
    assert {*heights[::2]} == {min(heights)}, "each label is one line"
    assert len({*heights[1::2]}) == 1, "each command is one line"
    assert len({*page.evaluate(places.format("box.top"))}) == 2
    page.set_viewport_size({"width": 360, "height": 800})
    assert {*page.evaluate(places.format("box.height"))[::2]} == {min(heights)}
    assert len({*page.evaluate(places.format("box.left"))}) == 1


def test_a_chart_on_a_phone_begins_where_its_mean_is(theatre: Theatre, page: Page) -> None:
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1, judgings=2)
    theatre.until(debate_id, Status.FINISHED)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{theatre.url}/debates/{debate_id}")
    mean = page.locator(".scroll > .chart path.judged").first
    place = """mean => {
        const box = mean.closest(".scroll").getBoundingClientRect();
        return (mean.getBoundingClientRect().left - box.left) / box.width;
    }"""
    assert 0.2 < mean.evaluate(place) < 0.6


def test_ballots_are_one_line_of_the_transcript_that_opens_for_whoever_looks_for_them(
    theatre: Theatre, page: Page
) -> None:
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1, depth="careful")
    theatre.until(debate_id, Status.FINISHED)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    group = page.locator("#transcript .group").first
    turn = group.locator(".turn").first
    expect(turn).to_be_hidden()
    assert group.locator(".count-of").inner_text() == str(group.locator(".turn").count())
    page.get_by_role("button", name="Open all").click()
    expect(turn).to_be_visible()
    page.goto(f"{theatre.url}/debates/{debate_id}?again#{turn.get_attribute('id')}")
    expect(turn.locator(".body")).to_be_visible()
    page.reload()
    page.locator("#find").fill("no such words")
    expect(group).to_be_hidden()


def test_two_ticks_bring_compare_and_a_deleted_debate_comes_back_in_place(theatre: Theatre, page: Page) -> None:
    ids = [theatre.create("duel", f"Question {number}", max_rounds=1) for number in range(3)]
    for debate_id in ids:
        theatre.until(debate_id, Status.FINISHED)
    page.goto(f"{theatre.url}/?format=duel")
    ticks = [page.locator(f"[name=compare][value={debate_id}]") for debate_id in ids]
    compare = page.get_by_role("button", name="Compare")
    ticks[0].check()
    expect(compare).to_be_hidden()
    ticks[1].check()
    expect(compare).to_be_visible()
    ticks[2].check()  # in place of the first
    expect(ticks[0]).not_to_be_checked()
    compare.click()
    expect(page.locator(".versus-head a")).to_have_text(["Question 2", "Question 1"])
    page.goto(f"{theatre.url}/?format=duel")
    page.get_by_role("button", name="Delete Question 1").click()
    expect(page.locator(".debate.gone")).to_contain_text("Deleted: Question 1")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".debate .topic")).to_have_text(["Question 2", "Question 1", "Question 0"])
    assert page.url.endswith("/?format=duel")


def test_models_that_can_be_reached_are_offered(theatre: Theatre, page: Page) -> None:
    page.goto(f"{theatre.url}/new")
    expect(page.locator("#models option[value='local:smollm2']")).to_have_count(1)


# For everybody


@pytest.fixture
def scenes(theatre: Theatre) -> dict[str, str]:
    """Every kind of page there is."""
    duel = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    sources = [{"name": "notes.md", "text": "# Notes\nIt is fast.\n\f\nThe second page.\n" * 2000}]
    panel = theatre.create("panel", "Redis or Postgres?", max_rounds=1, checkpoints=False, sources=sources)
    waiting = theatre.create("panel", "Redis or Memcached?", max_rounds=2)
    idea = theatre.create("evaluation", "A bakery that bakes at night")
    answer = theatre.create("critique", "Is bread better from the day before?", max_rounds=1)
    for debate_id in (duel, panel, idea, answer):
        theatre.until(debate_id, Status.FINISHED)
    theatre.until(waiting, Status.WAITING)
    theatre.baton.let(3)
    live = theatre.create("duel", "Tea is better than coffee")
    return {
        "list": "/",
        "trash": "/?trash=1",
        "models": "/models",
        "nothing found": "/?q=nothing",
        "new duel": "/new?format=duel",
        "new panel": "/new?format=panel",
        "finished duel": f"/debates/{duel}",
        "finished panel": f"/debates/{panel}",
        "source": f"/debates/{panel}/sources/S1",
        "finished evaluation": f"/debates/{idea}",
        "finished critique": f"/debates/{answer}",
        "inspected": f"/debates/{panel}/turns/2/inspect",
        "compared": f"/compare?a={duel}&b={panel}",
        "printed": f"/debates/{panel}/print",
        "run again": f"/new?again={duel}",
        "claims": f"/debates/{idea}/claims",
        "checkpoint": f"/debates/{waiting}",
        "live": f"/debates/{live}",
        "not found": "/debates/DEB-22222222",
        "login": "/login",
    }


Fault = tuple[str, str, int, str, list[Any]]


def faults_of(page: Page, name: str) -> Iterator[Fault]:
    """What is wrong with a page, in every variant: it is the same in all of them, its style alone tells them apart."""
    page.evaluate(AXE_SCRIPT)
    for scheme, width in VARIANTS:
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(UNTIL_STYLED)
        for each in page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]:
            yield name, scheme, width, each["id"], [node["html"] for node in each["nodes"]]
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        if wider > 0:
            yield name, scheme, width, "wider than the screen", [wider]
        if broken := page.evaluate(BROKEN_WORDS):
            yield name, scheme, width, "broken words in the head of a table", broken


def test_axe_finds_nothing_in_any_state_of_a_live_debate(theatre: Theatre, page: Page) -> None:
    found: list[Fault] = []

    def look(debate_id: str, state: str, at: str) -> None:
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{theatre.url}/debates/{debate_id}")
        expect(page.locator(at).first).to_be_visible()
        found.extend(faults_of(page, state))

    approved = theatre.create("panel", "هل ينبغي أن يكون النقل مجانياً؟", max_rounds=1)
    theatre.until(approved, Status.WAITING)
    look(approved, "approval", "[value=approve]")
    theatre.baton.let(28 + 6 + 4)
    lanes = theatre.create("panel", "Redis or Postgres?", max_rounds=1)
    look(lanes, "lanes", ".lanes > .turn.side.speaking")
    theatre.do(lambda app: app.stop(lanes))
    look(lanes, "stopping", ".dock .told .dot")
    theatre.baton.let_all()
    theatre.until(lanes, Status.STOPPED)
    look(lanes, "stopped", "#fork")
    Overloaded(theatre, " AGAINST this")
    look(theatre.create("duel", "Cats are better than dogs", max_rounds=1), "retrying", ".trouble")
    page.get_by_role("button", name="Use another model for this seat").click()
    found.extend(faults_of(page, "another model"))
    assert found == []


def test_axe_finds_nothing_on_any_page_in_any_variant(theatre: Theatre, scenes: dict[str, str], page: Page) -> None:
    found: list[Fault] = []
    for name, path in scenes.items():
        page.goto(theatre.url + path)
        if name == "live":
            expect(page.locator(".turn.speaking")).to_have_count(1)
        if name.startswith("new"):
            for summary in page.locator("#new details:visible > summary").all():
                summary.click()
        found += faults_of(page, name)
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
        turn = page.locator("#turn-0")
        expect(turn).not_to_have_attribute("open", "")
        turn.locator("summary").click()
        expect(turn).to_have_attribute("open", "")
        page.get_by_role("button", name="Open all").click()
        expect(page.locator("details.turn[open]")).to_have_count(101)
        page.get_by_label("Find in the transcript").fill("judge")
        expect(page.locator("details.turn:not([hidden])")).to_have_count(1)


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
            open_fold(page)
            page.fill("#duel-max_rounds", "2")
            theatre.baton.let(5)
            page.click("button[value=start]")
            expect(page.locator(".turn.speaking")).to_have_count(1)
            page.fill("#words", group[:2000])
            with page.expect_response(re.compile("/reply")):
                page.get_by_role("button", name="Say it").click()
            theatre.baton.let_all()
            expect(page.locator("#verdict .headline")).to_be_visible()
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
        theatre.until(debate_id, Status.FINISHED)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        expect(page.locator("#verdict .headline")).to_be_visible()
        expect(page.locator(".rail-seats .who", has_text="Speed")).to_have_text(name)
        assert page.evaluate("window.executed") is None
    assert foreign == []


# The map of claims

SPEECHES = {"FOR": "The tunnel pays for itself by tolls. It saves an hour a day.", "AGAINST": "It pays nothing back."}
NOTES = (
    {"note": "n", "claims": [{"quote": "The tunnel pays for itself", "text": "The tunnel pays.", "answers": []}]},
    {
        "note": "n",
        "claims": [
            {"quote": "It saves an hour a day", "text": "It saves time.", "answers": []},
            {
                "quote": "It pays nothing back",
                "text": "It does not pay.",
                "answers": [{"claim": "C1", "how": "attacks"}],
            },
        ],
    },
)


def with_claims(request: Request) -> str:
    """A duel whose scribe notes one claim after the first round and two after the second."""
    asked = request.messages[-1].content
    if request.schema is None:
        return next(speech for side, speech in SPEECHES.items() if f" {side} this" in asked)
    if "claims" in request.schema.schema["properties"]:
        return json.dumps(NOTES["Noted so far" in asked])
    sides = [name for name in request.schema.schema["properties"] if name.startswith("score_")]
    return json.dumps({"summary": "So.", **dict.fromkeys(sides, 6), "because": ["C1"]})


def test_the_map_of_claims_grows_with_the_debate_and_opens_speeches_beside_it(page: Page, tmp_path: Path) -> None:
    with playing(tmp_path, with_claims) as theatre:
        first_round = " ".join([*SPEECHES.values(), json.dumps(NOTES[0])])
        theatre.baton.let(len(first_round.split()) + 3)
        settings = {"max_rounds": 2, "ledger": "rounds", "ballots": 0, "judgings": 1}
        debate_id = theatre.create("duel", "Should it be built?", **settings)
        page.goto(f"{theatre.url}/debates/{debate_id}/claims")
        expect(page.locator(".node")).to_have_count(1)
        theatre.baton.let_all()
        expect(page.locator(".node")).to_have_count(3)
        expect(page.locator(".link[data-to=C1]")).to_have_count(1)
        theatre.until(debate_id, Status.FINISHED)
        page.reload()
        page.locator(".node").first.focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".node").nth(1)).to_be_focused()
        page.keyboard.press("ArrowUp")
        expect(page.locator(".node").first).to_be_focused()
        page.locator(".node[data-id=C3]").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#speech")).to_contain_text("It pays nothing back.")
        marked = page.evaluate("[...CSS.highlights.get('quote')].map(String)")
        assert marked == ["It pays nothing back"]
        page.keyboard.press("Escape")
        expect(page.locator("#speech")).to_be_hidden()
        expect(page.locator(".node[data-id=C3]")).to_be_focused()
        page.get_by_role("button", name="Decisive").click()
        expect(page.locator(".node.lit")).to_have_count(2)


def test_beside_a_debate_that_goes_on_stand_its_claims_where_there_is_room(page: Page, tmp_path: Path) -> None:
    with playing(tmp_path, with_claims) as theatre:
        first_round = " ".join([*SPEECHES.values(), json.dumps(NOTES[0])])
        theatre.baton.let(len(first_round.split()) + 3)
        settings = {"max_rounds": 2, "ledger": "rounds", "ballots": 0, "judgings": 1}
        debate_id = theatre.create("duel", "Should it be built?", **settings)
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{theatre.url}/debates/{debate_id}")
        pane = page.locator("#claims-pane")
        expect(pane.locator(".node")).to_have_count(1)
        beside, speeches = pane.bounding_box(), page.locator("#transcript").bounding_box()
        assert beside
        assert speeches
        assert beside["x"] >= speeches["x"] + speeches["width"]
        page.set_viewport_size({"width": 390, "height": 800})
        expect(pane).to_be_hidden()
        expect(page.get_by_role("link", name="1 claim so far")).to_be_visible()
        page.set_viewport_size({"width": 1280, "height": 800})
        second_round = " ".join([*SPEECHES.values(), json.dumps(NOTES[1])])
        theatre.baton.let(len(second_round.split()))
        expect(pane.locator(".node")).to_have_count(3)
        expect(pane.locator(".link[data-to=C1]")).to_have_count(1)
        pane.locator(".node[data-id=C1]").click()
        expect(page).to_have_url(re.compile("#turn-0"))
        expect(page.locator("#turn-0")).to_be_in_viewport()


def test_a_long_exchange_and_a_wide_map_can_be_read(page: Page, tmp_path: Path) -> None:
    """Sixteen claims, each against the one before it, on a phone and in the HTML document."""
    chain = [
        {
            "quote": f"This is point number {at} of mine",
            "text": f"Point {at}.",
            "answers": [{"claim": at - 1, "how": "attacks"}],
        }
        for at in range(1, 17)
    ]
    said: list[str] = []

    def replies(request: Request) -> str:
        if request.schema is None:
            said.append(f"This is point number {len(said) + 1} of mine.")
            return said[-1]
        if "claims" in request.schema.schema["properties"]:
            return json.dumps({"note": "n", "claims": chain})
        return with_claims(request)

    with playing(tmp_path, replies) as theatre:
        theatre.baton.let_all()
        settings = {"max_rounds": 8, "ledger": "end", "ballots": 0, "judgings": 1, "max_total_output_tokens": 100_000}
        debate_id = theatre.create("duel", "Should it be built?", **settings)
        theatre.until(debate_id, Status.FINISHED)
        page.set_viewport_size({"width": 390, "height": 800})
        page.goto(f"{theatre.url}/debates/{debate_id}/claims")
        last = page.locator("#C16 > .text").bounding_box()
        assert last
        assert last["width"] > 250
        page.set_viewport_size({"width": 1280, "height": 800})
        page.set_content(page.request.get(f"{theatre.url}/api/debates/{debate_id}/export?as=html").text())
        box = page.locator(".map .box").first.bounding_box()
        assert box
        assert box["width"] > 220


# A debate that goes on


class Overloaded:
    """A model that is overloaded for whoever's instruction says `words`, until it is told otherwise."""

    def __init__(self, theatre: Theatre, words: str) -> None:
        self._complete = theatre.model.complete
        self._words = words
        self.is_down = True
        theatre.model.complete = self  # type: ignore[method-assign, assignment]

    async def __call__(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        if self.is_down and request.model == "model" and self._words in request.messages[-1].content:
            raise RateLimited("acme: overloaded (529)", retry_after=60.0)
        return await self._complete(request, on_text)


def test_trouble_stands_in_its_lane_and_is_ended_by_hand(theatre: Theatre, page: Page) -> None:
    model = Overloaded(theatre, " AGAINST this")
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    trouble = page.locator(".turn.against.waiting-turn .trouble")
    expect(trouble).to_contain_text(re.compile(r"acme: overloaded \(529\)Trying again in \d\d s, attempt 2 of 6\."))
    expect(page.locator("#retrying")).to_have_text("1 retrying")
    page.reload()
    expect(trouble).to_contain_text("attempt 2 of 6")
    model.is_down = False
    page.get_by_role("button", name="Try now").click()
    expect(page.locator("#verdict .headline")).to_be_visible()


def test_a_debate_that_waits_for_a_provider_which_another_has_overloaded_says_so(theatre: Theatre, page: Page) -> None:
    model = Overloaded(theatre, " AGAINST this")
    refused = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{refused}")
    expect(page.locator(".trouble")).to_contain_text("attempt 2 of 6")
    waiting = theatre.create("duel", "Dogs are better than cats", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{waiting}")
    told = re.compile(r"acme: overloaded \(529\)It is asked in \d\d s, attempt 1 of 6\.")
    expect(page.locator(".turn.for.waiting-turn .trouble")).to_contain_text(told)
    model.is_down = False
    page.get_by_role("button", name="Try now").click()
    expect(page.locator("#verdict .headline")).to_be_visible()


def test_trouble_of_a_check_opens_its_fold_until_it_is_over(theatre: Theatre, page: Page) -> None:
    model = Overloaded(theatre, "You are now the scribe")
    debate_id = theatre.create("panel", "Redis or Postgres?", max_rounds=1, depth="normal")
    page.goto(f"{theatre.url}/debates/{debate_id}")
    checks = page.locator(".checks").first
    expect(checks.locator(".trouble:visible")).to_have_count(1)
    model.is_down = False
    checks.get_by_role("button", name="Try now").click()
    expect(checks.locator(".turn").first).to_be_hidden()
    theatre.do(lambda app: app.stop(debate_id))


def test_who_gives_a_seat_another_model_is_told_that_it_waits_for_those_beside_it(theatre: Theatre, page: Page) -> None:
    model = Overloaded(theatre, "settled.\n</turn>\n\nYou are")
    debate_id = theatre.create("panel", "Redis or Postgres?", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    expect(page.locator("#retrying")).to_have_text("2 retrying")
    page.get_by_role("button", name="Use another model for this seat").first.click()
    page.keyboard.type("scripted:other")
    page.keyboard.press("Enter")
    expect(page.locator(".lanes .trouble").first).to_have_text(re.compile("^scripted:other takes this seat"))
    expect(page.locator("#retrying")).to_have_text("1 retrying")
    model.is_down = False
    page.get_by_role("button", name="Try now").click()
    expect(page.locator(".trouble")).to_have_count(0)
    theatre.do(lambda app: app.stop(debate_id))


def test_a_debate_in_trouble_says_so_in_the_list(theatre: Theatre, page: Page) -> None:
    Overloaded(theatre, " AGAINST this")
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(theatre.url)
    told = re.compile(r"^retrying Debater B: acme: overloaded \(529\), attempt 2 of 6$")
    expect(page.locator(".running .now").last).to_have_text(told)
    theatre.do(lambda app: app.stop(debate_id))


def test_a_seat_in_trouble_gets_another_model_and_the_debate_goes_on(theatre: Theatre, page: Page) -> None:
    Overloaded(theatre, " AGAINST this")
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    page.get_by_role("button", name="Use another model for this seat").click()
    page.keyboard.type("nobody:knows")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("nobody")
    page.get_by_role("button", name="Use another model for this seat").or_(page.locator(".trouble form")).click()
    page.locator(".trouble [name=model]").fill("scripted:other")
    page.keyboard.press("Enter")
    expect(page.locator("#verdict .headline")).to_be_visible()
    turns = theatre.do(lambda app: app.load(debate_id)).turns
    assert [(turn.seat, turn.model) for turn in turns][1:3] == [("human", None), ("debater_b", "scripted:other")]


def test_who_is_asked_sees_where_everybody_stands(tmp_path: Path, page: Page) -> None:
    def stands(call: Any) -> dict[str, Any]:
        return {"content": f"{call.name} answers.", "responding_to": [], "recommendation": f"What {call.name} wants"}

    with playing(tmp_path, company(rebuttal=stands)) as theatre:
        debate_id = theatre.create("panel", "Redis or Postgres?", max_rounds=2)
        theatre.until(debate_id, Status.WAITING)
        page.goto(f"{theatre.url}/debates/{debate_id}")
        names = ("Performance Advocate", "Operational Simplicity")
        expect(page.locator(".divide li")).to_have_text([f"{name}What {name} wants" for name in names])


NOTIFICATIONS = """
window.told = [];
window.asked = 0;
window.Notification = class {
  static permission = "default";
  static async requestPermission() { asked += 1; return this.permission = "granted"; }
  constructor(title, {body}) { told.push([title, body]); }
};
"""


def test_the_browser_tells_who_asked_for_it_that_they_are_needed(theatre: Theatre, page: Page) -> None:
    page.add_init_script(NOTIFICATIONS)
    theatre.baton.let(3)
    debate_id = theatre.create("panel", "Redis or Postgres?", max_rounds=2)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    expect(page.locator("#waiting-count")).to_have_count(0)
    button = page.get_by_role("button", name="Tell me when I am needed")
    expect(button).to_be_visible()
    assert page.evaluate("asked") == 0
    button.click()
    expect(page.get_by_role("button", name="You are told when you are needed", pressed=True)).to_be_visible()
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    theatre.baton.let_all()
    expect(page).to_have_title("Your turn · Redis or Postgres? · moot")
    expect(page.locator("#waiting-count")).to_have_text("1")
    assert page.evaluate("told") == [["Your turn", "Redis or Postgres?"]]
    page.get_by_role("button", name="You are told when you are needed").click()
    expect(button).to_be_visible()
    page.click("button[value=approve], button[value=continue]")
    expect(page.locator("#waiting-count")).to_have_count(0)


def test_a_turn_of_a_debate_that_rests_is_inspected_copied_and_forked_from(
    theatre: Theatre, context: BrowserContext, page: Page
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    theatre.baton.let(6 + 3)
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=2)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    expect(page.locator("#card-1.speaking")).to_have_count(1)
    expect(page.locator("#card-0 [data-inspect]")).to_have_count(1)  # the turn itself in place of what was streamed
    page.keyboard.press("j")
    page.keyboard.press("i")
    expect(page.locator("#inspector.open")).to_contain_text("What it was sent")
    page.keyboard.press("Escape")
    expect(page.locator("#card-0 [data-inspect]")).to_be_focused()
    page.locator("#card-0").get_by_role("button", name="Copy").click()
    expect(page.locator(".toast")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#turn-0").inner_text()
    theatre.do(lambda app: app.stop(debate_id))
    theatre.baton.let_all()
    page.locator("#card-0").get_by_role("link", name="Fork from here").click()
    expect(page.get_by_label("Turns to begin with")).to_have_value("1")
    page.get_by_role("button", name="Fork", exact=True).click()
    expect(page.locator("#verdict .headline")).to_be_visible()
    assert debate_id not in page.url


def test_two_sides_stand_in_columns_by_round_whoever_begins(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(6 * 3 + 2)
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=2, stance_a="con")
    page.goto(f"{theatre.url}/debates/{debate_id}")
    expect(page.locator("#card-3.speaking.for")).to_have_count(1)
    boxes = [page.locator(f"#card-{at}").bounding_box() for at in range(4)]
    against_1, for_1, against_2, for_2 = [(box["x"], box["y"]) for box in boxes if box]
    assert for_1[1] == against_1[1] < for_2[1] == against_2[1]
    assert for_1[0] == for_2[0] < against_1[0] == against_2[0]
    theatre.baton.let_all()
    expect(page.locator("#verdict .headline")).to_be_visible()


def test_who_argues_keeps_a_column_in_every_round_also_one_after_the_other(theatre: Theatre, page: Page) -> None:
    debate_id = theatre.create("panel", "Redis or Postgres?", max_rounds=2)
    theatre.until(debate_id, Status.WAITING)
    page.goto(f"{theatre.url}/debates/{debate_id}")

    def places() -> list[tuple[float, float]]:
        boxes = [turn.bounding_box() for turn in page.locator("#part-round-1 .turn.side").all()]
        return [(box["x"], box["y"]) for box in boxes if box]

    fast, clear, fast_again, clear_again = places()
    assert (fast[0], clear[0]) == (fast_again[0], clear_again[0])
    assert fast[1] == clear[1] < fast_again[1] == clear_again[1]
    theatre.baton.let(5 + 6 + 2 * 28 + 3)
    page.click("button[value=continue]")
    rebuttal = page.locator("#part-round-2 .seated").last.locator("[data-lane='1'].speaking")
    expect(rebuttal).to_have_count(1)
    theatre.baton.let_all()
    page.click("button[value=approve]")
    expect(page.locator("#verdict .headline")).to_be_visible()


TOLD = {"Debater … speaking", "Debater … spoken", "Judge … speaking", "Judge … spoken"}


def test_readers_are_told_who_speaks_who_has_spoken_and_how_it_ends(theatre: Theatre, page: Page) -> None:
    theatre.baton.let(3)
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    expect(page.locator(".turn.speaking")).to_have_count(1)
    page.focus("#words")
    page.keyboard.type("I write, so I stay")
    theatre.baton.let_all()
    expect(page.locator("#to-verdict")).to_be_visible()
    expect(page.locator("#announcer")).to_have_text("Decided. The verdict is ready.")
    told = page.evaluate("announced")
    assert (told[0], told[-1]) == ("Debater A is speaking", "Decided. The verdict is ready.")
    assert {re.sub(r" .* ", " … ", text) for text in told[:-1]} == TOLD
    expect(page.locator("#words")).to_have_value("I write, so I stay")


def test_readers_are_told_the_same_where_the_turns_are_there_before_their_events(theatre: Theatre, page: Page) -> None:
    page.add_init_script(LATE)
    theatre.baton.let(3)
    debate_id = theatre.create("duel", "Cats are better than dogs", max_rounds=1)
    page.goto(f"{theatre.url}/debates/{debate_id}")
    for position in range(3):
        expect(page.locator(f"#card-{position}.speaking")).to_have_count(1)
        theatre.baton.let(6)  # a speech has six words
    page.focus("#words")
    page.keyboard.type("I write, so I stay")
    theatre.baton.let_all()
    theatre.until(debate_id, Status.FINISHED)
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#announcer")).to_have_text("Decided. The verdict is ready.")
    assert {re.sub(r" .* ", " … ", text) for text in page.evaluate("announced")[:-1]} == TOLD


# The whole way


class Hand:
    """Somebody with a mouse or a finger."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, what: Locator) -> None:
        what.click()

    def write(self, what: Locator, words: str) -> None:
        self.press(what)
        self.page.keyboard.type(words)


class Keys(Hand):
    """Somebody with a keyboard alone: what Tab does not reach is not there for them."""

    MOST = 150
    """Presses of Tab until something counts as out of reach."""

    def press(self, what: Locator) -> None:
        self._reach(what)
        self.page.keyboard.press("Enter")

    def write(self, what: Locator, words: str) -> None:
        self._reach(what)
        self.page.keyboard.type(words)

    def _reach(self, what: Locator) -> None:
        expect(what).to_be_visible()
        for _ in range(self.MOST):
            if what.evaluate("element => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        pytest.fail(f"Tab does not reach {what}")


@pytest.mark.parametrize(
    ("width", "kind"), [(1280, Hand), (390, Hand), (1280, Keys)], ids=["desktop", "phone", "keyboard"]
)
def test_from_a_first_visit_to_two_decisions_side_by_side(
    theatre: Theatre, page: Page, width: int, kind: type[Hand]
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    hand = kind(page)
    page.goto(theatre.url)
    expect(page.locator(".runs-on")).to_contain_text("Runs on")
    hand.press(page.get_by_role("button", name="Watch an example"))
    expect(page.locator(".recorded")).to_contain_text("A recording of a large model")
    expect(page.locator(".turn .prose").first).to_contain_text(re.compile(r"\w+ \w+"))
    hand.press(page.get_by_role("link", name="Debates"))
    expect(page.locator(".topic")).to_have_count(1)
    hand.press(page.get_by_role("link", name="New debate" if width > 400 else "New"))
    hand.write(page.locator("#topic"), "Redis or Postgres?")
    hand.press(page.get_by_role("button", name=re.compile("^Start")))
    expect(page.locator("#ask-title")).to_be_focused()
    hand.write(page.locator("#words"), "Mind the cost.")
    hand.press(page.get_by_role("button", name="Add guidance"))
    expect(page.locator("#transcript .turn.you")).to_contain_text("Mind the cost.")
    expect(page.locator("#ask-title")).to_contain_text("Round 2 is over")
    hand.press(page.get_by_role("button", name="End & synthesize"))
    hand.press(page.get_by_role("button", name="Approve"))
    expect(page.locator("#verdict")).to_be_focused()
    expect(page.locator("#verdict .headline")).to_have_text("Use Redis")
    expect(page.locator("#verdict")).to_be_in_viewport()
    decided = page.url.split("#")[0]
    hand.press(page.get_by_role("button", name="Create an issue"))
    expect(page.locator("#workflow summary")).to_have_text(re.compile("^WFL-"))
    synthesis = page.locator("details.turn", has=page.locator(".kind", has_text="synthesis"))
    hand.press(synthesis.locator("summary"))
    hand.press(synthesis.get_by_role("link", name="Fork from here"))
    hand.press(page.get_by_role("button", name="Fork", exact=True))
    hand.press(page.get_by_role("button", name="Approve"))
    expect(page.locator("#verdict")).to_be_focused()
    assert not page.url.startswith(decided)
    hand.press(page.get_by_role("link", name="Compare"))
    hand.press(page.locator(".choices a").first)
    expect(page.locator(".versus-head h2")).to_have_count(2)
    assert any(decided.rpartition("/")[2] in head for head in page.locator(".versus-head").all_inner_texts())
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
