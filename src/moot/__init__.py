"""moot: a debate engine for language models.

```python
outcome = await moot.run("duel", "Cats are better than dogs")

async for event in moot.stream("duel", "Cats are better than dogs", settings={"max_rounds": 2}):
    ...
```
"""

from __future__ import annotations

TYPE_CHECKING = False  # which type checkers take for that of `typing`, an import that Ctrl-C could meet

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from pydantic import JsonValue

    from moot.core.debate import Outcome
    from moot.core.events import Event


async def stream(
    format: str, topic: str, settings: Mapping[str, JsonValue] | None = None
) -> AsyncGenerator[Event, None]:
    """Create a debate, run it in this process and yield its events as they happen."""
    from contextlib import aclosing

    from moot.app import build
    from moot.settings import load

    async with build(load()) as app:
        record = await app.create(format, topic, settings)
        async with aclosing(app.stream(record.id)) as events:
            async for event in events:
                yield event


async def run(format: str, topic: str, settings: Mapping[str, JsonValue] | None = None) -> Outcome:
    """Create a debate, run it in this process and return its outcome; raises the error it failed with."""
    from moot.app import build
    from moot.errors import DebateEnded
    from moot.formats import of_record
    from moot.settings import load

    async with build(load()) as app:
        record = await app.create(format, topic, settings)
        ending = await app.run(record.id, lambda event: None)
        if ending.outcome is None:
            raise DebateEnded(f"{record.id} is {ending.status}: {ending.error or ending.stop_reason}")
        return of_record(app.formats, record).outcome.model_validate(ending.outcome)
