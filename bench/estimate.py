"""How long an estimate takes for the largest debates of each format: python bench/estimate.py"""

from __future__ import annotations

import asyncio
import gc
import time

from pydantic import JsonValue

from moot.testing import ScriptedModel, scripted_app

Settings = dict[str, JsonValue]

ROUNDS: Settings = {"max_rounds": 100, "max_total_output_tokens": 1_000_000_000}
PASSAGE = "word " * 400
TOPICS: list[JsonValue] = [
    {"name": f"Topic {number}", "category": "problem", "advocate": PASSAGE[:1000], "challenger": PASSAGE[:1000]}
    for number in range(50)
]
LARGEST: dict[str, Settings] = {
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
SOURCES: dict[str, Settings] = {
    f"{name} sources": {"sources": [{"name": f"Source {number}", "text": "word " * words} for number in range(50)]}
    for name, words in (("50 short", 20), ("50 long", 8000))
}
LATE = {"duel": 140_000, "critique": 240_000, "panel": 900_000, "evaluation": 230_000}
ENDS_MIDWAY: dict[str, Settings] = {"panel": {"ledger": "end"}, "duel": {"max_check_output_tokens": 40_000}}
SEAT = {"duel": "debater_a", "critique": "skeptic", "panel": "debater_1", "evaluation": "advocate"}
TIERED = "anthropic:claude-sonnet-4-5"
"""Whose tokens cost more in long prompts."""


WORST: dict[str, Settings] = {
    "duel": {"ledger": "rounds", "judgings": 12, "ballots": 25},
    "critique": {"rag_top_k": 20, "judgings": 12},
    "panel": {"ledger": "end", "ballots": 25, "decision": "borda"},
    "evaluation": {"judgings": 12, "parallel_topics": 20},
}
"""Beside all of it, what else takes time, without a limit on what examines."""


def variants(format: str) -> dict[str, Settings]:
    two_models: Settings = {"models": {SEAT[format]: "scripted:other"}}
    research: Settings = {"research": True, **SOURCES["50 long sources"]}
    all_of_it = {"depth": "careful", **two_models, **research}
    return {
        "": {},
        "its tokens end late": {"max_total_output_tokens": LATE[format]},
        "two models": two_models,
        "two models, its tokens end late": {**two_models, "max_total_output_tokens": LATE[format]},
        "a price by length": {"model": TIERED},
        "careful": {"depth": "careful"},
        "research": research,
        **SOURCES,
        "careful, what examines ends midway": {"depth": "careful", **ENDS_MIDWAY.get(format, {})},
        "all of it": all_of_it,
        "all of it and more": {**all_of_it, **WORST[format], "max_check_output_tokens": 1_000_000_000},
        "all of it, its tokens end late": {**all_of_it, "max_total_output_tokens": LATE[format]},
    }


async def main(times: int = 5) -> None:
    gc.set_threshold(10_000, 10, 10)  # as moot does
    app = scripted_app(ScriptedModel(lambda request: ""))
    print("| debate | model calls, most and typical | CPU, best of 5 |\n|---|---|---|")
    for format, settings in LARGEST.items():
        for name, more in variants(format).items():
            taken = []
            for _ in range(times):
                start = time.process_time()
                found = await app.estimate(format, "Should we?", {**settings, **more})
                taken.append(time.process_time() - start)
            print(f"| {format} {name} | {found.most.calls}, {found.typical.calls} | {min(taken) * 1000:.0f} ms |")


if __name__ == "__main__":
    asyncio.run(main())
