"""Many debates in one folder: what is in it, and that it is there whole or not at all."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import weakref
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars
import pyarrow.json
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.core.debate import Record, SeatSettings, Status, Turn
from moot.core.trace import Trace, trace
from moot.errors import InvalidInput
from moot.export.bundle import Chosen, moment, write_bundle
from moot.testing import ScriptedModel, scripted_app
from stage import sensible

START = 1_700_000_000.0


def debate(number: int = 1, **more: Any) -> Trace:
    seats = {"debater_a": SeatSettings("x:one", 0, 9), "judge": SeatSettings("x:two", 0, 9)}
    chosen = {"format": "duel", "status": Status.FINISHED, "created_at": START + number, **more}
    record = Record(
        id=f"DEB-{number:08}", format_version=2, topic=f"Topic {number}", settings={}, seats=seats, **chosen
    )
    return trace(record, [Turn(position=0, seat="debater_a", kind="argument", round=1, content="Words — and \n more.")])


async def streamed(traces: Iterable[Trace]) -> AsyncIterator[Trace]:
    for each in traces:
        yield each


def lines(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "debates.jsonl").read_bytes().splitlines()]


def read(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def traces(folder: Path) -> list[Any]:
    """The lines with their free parts read."""
    return [
        {
            **line,
            "settings": read(line["settings"]),
            "outcome": read(line["outcome"]),
            "turns": [{**turn, "data": read(turn["data"])} for turn in line["turns"]],
        }
        for line in lines(folder)
    ]


def kinds(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The path of each part of a JSON value, and what is there; nothing is of any kind."""
    if isinstance(value, dict):
        yield path, "object"
        for name, part in value.items():
            yield from kinds(part, f"{path}.{name}")
    elif isinstance(value, list):
        yield path, "list"
        for part in value:
            yield from kinds(part, f"{path}[]")
    elif value is not None:
        yield path, "number" if type(value) in (int, float) else type(value).__name__


async def of_every_kind(folder: Path) -> list[Any]:
    """A bundle of finished, forked and new debates of all formats, with and without sources; its lines."""
    app = scripted_app(ScriptedModel(sensible))
    asked: list[tuple[str, dict[str, Any]]] = [
        ("duel", {}),
        ("duel", {"max_tokens": {"judge": 300}, "temperatures": {"judge": 0}}),
        ("panel", {"perspectives": 2}),
        ("panel", {"perspectives": "Performance Advocate,Operational Simplicity"}),
        ("critique", {}),
        ("evaluation", {"challenges": ["Who pays?"]}),
        ("poll", {}),
        ("duel", {"sources": [{"name": "notes.md", "text": "Cats sleep for 14.5 hours a day. 😺"}]}),
    ]
    for format, settings in asked:
        record = await app.create(format, "Cats?", {"max_rounds": 1, **settings})
        await app.run(record.id, lambda event: None)
    await app.rate(record.id, 4, "2026-01-01")
    await app.fork(record.id, 1)
    await app.create("duel", "Dogs?")
    await app.export_all(folder, Chosen(None))
    await app.close()
    return lines(folder)


async def test_pyarrow_and_polars_read_what_is_written(tmp_path: Path) -> None:
    written, file = await of_every_kind(tmp_path / "data"), str(tmp_path / "data" / "debates.jsonl")
    whole = pyarrow.json.ReadOptions(block_size=2**20)
    tables: list[list[dict[str, Any]]] = [
        polars.read_ndjson(file, infer_schema_length=None).to_dicts(),
        pyarrow.json.read_json(file, read_options=whole).to_pylist(),
    ]
    for table in tables:
        assert [row["id"] for row in table] == [line["id"] for line in written]
        assert [row["outcome"] for row in table] == [line["outcome"] for line in written]
        spoken = [[turn["content"] for turn in row["turns"]] for row in table]
        assert spoken == [[turn["content"] for turn in line["turns"]] for line in written]


async def test_every_column_has_one_type_whatever_the_formats(tmp_path: Path) -> None:
    found = defaultdict(set)
    for line in await of_every_kind(tmp_path / "data"):
        for path, kind in kinds(line):
            found[path].add(kind)
    assert {path: mixed for path, mixed in found.items() if len(mixed) > 1} == {}
    assert {line["settings"]["max_rounds"] for line in traces(tmp_path / "data") if line["outcome"]} == {1}


async def test_each_debate_is_a_line_and_the_manifest_says_what_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    given = [debate(3, format="panel"), debate(2), debate(1, status=Status.FAILED)]
    manifest = await write_bundle(folder, streamed(given), Chosen(None, since=START))
    written = (folder / "debates.jsonl").read_bytes()
    assert traces(folder) == given
    assert set(manifest["fields"]["properties"]) == set(given[0])  # type: ignore[arg-type, call-overload, index]
    assert json.loads((folder / "manifest.json").read_text()) == manifest
    assert manifest == {
        "version": 2,
        "made_with": f"moot {version('moot')}",
        "file": "debates.jsonl",
        "sha256": hashlib.sha256(written).hexdigest(),
        "bytes": len(written),
        "debates": 3,
        "chosen": {"status": None, "format": None, "since": "2023-11-14T22:13:20.000+00:00"},
        "statuses": {"failed": 1, "finished": 2},
        "formats": {"duel 2": 2, "panel 2": 1},
        "models": {"x:one": 3, "x:two": 3},
        "trace_versions": {"1": 3},
        "first_created_at": "2023-11-14T22:13:21.000+00:00",
        "last_created_at": "2023-11-14T22:13:23.000+00:00",
        "fields": manifest["fields"],
    }
    assert sorted(os.listdir(folder)) == ["debates.jsonl", "manifest.json"]
    assert os.listdir(folder.parent) == ["data"]


async def test_the_same_debates_make_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        await write_bundle(tmp_path / name, streamed([debate(2), debate(1)]), Chosen(format="duel"))
    one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
    assert one == two


async def test_no_debates_make_an_empty_file(tmp_path: Path) -> None:
    manifest = await write_bundle(tmp_path / "data", streamed([]), Chosen())
    assert (tmp_path / "data" / "debates.jsonl").read_bytes() == b""
    assert (manifest["debates"], manifest["first_created_at"], manifest["chosen"]["status"]) == (0, None, "finished")


class Kept(dict[str, Any]):
    """A trace that can be counted while it lives."""

    __hash__ = object.__hash__  # type: ignore[assignment]


async def test_a_thousand_debates_are_never_held_at_once(tmp_path: Path) -> None:
    alive: weakref.WeakSet[Kept] = weakref.WeakSet()
    most = 0

    async def made() -> AsyncIterator[Any]:
        nonlocal most
        for number in range(1000):
            kept = Kept(debate(number))
            alive.add(kept)
            most = max(most, len(alive))
            yield kept
            del kept

    manifest = await write_bundle(tmp_path / "data", made(), Chosen())
    assert (manifest["debates"], most) == (1000, 2)


async def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    await write_bundle(tmp_path / "data", streamed([debate()]), Chosen())
    assert traces(tmp_path / "data") == [debate()]


async def test_a_folder_with_anything_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InvalidInput) as caught:
        await write_bundle(tmp_path, streamed([debate()]), Chosen())
    assert str(caught.value) == f"'{tmp_path}' is not empty; name a new folder for the debates"
    assert os.listdir(tmp_path) == ["mine.txt"]


async def test_what_appears_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    async def slow() -> AsyncIterator[Trace]:
        yield debate()
        folder.mkdir()
        (folder / "mine.txt").write_text("mine")

    with pytest.raises(InvalidInput) as caught:
        await write_bundle(folder, slow(), Chosen())
    assert str(caught.value) == f"cannot write debates to '{folder}': Directory not empty; name a new folder"
    assert (os.listdir(tmp_path), os.listdir(folder)) == (["data"], ["mine.txt"])


async def test_a_file_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(
        InvalidInput, match=r"cannot write debates to .*/file/data': (File exists|Not a directory); name"
    ):
        await write_bundle(tmp_path / "file" / "data", streamed([]), Chosen())
    with pytest.raises(InvalidInput, match=r"cannot write debates to .*/file': Not a directory; name a new folder"):
        await write_bundle(tmp_path / "file", streamed([]), Chosen())
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("fault", [RuntimeError("the database is gone"), asyncio.CancelledError()])
async def test_what_breaks_off_leaves_nothing_behind(tmp_path: Path, fault: BaseException) -> None:
    async def broken() -> AsyncIterator[Trace]:
        yield debate()
        raise fault

    with pytest.raises(type(fault)):
        await write_bundle(tmp_path / "data", broken(), Chosen())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2023-11-14", START - 22 * 3600 - 13 * 60 - 20),
        ("2023-11-14T22:13:20", START),
        ("2023-11-14T23:13:20+01:00", START),
        ("2023-11-14T22:13:20Z", START),
    ],
)
def test_a_moment_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert moment(text) == seconds


@given(st.text())
def test_what_is_no_moment_is_named(text: str) -> None:
    try:
        assert isinstance(moment(text), float)
    except InvalidInput as error:
        assert str(error) == (  # noqa: PT017 - few texts are a moment
            f"{text!r} is no date or time; write one like 2026-01-31 or 2026-01-31T18:00:00+01:00"
        )
