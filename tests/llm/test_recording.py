"""Recordings of model calls: what is in the file, and that a replay is the call over again."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from badserver import BadServer, said, sends, whole
from calls import HELLO, KEY, REQUEST, WITH_SCHEMA, client_of
from hypothesis import given
from hypothesis import strategies as st

from moot.app import App
from moot.core.debate import Turn, Usage
from moot.core.events import TurnChunk
from moot.core.prompts import Prompts
from moot.errors import (
    BadReply,
    InvalidInput,
    ModelError,
    ModelTimeout,
    NotFound,
    NotRecorded,
    RateLimited,
    ReplyCut,
    ServerFault,
    Unreachable,
)
from moot.llm.client import Client, Completion, Message, Request, Schema
from moot.llm.models import Models
from moot.llm.recording import Recorder, Recording, difference
from moot.players.model import retry_delay
from moot.testing import MemoryStore, ScriptedModel, recorded, scripted_app
from stage import sensible
from virtualtime import now, run

HEADER = b'{"moot_recording":1}\n'


class Clock:
    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += seconds


class Told:
    """What a call gave: its chunks as they came, then its completion or its error."""

    def __init__(self) -> None:
        self.chunks: list[str] = []
        self.end: Completion | tuple[type[ModelError], str, dict[str, object]] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Told) and vars(self) == vars(other)


async def call(client: Client, request: Request = REQUEST) -> Told:
    told = Told()
    try:
        told.end = await client.complete(request, told.chunks.append)
    except ModelError as error:
        told.end = (type(error), str(error), vars(error))
    return told


def ask(text: str, **more: Any) -> Request:
    return replace(REQUEST, messages=(Message("system", "Be brief."), Message("user", text)), **more)


async def record(path: Path, model: Client, *requests: Request) -> list[Told]:
    client = Recorder(path).wrap("acme", model)
    return [await call(client, request) for request in requests]


# --- the file ---


async def test_a_recording_is_a_header_and_a_line_for_each_call(tmp_path: Path) -> None:
    clock, path = Clock(), tmp_path / "new" / "calls.jsonl"
    faults = {2: RateLimited("too many", retry_after=2.5)}
    model = ScriptedModel(["Yes, indeed", "No way at all"], faults=faults, pace=lambda: clock.sleep(0.25))
    client = Recorder(path, now=clock).wrap("acme", model)
    await call(client, WITH_SCHEMA)
    await call(client)
    asked = {
        "model": "m1",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}],
        "max_tokens": 50,
        "temperature": 0.5,
        "think": False,
    }
    assert [json.loads(line) for line in path.read_bytes().splitlines()] == [
        {"moot_recording": 1},
        {
            "provider": "acme",
            "request": {**asked, "schema": {"name": "verdict", "schema": {"type": "object"}}},
            "chunks": [[250.0, "Yes, "], [500.0, "indeed"]],
            "milliseconds": 500.0,
            "completion": {
                "finish_reason": "stop",
                "usage": asdict(Usage(input_tokens=2, output_tokens=2, calls=1)),
                "reasoning": "",
                "dropped": [],
                "text": None,
            },
            "error": None,
        },
        {
            "provider": "acme",
            "request": {**asked, "schema": None},
            "chunks": [[250.0, "No "], [500.0, "way "]],
            "milliseconds": 500.0,
            "completion": None,
            "error": {
                "code": "rate_limited",
                "message": "too many",
                "details": {"partial": "", "retry_after": 2.5},
            },
        },
    ]


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text("precious")
    with pytest.raises(InvalidInput) as raised:
        Recorder(path)
    assert str(raised.value) == f"{path} exists and is not overwritten: replay it, or delete it to record anew"
    assert path.read_text() == "precious"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput) as raised:
        Recorder(tmp_path / "file" / "calls.jsonl")
    assert str(raised.value).startswith(f"cannot record to {tmp_path / 'file' / 'calls.jsonl'}: ")


async def test_a_cancelled_call_is_not_recorded(tmp_path: Path) -> None:
    path, speaking = tmp_path / "calls.jsonl", asyncio.Event()

    async def hang() -> None:
        speaking.set()
        await asyncio.Event().wait()

    client = Recorder(path).wrap("acme", ScriptedModel(["Yes"], pace=hang))
    calling = asyncio.create_task(call(client))
    await speaking.wait()
    calling.cancel()
    await asyncio.wait([calling])
    assert path.read_bytes() == HEADER


async def test_parallel_calls_do_not_mix(tmp_path: Path) -> None:
    async def let_others_speak() -> None:
        await asyncio.sleep(0)

    path = tmp_path / "calls.jsonl"
    client = Recorder(path).wrap("acme", ScriptedModel(lambda asked: f"to {asked.model} of all", pace=let_others_speak))
    requests = [replace(REQUEST, model=f"m{number}") for number in range(20)]
    lived = await asyncio.gather(*(call(client, request) for request in requests))
    replayed = Recording.load(path).client("acme")
    backwards = [await call(replayed, request) for request in reversed(requests)]
    assert backwards[::-1] == lived
    assert lived[7].chunks == ["to ", "m7 ", "of ", "all"]


async def test_a_key_never_gets_into_a_recording(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    path = tmp_path / "calls.jsonl"
    echo = sends(whole("400 Bad Request", {"error": {"message": f"you sent Bearer {KEY}"}}))
    async with BadServer(sends(said("Hel", "lo")), echo) as server:
        provider = server.url.replace("//", f"//user:{KEY}@") + f"?key={KEY}"
        client = Recorder(path).wrap(provider, client_of(session, server.url))
        lived = [await call(client), await call(client)]
    assert KEY in server.requests[0].headers["authorization"]
    assert KEY.encode() not in path.read_bytes()
    replayed = Recording.load(path).client(provider)
    assert [await call(replayed), await call(replayed)] == lived
    assert lived[0].end == HELLO


# --- a replay ---

TEXTS = st.text(max_size=8)
REQUESTS = st.builds(
    Request,
    model=st.sampled_from(["m1", "m2"]),
    messages=st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXTS), max_size=2).map(
        tuple
    ),
    max_tokens=st.integers(1, 3),
    temperature=st.sampled_from([0, 0.0, 0.7, 1]),
    schema=st.none() | st.builds(Schema, TEXTS, st.dictionaries(TEXTS, st.integers(0, 2) | st.floats(0, 1) | TEXTS)),
)
COUNTS = ["input_tokens", "cached_tokens", "cache_written_tokens", "output_tokens", "reasoning_tokens", "calls"]
USAGES = st.builds(Usage, **dict.fromkeys(COUNTS, st.integers(0, 10**9)), estimated=st.booleans())
COMPLETIONS = st.builds(
    Completion,
    text=TEXTS,
    finish_reason=st.sampled_from(["stop", "length"]),
    usage=USAGES,
    reasoning=TEXTS,
    dropped=st.just(("schema",)),
)
SECONDS = st.none() | st.floats(0, 1e6)
FAULTS = st.one_of(
    st.builds(RateLimited, TEXTS, retry_after=SECONDS),
    st.builds(ServerFault, TEXTS, partial=TEXTS, retry_after=SECONDS),
    st.builds(Unreachable, TEXTS),
    *(st.builds(error, TEXTS, partial=TEXTS) for error in (ModelError, ModelTimeout, ReplyCut, BadReply, NotRecorded)),
)


class Improvised:
    """A client that does as it is told, however odd."""

    def __init__(self, ends: list[tuple[list[str], Completion | ModelError]]) -> None:
        self._ends = iter(ends)

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        chunks, end = next(self._ends)
        for text in chunks:
            on_text(text)
        if isinstance(end, ModelError):
            raise end
        return end


@given(
    st.lists(st.tuples(REQUESTS, st.tuples(st.lists(TEXTS, max_size=3), COMPLETIONS | FAULTS)), max_size=6),
)
def test_a_replay_gives_every_call_over_again_whatever_it_was(
    tmp_path_factory: pytest.TempPathFactory, calls: list[Any]
) -> None:
    async def main() -> None:
        path = tmp_path_factory.mktemp("calls") / "calls.jsonl"
        lived = await record(path, Improvised([end for _, end in calls]), *(request for request, _ in calls))
        recording = Recording.load(path)
        client = recording.client("acme")
        order = sorted(range(len(calls)), key=lambda at: repr(calls[at][0].messages))
        assert [await call(client, calls[at][0]) for at in order] == [lived[at] for at in order]
        assert recording.unused() == ()

    asyncio.run(main())


async def test_identical_requests_are_answered_in_recorded_order(tmp_path: Path) -> None:
    faults = {1: ServerFault("failed (503)", retry_after=1.0)}
    lived = await record(tmp_path / "calls.jsonl", ScriptedModel(["a", "b", "c"], faults=faults), *[REQUEST] * 3)
    client = Recording.load(tmp_path / "calls.jsonl").client("acme")
    assert [await call(client) for _ in range(3)] == lived
    assert [told.chunks for told in lived] == [[], ["b"], ["c"]]


async def test_providers_are_told_apart(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "calls.jsonl")
    await call(recorder.wrap("acme", ScriptedModel(["from acme"])))
    await call(recorder.wrap("bolt", ScriptedModel(["from bolt"])))
    recording = Recording.load(tmp_path / "calls.jsonl")
    assert (await call(recording.client("bolt"))).chunks == ["from ", "bolt"]
    assert [unused.provider for unused in recording.unused()] == ["acme"]
    assert (await call(recording.client("cern"))).end == (
        NotRecorded,
        f"not in {tmp_path / 'calls.jsonl'}: it has no calls of cern, only of acme, bolt",
        {"partial": ""},
    )


def test_with_timing_a_replay_takes_as_long_as_the_call_did(tmp_path: Path) -> None:
    path, clock = tmp_path / "calls.jsonl", Clock()
    model = ScriptedModel(["one two three"], pace=lambda: clock.sleep(1.5))

    async def replayed() -> list[tuple[float, str]]:
        heard: list[tuple[float, str]] = []
        client = Recording.load(path, timing=True, now=now).client("acme")
        await client.complete(REQUEST, lambda text: heard.append((now(), text)))
        return heard

    asyncio.run(call(Recorder(path, now=clock).wrap("acme", model)))
    assert run(replayed()) == [(1.5, "one "), (3.0, "two "), (4.5, "three")]


def test_a_replay_can_be_slower_or_faster_than_the_call_was(tmp_path: Path) -> None:
    path, clock = tmp_path / "calls.jsonl", Clock()
    model = ScriptedModel(["one two"], pace=lambda: clock.sleep(1.5))

    async def replayed(speed: float) -> list[float]:
        heard: list[float] = []
        client = Recording.load(path, timing=True, speed=speed, now=now).client("acme")
        await client.complete(REQUEST, lambda _: heard.append(now()))
        return heard

    asyncio.run(call(Recorder(path, now=clock).wrap("acme", model)))
    assert run(replayed(0.5)) == [3.0, 6.0]
    assert run(replayed(3)) == [0.5, 1.0]
    with pytest.raises(InvalidInput, match="0 is no speed: 1 is as it was recorded"):
        Recording.load(path, timing=True, speed=0)


def test_the_pauses_of_a_replay_are_bounded(tmp_path: Path) -> None:
    path, clock = tmp_path / "calls.jsonl", Clock()
    pauses = iter([1e9, 5.0, -1e9, *[100.0] * 20])
    model = ScriptedModel([" ".join(["word"] * 23)], pace=lambda: clock.sleep(next(pauses)))

    async def replayed() -> list[float]:
        heard: list[float] = []
        await Recording.load(path, timing=True, now=now).client("acme").complete(REQUEST, lambda _: heard.append(now()))
        return heard

    asyncio.run(call(Recorder(path, now=clock).wrap("acme", model)))
    assert run(replayed()) == [60.0, 65.0, 65.0, *(125.0 + 60 * number for number in range(8)), *[600.0] * 12]


def test_a_replay_that_is_cancelled_can_be_asked_for_again(tmp_path: Path) -> None:
    path, clock = tmp_path / "calls.jsonl", Clock()
    asyncio.run(call(Recorder(path, now=clock).wrap("acme", ScriptedModel(["Yes"], pace=lambda: clock.sleep(9)))))

    async def main() -> None:
        client = Recording.load(path, timing=True, now=now).client("acme")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await call(client)
        assert (await call(client)).chunks == ["Yes"]

    run(main())


# --- what is not in it ---


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (
            ask("Why do cats, of all animals, purr when they are sleeping?"),
            "message 2 differs from the closest recorded call at character 45: "
            "'…als, purr when they are sleeping?', recorded: '…als, purr when they sleep?'",
        ),
        (
            ask("Why do cats, of all animals, purr when they sleep?", model="m2"),
            "model differs from the closest recorded call at character 2: 'm2', recorded: 'm1'",
        ),
        (
            ask("Why do cats, of all animals, purr when they sleep?", max_tokens=500),
            "max_tokens differs from the closest recorded call at character 3: '500', recorded: '50'",
        ),
        (
            ask("Why do cats, of all animals, purr when they sleep?", temperature=1),
            "temperature differs from the closest recorded call at character 1: '1.0', recorded: '0.5'",
        ),
        (
            ask("Why do cats, of all animals, purr when they sleep?", schema=Schema("ballot", {"type": "object"})),
            "schema differs from the closest recorded call at character 1: "
            '\'{"name":"ballot","sc…\', recorded: \'null\'',
        ),
        (
            replace(REQUEST, messages=REQUEST.messages[:1]),
            "the role of message 2 of the closest recorded call is missing: 'user'",
        ),
        (
            replace(REQUEST, messages=(*ask("Dogs?\n\nWhy?").messages, Message("assistant", "So"))),
            "the role of message 3 is not in the closest recorded call: 'assistant'",
        ),
        (
            replace(REQUEST, messages=(Message("system", "Be brief."), Message("assistant", "Dogs?\n\nWhy?"))),
            "the role of message 2 differs from the closest recorded call at character 1: "
            "'assistant', recorded: 'user'",
        ),
        (ask("Played?"), "this call was recorded 1 times and is made once more"),
    ],
)
async def test_a_call_that_was_not_recorded_says_where_it_differs(tmp_path: Path, asked: Request, why: str) -> None:
    path = tmp_path / "calls.jsonl"
    cats = ask("Why do cats, of all animals, purr when they sleep?")
    await record(path, ScriptedModel(lambda request: "Yes"), ask("Played?"), ask("Dogs?\n\nWhy?"), cats)
    client = Recording.load(path).client("acme")
    await call(client, ask("Played?"))
    with pytest.raises(NotRecorded) as raised:
        await client.complete(asked, lambda text: None)
    assert str(raised.value) == f"not in {path}: {why}"
    assert retry_delay(raised.value, 1, 0.0) is None


async def test_a_call_after_the_last_says_that_there_are_no_more(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    await record(path, ScriptedModel(["Yes"]), REQUEST)
    client = Recording.load(path).client("acme")
    await call(client)
    with pytest.raises(NotRecorded) as raised:
        await client.complete(ask("More?"), lambda text: None)
    assert str(raised.value) == f"not in {path}: all 1 calls of acme have been played"


@given(REQUESTS, REQUESTS)
def test_there_is_a_difference_exactly_when_requests_differ_and_it_is_one_line(one: Request, other: Request) -> None:
    shown = difference(one, other)
    assert (shown == "no difference") == (one == other)
    assert shown.isprintable()


# --- files that are not recordings ---

LINE = (
    b'{"provider":"acme","request":{"model":"m1","messages":[],"max_tokens":1,"temperature":0},'
    b'"chunks":[],"milliseconds":0,"error":{"code":"%s","message":"","details":{}}}\n'
)
ADVICE = "delete that line, or record anew"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "{path} is not a recording of moot: line 1 is not its header"),
        (b'["moot_recording"]\n', "{path} is not a recording of moot: line 1 is not its header"),
        (b"\x89PNG\r\n\x1a\n", "{path} is not a recording of moot: line 1 is not its header"),
        (b'{"moot_recording":2}\n', "{path} has version 2 in line 1, this moot reads 1: record it anew"),
        (
            HEADER + LINE % b"bad_reply" + (LINE % b"bad_reply")[:25],
            "line 3 of {path} is no recorded call "
            f"(is no JSON: EOF while parsing a string at line 1 column 25): {ADVICE}",
        ),
        (HEADER + b"{}\n", f"line 2 of {{path}} is no recorded call (provider: is missing): {ADVICE}"),
        (
            HEADER + LINE % b"coffee",
            f"line 2 of {{path}} is no recorded call (error: no model error has the code 'coffee'): {ADVICE}",
        ),
        (
            HEADER + (LINE % b"bad_reply").replace(b'"error"', b'"terror"'),
            f"line 2 of {{path}} is no recorded call (a call ends with a completion or with an error): {ADVICE}",
        ),
    ],
)
def test_a_damaged_or_foreign_file_is_named_with_its_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes(content)
    with pytest.raises(InvalidInput) as raised:
        Recording.load(path)
    assert str(raised.value) == message.format(path=path)


def test_a_recording_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as raised:
        Recording.load(tmp_path / "calls.jsonl")
    assert str(raised.value) == f"there is no recording {tmp_path / 'calls.jsonl'}: record it first"


async def test_a_file_named_gz_is_compressed(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl.gz"
    lived = await record(path, ScriptedModel(["a", "b"]), ask("One?"), ask("Two?"))
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == 3
    client = Recording.load(path).client("acme")
    assert [await call(client, ask("One?")), await call(client, ask("Two?"))] == lived


PACKED = gzip.compress(HEADER)


@pytest.mark.parametrize(
    "content", [b"", HEADER, PACKED[:-9], PACKED[:12] + b"no" * 20], ids=["empty", "plain", "cut", "damaged"]
)
def test_a_file_that_is_not_compressed_as_it_is_named_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "calls.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match=re.escape(str(path))):
        Recording.load(path)


async def test_a_recording_of_a_server_that_only_others_know_can_be_replayed(tmp_path: Path) -> None:
    await record(tmp_path / "calls.jsonl", ScriptedModel(["Yes"]), REQUEST)
    models = Models({}, tape=Recording.load(tmp_path / "calls.jsonl"))
    connection = await models.connect((await models.default()).name)
    assert (await call(connection.client)).chunks == ["Yes"]


def test_line_ends_of_another_system_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_bytes((HEADER + LINE % b"bad_reply").replace(b"\n", b"\r\n"))
    assert len(Recording.load(path).unused()) == 1


# --- whole debates ---

TOPIC = "Cats are better than dogs"


async def duel(model: Client, prompts: Prompts | None = None) -> tuple[list[Turn], list[tuple[int, int, str]], Any]:
    """A new debate: its turns without their times, its chunks as readers saw them, its ending."""
    app = scripted_app(model, MemoryStore())
    if prompts:
        models = app.models
        app = App(app.settings, app.store, lambda: models, app.formats, lambda: prompts)
    record = await app.create("duel", TOPIC, {"max_rounds": 2})
    chunks: list[tuple[int, int, str]] = []

    def show(event: Any) -> None:
        if isinstance(event, TurnChunk):
            chunks.append((event.position, event.offset, event.text))

    ending = await app.run(record.id, show)
    turns = (await app.load(record.id)).turns
    await app.close()
    return [replace(turn, started_at=0, finished_at=0, event_id=0) for turn in turns], chunks, ending


async def test_a_recorded_duel_replays_chunk_for_chunk_as_a_new_debate(tmp_path: Path) -> None:
    path = tmp_path / "duel.jsonl"
    faults = {2: ReplyCut("acme closed the connection", partial="Reason ")}
    lived = await duel(Recorder(path).wrap("scripted", ScriptedModel(sensible, faults=faults)))
    recording = Recording.load(path)
    replayed = await duel(recording.client("scripted"))
    assert replayed == lived
    assert (len(lived[0]), lived[2].status, recording.unused()) == (5, "finished", ())


async def test_a_duel_with_one_other_character_in_a_prompt_fails_where_it_differs(tmp_path: Path) -> None:
    path = tmp_path / "duel.jsonl"
    await duel(Recorder(path).wrap("scripted", ScriptedModel(sensible)))
    rules = Recording.load(path).unused()[0].request.messages[0].content
    changed = tmp_path / "prompts" / "duel" / "rules.md"
    changed.parent.mkdir(parents=True)
    changed.write_text(rules.replace("Cats", "Rats"))
    turns, chunks, ending = await duel(Recording.load(path).client("scripted"), Prompts(tmp_path / "prompts"))
    at = rules.index("Cats")
    assert (turns, chunks, ending.status) == ([], [], "failed")
    assert ending.error == (
        f"not in {path}: message 1 differs from the closest recorded call at character {at + 1}: "
        f"{'…' + rules[at - 20 : at] + 'Rats' + rules[at + 4 : at + 20] + '…'!r}, "
        f"recorded: {'…' + rules[at - 20 : at + 20] + '…'!r}"
    )


async def test_recorded_records_the_first_time_and_replays_from_then_on(tmp_path: Path) -> None:
    path, model = tmp_path / "duel.jsonl", ScriptedModel(sensible)
    first = await duel(recorded(path, model))
    second = await duel(recorded(path, model))
    assert (second, len(model.requests)) == (first, 5)
