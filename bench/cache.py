"""How much of a duel's prompts the built-in llama.cpp server finds in its cache: python bench/cache.py"""

from __future__ import annotations

import asyncio
import tempfile

from moot.app import build
from moot.core.debate import NO_USAGE
from moot.settings import AppSettings

SEATS = ("debater_a", "debater_b", "judge")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = AppSettings(database_url=f"sqlite:///{folder}/moot.db", model="local:smollm2")
        async with build(settings, environ={}) as app:
            record = await app.create("duel", "Remote work is better than office work")
            await app.run(record.id, lambda event: None)
            turns = (await app.load(record.id)).turns
    print("| seat | calls | prompt tokens | cached | share |\n|---|---|---|---|---|")
    for seats in (["debater_a"], ["debater_b"], ["judge"], list(SEATS)):
        usage = sum((turn.usage for turn in turns if turn.seat in seats), NO_USAGE)
        share = usage.cached_tokens / usage.input_tokens
        name = seats[0] if len(seats) == 1 else "all"
        print(f"| {name} | {usage.calls} | {usage.input_tokens} | {usage.cached_tokens} | {share:.0%} |")


asyncio.run(main())
