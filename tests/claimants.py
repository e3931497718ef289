"""A duel whose claims are noted: who speaks, what the scribe notes of it, and what the judge names."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from moot.core.debate import Status
from moot.formats.duel.format import Verdict
from moot.llm.client import Request
from stage import A, B, Stage

NOTED = {"max_rounds": 1, "judgings": 2, "ledger": "end"}
FIRST = "The tunnel pays for itself. It saves an hour a day."
SECOND = "It pays nothing back in ten years. The bridge is old."
CLAIMS: list[dict[str, Any]] = [
    {"quote": "The tunnel pays for itself", "text": "The tunnel pays.", "answers": []},
    {"quote": "It saves an hour a day", "text": f"It saves time, says {A}.", "answers": []},
    {
        "quote": "It pays nothing back in ten years",
        "text": "It does not pay.",
        "answers": [{"claim": "C1", "how": "attacks"}],
    },
]


def company(
    claims: Any = CLAIMS, because: tuple[str, ...] = ("C2",), scores: tuple[int, int] = (8, 3)
) -> Callable[[Request], str]:
    """Debaters, a scribe who notes these claims, and a judge who names these and favours whoever speaks for it."""

    def reply(request: Request) -> str:
        asked = request.messages[-1].content
        if request.schema is None:
            return FIRST if " words FOR this:" in asked else SECOND
        if "claims" in request.schema.schema["properties"]:
            return json.dumps({"note": "It turns on cost.", "claims": claims})
        said = "\n".join(message.content for message in request.messages)
        a_is_for = f"{A} speaks FOR" in said
        first, second = scores if a_is_for else scores[::-1]
        named = {"because": because} if because else {}
        return json.dumps(
            {"summary": "So.", f"score_{A.lower()}": first, f"score_{B.lower()}": second, "lead": "It.", **named}
        )

    return reply


async def played(replies: Any, **settings: Any) -> tuple[Stage, Verdict]:
    stage = Stage(replies, settings={**NOTED, **settings})
    ending = await stage.run()
    assert ending.status is Status.FINISHED, ending.error
    return stage, Verdict.model_validate(ending.outcome)
