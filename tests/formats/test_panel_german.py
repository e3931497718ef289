"""A panel in German, played by a strong model: whatever moot says beside the model's words is German too."""

from __future__ import annotations

import os
import re
from pathlib import Path

from moot.app import build
from moot.core.events import TurnFinished
from moot.llm.recording import Recording
from moot.settings import AppSettings
from strong_debates import FOLDER

SNAPSHOT = Path(__file__).parent.parent / "snapshots" / "panel-german.md"
TOPIC = "Soll in der Schulstraße Tempo 30 gelten?"
CHOSEN = {
    "model": "recorded:a large model",
    "perspectives": 2,
    "max_rounds": 2,
    "checkpoints": False,
    "depth": "normal",
}
ENGLISH = re.compile(r"\b(the|and|of|with|by|was|were|is|answers|recommends|round|new)\b")


async def test_a_german_panel_has_a_german_record_and_german_notes(tmp_path: Path) -> None:
    tape = Recording.load(FOLDER / "panel-german.jsonl.gz")
    notes: list[str] = []
    async with build(AppSettings(database_url=f"sqlite:///{tmp_path}/moot.db"), {}, tape=tape) as app:
        record = await app.create("panel", TOPIC, CHOSEN)
        ending = await app.run(
            record.id, lambda event: notes.extend(event.notes if isinstance(event, TurnFinished) else ())
        )
        reading = await app.read(record.id)
        assert (ending.status, tape.unused()) == ("finished", ())
        assert reading.outcome is not None
        document = reading.outcome.document(reading.record, reading.turns)
        charts = [chart.title for chart in reading.charts]
    text = document.replace(record.id, "DEB-12345678")
    text = re.sub(r"date: '[\d-]+'", "date: '2026-01-01'", text)
    if os.environ.get("REWRITE_SNAPSHOTS"):
        SNAPSHOT.write_text(text, "utf-8")
    assert text == SNAPSHOT.read_text("utf-8")
    said = "\n".join([text.split("---", 2)[2], *notes, *charts])
    assert ENGLISH.findall(said.replace("a large model", "")) == []
