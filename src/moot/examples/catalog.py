"""The examples: what was asked of a large model, and the recording that answers it again.

Replayed as they were asked they call nobody, and end as they did. Knows no debate, model or store.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from pydantic import BaseModel, JsonValue, TypeAdapter

from moot.errors import Missing, meant

FOLDER = Path(__file__).parent
MODEL = "recorded:a large model"
"""What fills every seat of an example."""


class Example(BaseModel, frozen=True, extra="forbid"):
    """A recorded debate, and all that its replay has to be asked with."""

    name: str
    format: str
    topic: str
    chosen: dict[str, JsonValue]
    sources: tuple[str, ...] = ()

    @property
    def recording(self) -> Path:
        return FOLDER / f"{self.name}.jsonl.gz"

    def settings(self) -> dict[str, JsonValue]:
        """The settings of the debate, as `App.create` takes them."""
        texts: list[JsonValue] = [{"name": name, "text": (FOLDER / name).read_text("utf-8")} for name in self.sources]
        return {"model": MODEL, **self.chosen, **({"sources": texts} if texts else {})}


@cache
def examples() -> tuple[Example, ...]:
    import yaml  # is slow to import, and only who shows examples needs it

    return TypeAdapter(tuple[Example, ...]).validate_python(
        yaml.safe_load((FOLDER / "examples.yaml").read_text("utf-8"))
    )


def find(name: str) -> Example:
    for example in examples():
        if example.name == name:
            return example
    names = [example.name for example in examples()]
    raise Missing(f"no example named {name!r}{meant(name, names) or ';'} known: {', '.join(names)}")
