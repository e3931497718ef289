"""Names beside what people say and tick: given by a trusted proxy, believed from nobody else, stored and exported."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from live import Live, serving, simple_app
from starlette.requests import HTTPConnection

from moot.errors import InvalidInput
from moot.settings import AppSettings, load
from moot.web.who import who_asks
from stage import SYNTHESIS, Panelists

HEADER = "X-Forwarded-User"
TASKS = ["Measure the cache.", "Decide by March."]
PROXIED = {"user_header": HEADER, "trusted_proxies": "10.0.0.0/8, ::1"}


def settings() -> AppSettings:
    return load(**PROXIED)


def asked(client: str | None, *names: bytes) -> HTTPConnection:
    headers = [(HEADER.lower().encode(), name) for name in names]
    return HTTPConnection({"type": "http", "headers": headers, "client": client and (client, 1234)})


@pytest.mark.parametrize(
    ("client", "names", "who"),
    [
        ("10.1.2.3", (b"anna",), "anna"),
        ("::1", ("Bülent Öz".encode(),), "Bülent Öz"),
        ("::ffff:10.1.2.3", (b"J\xf6rg",), "Jörg"),
        ("11.1.2.3", (b"anna",), ""),
        ("127.0.0.1", (b"anna",), ""),
        (None, (b"anna",), ""),
        ("10.1.2.3", (b"mallory", b"anna"), ""),
        ("10.1.2.3", (), ""),
    ],
)
def test_a_name_counts_from_the_proxy_alone_and_only_when_it_is_the_only_one(
    client: str | None, names: tuple[bytes, ...], who: str
) -> None:
    assert who_asks(asked(client, *names), settings()) == who
    assert who_asks(asked(client, *names), load()) == ""


@pytest.mark.parametrize(
    "wrong", [{"user_header": HEADER}, {"trusted_proxies": "10.0.0.1"}, {**PROXIED, "trusted_proxies": "the proxy"}]
)
def test_a_header_without_its_proxy_is_refused_and_so_is_what_is_no_address(wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=r"set together|trusted_proxies"):
        load(**wrong)


@pytest.fixture
async def panel() -> AsyncIterator[Live]:
    app = simple_app(replies=Panelists(synthesis={**SYNTHESIS, "tasks": TASKS}))
    proxied = load(**{**PROXIED, "trusted_proxies": "127.0.0.1"})
    app.settings.user_header, app.settings.trusted_proxies = proxied.user_header, proxied.trusted_proxies
    async with serving(app) as live:
        yield live


async def approved(live: Live, headers: dict[str, str]) -> str:
    debate_id = await live.create("Redis?", "panel", max_rounds=1)
    await live.ended(debate_id)
    await live.post(f"/api/debates/{debate_id}/reply", {"action": "approve"}, headers=headers)
    assert (await live.ended(debate_id))["type"] == "debate_finished"
    return debate_id


async def test_approvals_and_ticks_carry_the_name_that_the_proxy_gives(panel: Live) -> None:
    anna = {HEADER: " Anna\tBerg "}
    debate_id = await approved(panel, {**anna, "X-Forwarded-For": "203.0.113.9"})
    whole = (await panel.get(f"/api/debates/{debate_id}")).body
    assert [(turn["title"], turn["data"]) for turn in whole["turns"] if turn["seat"] == "human"] == [
        ("Anna Berg", {"action": "approve", "who": "Anna Berg"})
    ]
    assert whole["outcome"]["approved_by"] == "Anna Berg"
    assert (whole["next_steps"], whole["ticks"]) == (TASKS, [])

    url = f"/api/debates/{debate_id}/next-steps"
    ticked = await panel.ask("PUT", f"{url}/1", {"done": True}, headers=anna)
    assert (ticked.status, ticked.body) == (200, {"step": 1, "done": True, "who": "Anna Berg", "at": ticked.body["at"]})
    text = (await panel.get(f"/api/debates/{debate_id}/export?as=md")).body
    assert f"- [ ] {TASKS[0]}\n- [x] {TASKS[1]} (done, Anna Berg, {ticked.body['at'][:10]})\n" in text
    assert "\ndecided_by: Anna Berg\n" in text
    trace = (await panel.get(f"/api/debates/{debate_id}/export?as=json")).body
    assert [(each["step"], each["done"], each["who"]) for each in trace["ticks"]] == [(1, True, "Anna Berg")]
    issue = await panel.post(f"/api/debates/{debate_id}/workflow")
    assert f"- [ ] {TASKS[0]}\n- [x] {TASKS[1]} (done, Anna Berg" in issue.body["body"]

    await panel.ask("PUT", f"{url}/1", {"done": False})
    assert f"- [ ] {TASKS[1]}\n" in (await panel.get(f"/api/debates/{debate_id}/export?as=md")).body


async def test_only_next_steps_that_there_are_can_be_ticked(panel: Live) -> None:
    unfinished = await panel.create("Redis?", "panel", start=False)
    refused = await panel.ask("PUT", f"/api/debates/{unfinished}/next-steps/0", {"done": True})
    told = f"{unfinished} has no outcome yet, so there are no next steps to tick"
    assert refused.problem == (409, "wrong_status", told)
    debate_id = await approved(panel, {})
    refused = await panel.ask("PUT", f"/api/debates/{debate_id}/next-steps/2", {"done": True})
    assert refused.problem == (400, "invalid_input", f"{debate_id} has no next step 2; tick one from 0 to 1")
    assert "who" not in (await panel.app.load(debate_id)).turns[-1].data  # type: ignore[operator]
