"""What an estimate costs those who wait for it."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

from moot.testing import ScriptedModel, scripted_app
from stage import sensible

LONG: dict[str, Any] = {"max_rounds": 100, "max_total_output_tokens": 1_000_000_000}


async def test_no_garbage_is_looked_for_while_debates_are_estimated_and_it_is_again_afterwards() -> None:
    collecting: list[str] = []
    app = scripted_app(ScriptedModel(sensible))

    def note(phase: str, info: dict[str, int]) -> None:
        collecting.append(threading.current_thread().name)

    gc.callbacks.append(note)
    try:
        await app.estimate("duel", "Cats?", LONG)
    finally:
        gc.callbacks.remove(note)
    assert [name for name in collecting if name.startswith("asyncio")] == []
    assert gc.isenabled()
    await asyncio.gather(*(app.estimate("duel", "Cats?", LONG) for _ in range(3)))
    assert gc.isenabled()
    await app.close()
