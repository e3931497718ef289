"""Put a pull request before a duel: should it be merged?

    python review.py "$GITHUB_EVENT_PATH" > comment.md

Prints a comment in markdown. Exits with 0 when the side for it wins or nothing is decided, with 1 when the side against
it wins, and with 2 when there is no verdict.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import moot
from moot.app import MAX_TOPIC
from moot.errors import MootError
from moot.text.markdown import contained, in_line

MERGE, REFUSE, NO_VERDICT = 0, 1, 2
SETTINGS: dict[str, Any] = {"max_rounds": 2, "stance_a": "pro"}


def topic(event: dict[str, Any]) -> str:
    """The motion, with as much of the description as a topic may hold."""
    pull = event["pull_request"]
    motion = f"This pull request is ready to be merged: {pull['title']}\n\n{pull['body'] or 'It has no description.'}"
    return motion[:MAX_TOPIC]


def comment(verdict: Any) -> str:
    """What models wrote stays in its place, and mentions nobody."""
    lines = [f"### {in_line(verdict.headline())}", "", contained(verdict.summary, 3)]
    if verdict.caveats:
        lines += ["", "Before you trust it:", "", *(f"- {in_line(caveat)}" for caveat in verdict.caveats)]
    return "\n".join(lines).replace("@", "@\u200b")


def review(event: dict[str, Any]) -> int:
    verdict: Any = asyncio.run(moot.run("duel", topic(event), SETTINGS))
    print(comment(verdict))
    return REFUSE if verdict.winner == "b" else MERGE


if __name__ == "__main__":
    try:
        sys.exit(review(json.loads(Path(sys.argv[1]).read_text("utf-8"))))
    except MootError as error:
        print(f"no verdict: {error}", file=sys.stderr)
        sys.exit(NO_VERDICT)
