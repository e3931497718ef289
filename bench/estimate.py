"""How long an estimate takes for the largest debate of each format: python bench/estimate.py"""

from __future__ import annotations

import asyncio
import time

from pydantic import JsonValue

from moot.testing import ScriptedModel, scripted_app

ROUNDS: dict[str, JsonValue] = {"max_rounds": 100, "max_total_output_tokens": 1_000_000_000}
PASSAGE = "word " * 400
TOPICS: list[JsonValue] = [
    {"name": f"Topic {number}", "category": "problem", "advocate": PASSAGE[:1000], "challenger": PASSAGE[:1000]}
    for number in range(50)
]
LARGEST: dict[str, dict[str, JsonValue]] = {
    "duel": {**ROUNDS, "judge": "each_round"},
    "critique": ROUNDS,
    "panel": {**ROUNDS, "perspectives": 4},
    "evaluation": {
        "idea": "word " * 8000,
        "topics": TOPICS,
        "exchanges": 3,
        "challenges": [PASSAGE] * 50,
        "evaluation": {"categories": {"problem": {"score": 5, "evidence": [PASSAGE] * 20}}},
    },
}


async def main(times: int = 5) -> None:
    app = scripted_app(ScriptedModel(lambda request: ""))
    print("| format | model calls | CPU, best of 5 |\n|---|---|---|")
    for format, settings in LARGEST.items():
        taken = []
        for _ in range(times):
            start = time.process_time()
            calls = (await app.estimate(format, "Should we?", settings)).most.calls
            taken.append(time.process_time() - start)
        print(f"| {format} | {calls} | {min(taken) * 1000:.0f} ms |")


if __name__ == "__main__":
    asyncio.run(main())
