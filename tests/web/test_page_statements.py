"""What a page asks of the database: a list is one statement, and a debate is loaded once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from markup import Reader
from theatre import company

from moot.core.debate import Status
from moot.testing import MemoryStore, ScriptedModel, scripted_app
from moot.web.server import build_app
from moot.web.stream.hub import Hub

PARTS = 2
"""What a page of the list asks for: its debates, and how many there are of each kind."""


class Counted(MemoryStore):
    """Tells which tables were read."""

    @contextmanager
    def counting(self) -> Iterator[list[str]]:
        read: list[str] = []
        connection = self.database.connection  # type: ignore[attr-defined]
        connection.set_trace_callback(lambda sql: read.extend(re.findall(r"^(?:SELECT|UPDATE|INSERT)", sql, re.M)[:1]))
        yield read
        connection.set_trace_callback(None)


async def test_pages_read_a_list_with_one_statement_and_a_debate_once() -> None:
    store = Counted()
    app = scripted_app(ScriptedModel(company()), store)
    reader = Reader(build_app(app, Hub(app.follow)))
    ids = [(await app.create("duel", f"Cats {number}?", {"max_rounds": 1})).id for number in range(5)]
    for debate_id in ids[:3]:
        assert (await app.run(debate_id, lambda event: None)).status is Status.FINISHED
        await app.rate(debate_id, 4)

    await reader.open("/")  # the price of a usual debate is reckoned once
    with store.counting() as statements:
        page = await reader.open("/")
    assert len(page.all("li", class_="debate")) == 5
    assert len(statements) == PARTS, "no debate at rest is loaded"
    for asked in ("format=duel", "status=finished", "trash=1"):
        with store.counting() as statements:
            await reader.open(f"/?{asked}")
        assert len(statements) == PARTS, asked
    with store.counting() as statements:
        await reader.open("/?q=cats")
    assert len(statements) == PARTS + 1, "what words are found in is counted by itself"

    with store.counting() as whole:
        await store.load(ids[0])
    for path in (f"/debates/{ids[0]}", f"/debates/{ids[0]}/parts", f"/api/debates/{ids[0]}"):
        with store.counting() as statements:
            assert (await reader.client.get(path)).status_code == 200
        told = 2 if path == f"/debates/{ids[0]}" else 1 if path.endswith("/parts") else 0
        assert len(statements) == len(whole) + told, "a page tells how many wait, and what became of the debate"

    with store.counting() as statements:
        assert len((await reader.client.get("/api/debates")).json()["debates"]) == 5
    assert len(statements) == 1
    await reader.client.aclose()
