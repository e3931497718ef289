"""What a scripted model says in every built-in format: to the same question always the same."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from typing import Any

from pydantic import JsonValue

from model_server import VERDICT

Request = dict[str, Any]
Answer = dict[str, JsonValue]
QUOTE = "41% had not bought any"
"""Stands in the idea of `examples/ideas/second-hearing`."""
JUDGED: dict[str, tuple[int, int, str]] = {
    "Problem validity": (8, 5, "high"),
    "Solution fit": (4, 8, "medium"),
    "Market opportunity": (6, 6, "low"),
}
"""Topic → the arbiter's two scores and its confidence."""
RATED = {"problem": 6, "solution": 7, "market": 5}
"""Category → what the evaluator gives it; 4 to any other."""
CAST = ["Performance Advocate", "Operational Simplicity"]


def answers(request: Request) -> str:
    """A form where one is asked for, else a speech of words that nobody has used before."""
    form = kind_of(request)
    return json.dumps(FORMS[form](request)) if form else speech(request)


def kind_of(request: Request) -> str:
    """The form that is asked for; nothing for a speech."""
    return str(request.get("response_format", {}).get("json_schema", {}).get("name", ""))


def asked(request: Request) -> str:
    return str(request["messages"][-1]["content"])


def speech(request: Request) -> str:
    marks = (zlib.crc32(json.dumps([request["messages"], at]).encode()) for at in range(8))
    return f"I hold to it for {' '.join(f'reason{mark}' for mark in marks)}."


def scores(request: Request) -> Answer:
    categories = request["response_format"]["json_schema"]["schema"]["properties"]["scores"]["properties"]
    return {
        "summary": "A real problem, half solved.",
        "scores": {
            name: {"score": RATED.get(name, 4), "evidence": QUOTE, "confidence": "medium"} for name in categories
        },
    }


def challenges(request: Request) -> Answer:
    return {
        "summary": "Supply is the weak point.",
        "challenges": [{"challenge": "Forty pairs a month are too few.", "category": "market", "severity": "high"}],
    }


def argument(request: Request) -> Answer:
    return {
        "case": "The survey decides it.",
        "arguments": [{"claim": "People are priced out", "reasoning": "They said so.", "evidence": QUOTE}],
    }


def reply(request: Request) -> Answer:
    return {"answer": speech(request), "gives_up": [], "grants": []}


def judgment(request: Request) -> Answer:
    topic = re.findall(r"(?:question|arbiter): (.+)\.$", asked(request), re.MULTILINE)[-1]
    advocate, challenger, confidence = JUDGED.get(topic, (7, 4, "high"))
    return {
        "reasoning": f"On {topic} both sides were heard.",
        "key_points": ["the survey"],
        "strongest_advocate": "the survey",
        "strongest_challenger": "the supply",
        "score_advocate": advocate,
        "score_challenger": challenger,
        "confidence": confidence,
        "next_test": "Count the pairs that pharmacies hand in.",
    }


def proposal(request: Request) -> Answer:
    """A reply to every issue that is listed."""
    numbers = re.findall(r"^Issue (\d+) \(", asked(request), re.MULTILINE)
    replies: list[JsonValue] = [{"issue": int(number), "reply": "It is mended."} for number in numbers]
    return {"replies": replies, "answer": speech(request)}


def critique(request: Request) -> Answer:
    """One issue of each weight, and no way out before the last round."""
    return {
        "review": "The answer names no number.",
        "issues": [
            {"severity": "critical", "passage": "", "text": "It rests on one guess."},
            {"severity": "minor", "passage": "", "text": "It is long."},
        ],
        "score": 6,
        "ready": False,
    }


def analysis(request: Request) -> Answer:
    return {
        "framing": "A cache has to be chosen.",
        "domain": "architecture",
        "constraints": ["must ship soon"],
        "too_vague": False,
        "question": "",
        "debaters": 2,
        "perspectives": list(CAST),
        "options": ["Redis", "Postgres"],
    }


def rebuttal(request: Request) -> Answer:
    return {"content": speech(request), "responding_to": [f"{CAST[0]}: speed"]}


def evaluation(request: Request) -> Answer:
    return {"summary": "New points still come up.", "state": "new_ground", "decision": "continue"}


def synthesis(request: Request) -> Answer:
    return {
        "recommendation": "Use Redis. It is fast enough.",
        "tensions": ["speed against calm"],
        "tasks": ["set up Redis"],
        "acceptance": ["reads take under a millisecond"],
    }


def choice(request: Request) -> Answer:
    """The first that a ballot offers, or all as they stand."""
    offered = request["response_format"]["json_schema"]["schema"]["properties"]["choice"]
    return {"reason": speech(request), "choice": offered["items"]["enum"] if "items" in offered else offered["enum"][0]}


def notes(request: Request) -> Answer:
    """A claim for each speech that is read, each against the one before it."""
    said = list(dict.fromkeys(re.findall(r"I hold to it for reason\d+ reason\d+", json.dumps(request["messages"]))))
    claims: list[JsonValue] = [
        {"quote": quote, "text": f"Claim {number}.", "answers": [{"claim": number - 1, "how": "attacks"}]}
        for number, quote in enumerate(said, 1)
    ]
    return {"note": "They differ.", "claims": claims}


FORMS: dict[str, Callable[[Request], Answer]] = {
    "scores": scores,
    "redteam": challenges,
    "arguments": argument,
    "reply": reply,
    "judgment": judgment,
    "ballot": lambda request: dict(VERDICT),
    "proposal": proposal,
    "critique": critique,
    "analysis": analysis,
    "rebuttal": rebuttal,
    "evaluation": evaluation,
    "synthesis": synthesis,
    "choice": choice,
    "comparison": lambda request: {"reason": "A says more.", "score_a": 7, "score_b": 6},
    "notes": notes,
    "options": lambda request: {"asked": "Which cache?", "options": ["Redis", "Postgres"]},
}
