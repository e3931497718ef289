"""Looking things up before speaking: a debater asks for searches, and what they find is a source for everybody. Pure.

A turn of the `researcher` holds what one debater asked for and what came of it. The sources that were found are
numbered on from those of the settings, in the order of the turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import BaseModel, BeforeValidator, Field

from moot.core.debate import Answer, JsonObject, Seat, Step, Turn
from moot.core.value import changed
from moot.sources.source import MAX_NAME, Source, as_name
from moot.text.plain import shortened

RESEARCHER = Seat("researcher", "Research", "researcher", max_tokens=0, player="researcher")
"""Every format has it."""
RESEARCH, LOOK_UP = "research", "look_up"
"""The kind of its turns, and of the step in which a debater says what to look up."""
FOLDER = "folder"
"""The tool that searches the debate's own sources: what it finds has a tag already."""
SEARCHES, LOOKS = 3, 2
"""That a turn has at most, and how often its debater is asked for some."""
LOOK_UP_TOKENS = 500
FOUND = 8000
"""Characters that one turn brings at most."""
MAX_TOOLS = 8000
"""Characters that may be said of the tools."""
MAX_FOUND = 300
"""Sources; a debate that has found so many looks nothing up any more."""


class Argument(BaseModel):
    name: str
    value: str


def _listed(value: Any) -> Any:
    """Also as an object, as many models write it."""
    if not isinstance(value, dict):
        return value
    return [{"name": name, "value": text if isinstance(text, str) else f"{text}"} for name, text in value.items()]


class Search(BaseModel):
    tool: str
    arguments: Annotated[list[Argument], BeforeValidator(_listed)] = Field(default_factory=list)


class Searches(Answer):
    """What a debater wants to have looked up."""

    shown: ClassVar[str] = "reason"

    reason: str = Field("", description="what you need to know, in a sentence")
    searches: list[Search] = Field(default_factory=list, description=f"at most {SEARCHES}, or none")
    more: bool = Field(False, description="whether you want to see what they find before you ask for the rest")

    @classmethod
    def fallback(cls) -> Self:
        return cls()


class Call(BaseModel):
    """A search as it is stored: what a tool was asked, and what it said or why it did not."""

    tool: str
    arguments: JsonObject = Field(default_factory=dict)
    text: str = ""
    error: str = ""

    @property
    def query(self) -> str:
        return shortened(" ".join(str(value) for value in self.arguments.values()), 70)

    @property
    def name(self) -> str:
        return " ".join(as_name(f"search: {self.query} ({self.tool})").split())[:MAX_NAME].strip()

    @cached_property
    def source(self) -> Source | None:
        """What it found, unless that stands in another source."""
        found = not self.error and self.tool != FOLDER and self.text.strip()
        return Source(name=self.name, text=self.text) if found else None


class Finding(NamedTuple):
    """Where a source was found first, by the position of the turn."""

    tag: str
    position: int


def researching(step: Step) -> Step:
    """What is looked up before a step: it is asked of the same seat, which reads the same."""
    variables = {**step.variables, "asked_by": step.seat}
    return changed(
        step,
        seat=RESEARCHER.name,
        kind=RESEARCH,
        prompt=step.prompt or step.kind,
        answer=None,
        variables=variables,
        max_tokens=min(LOOK_UP_TOKENS, step.max_tokens or LOOK_UP_TOKENS),
    )


def asking(step: Step, tools: Sequence[object] = (), found: Sequence[Call] = ()) -> Step:
    """The question to the seat for which a step looks things up, with what it has found; any other step as it is."""
    if (step.seat, step.kind) != (RESEARCHER.name, RESEARCH):
        return step
    variables = {**step.variables, "tools": tools, "found": found}
    return changed(step, seat=str(variables["asked_by"]), kind=LOOK_UP, answer=Searches, variables=variables)


def is_research(turn: Turn) -> bool:
    return (turn.seat, turn.kind) == (RESEARCHER.name, RESEARCH)


def calls(turn: Turn) -> Sequence[Call]:
    made: Any = (turn.data or {}).get("calls", []) if is_research(turn) else []
    return [Call.model_validate(each) for each in made]
