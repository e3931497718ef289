"""Keeps a debate of every format as today's version plays it: `python tests/faults/store_debates.py`.

Only what has no file yet is played; a file that is there is never written again.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent.parent))

import orjson
from pydantic import JsonValue, TypeAdapter

from moot.core.debate import HumanReply, Record, Turn
from moot.core.format import AnyFormat
from moot.core.replay import next_steps
from moot.formats import load
from stage import ID, Between, Panelists, Stage, sensible

FOLDER = Path(__file__).parent.parent / "snapshots" / "stored"
RECORD, TURNS = TypeAdapter(Record), TypeAdapter(tuple[Turn, ...])


class Kept(NamedTuple):
    """A debate as it was stored, and what its script asked for when it had 0, 1, 2 … of its turns."""

    record: Record
    turns: tuple[Turn, ...]
    asked: list[list[list[JsonValue]]]


class Played(NamedTuple):
    settings: Mapping[str, JsonValue]
    remark: str = ""
    concluding: bool = False


PLAYED: dict[str, dict[str, Played]] = {
    "duel": {
        "": Played({"max_rounds": 2, "judge": "each_round"}),
        "-concluded": Played({"max_rounds": 3}, "Think of the neighbours.", concluding=True),
        "-careful": Played({"max_rounds": 1, "depth": "careful"}),
    },
    "critique": {"": Played({"max_rounds": 2, "min_rounds": 1})},
    "evaluation": {"": Played({"exchanges": 1}), "-quick": Played({"exchanges": 1, "depth": "quick"})},
    "panel": {
        "": Played({"max_rounds": 2, "round_timeout_seconds": 1e6}, "Mind the cost."),
        "-alone": Played({"max_rounds": 1, "round_timeout_seconds": 1e6, "checkpoints": False}),
    },
}


def asked(record: Record, turns: tuple[Turn, ...], format: AnyFormat) -> list[list[list[JsonValue]]]:
    """The next steps after each number of turns: who, what, in which round, and with how much room."""
    heads = (turns[:count] for count in range(len(turns) + 1))
    return [
        [[step.seat, step.kind, step.round, step.max_tokens] for step in next_steps(record, head, format)]
        for head in heads
    ]


def read(path: Path) -> Kept:
    stored: Any = orjson.loads(path.read_bytes())
    return Kept(RECORD.validate_python(stored["record"]), TURNS.validate_python(stored["turns"]), stored["asked"])


async def play(format: AnyFormat, how: Played) -> Kept:
    settings = format.settings.model_validate(how.settings).model_dump(mode="json")
    stage = Stage(Panelists() if format.name == "panel" else sensible, format=format, settings=settings)
    await stage.open()

    async def interfere(turn: Turn) -> None:
        if turn.position == 1 and how.remark:
            await stage.store.say(ID, HumanReply("guide", how.remark))
        if turn.position == 3 and how.concluding:
            await stage.store.ask_to_conclude(ID)

    await stage.run(Between(stage.store, after=interfere))
    record, turns = await stage.record(), await stage.turns()
    return Kept(record, turns, asked(record, turns, format))


async def main() -> None:
    for name, format in load().items():
        for mark, how in PLAYED.get(name, {"": Played({})}).items():
            path = FOLDER / f"{name}-{format.version}{mark}.json"
            if not path.exists():
                path.write_bytes(orjson.dumps((await play(format, how))._asdict(), option=orjson.OPT_INDENT_2))
                print(path)  # noqa: T201 - a script


if __name__ == "__main__":
    asyncio.run(main())
