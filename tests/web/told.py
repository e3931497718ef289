"""A reader who notices every gap, every repeat and every disorder in what they are told."""

from __future__ import annotations

from typing import Any

Event = dict[str, Any]
ENDINGS = ("waiting", "debate_finished", "debate_stopped", "debate_failed")


class Listener:
    def __init__(self) -> None:
        self.last_id = 0
        self.texts: dict[int, str] = {}
        self.finished: dict[int, str] = {}
        self.endings: list[str] = []

    def hear(self, event: Event) -> None:
        assert event["id"] > self.last_id, f"{event} comes after {self.last_id}"
        self.last_id = event["id"]
        position = event.get("position")
        if event["type"] == "turn_started":
            assert position not in self.finished
            self.texts[position] = ""
        elif event["type"] == "turn_chunk":
            assert event["offset"] == len(self.texts[position]), f"{event} does not follow {self.texts[position]!r}"
            self.texts[position] += event["text"]
        elif event["type"] == "turn_finished":
            assert position not in self.finished
            self.finished[position] = event["content"]
        elif event["type"] in ENDINGS:
            self.endings.append(event["type"])
