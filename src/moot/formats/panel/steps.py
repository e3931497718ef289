"""The steps of a panel that all its versions ask for alike: the moderator's, and what the library finds in sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from moot.core.debate import Answer, Turn
from moot.core.script import Debate, Script
from moot.formats.panel.answers import Framing
from moot.formats.panel.casting import Casting, analysis, heard, names
from moot.formats.panel.settings import PanelSettings
from moot.trust.quotes import tags

WHOLE_SOURCES = 6000
"""Characters; longer sources are cut into passages, and each debater gets those that matter to it in each round."""
PASSAGES = 4
MAX_REVISIONS = 3


def moderate(
    debate: Debate[Any],
    casting: Casting,
    kind: str,
    round: int | None,
    max_tokens: int,
    answer: type[Answer] | None = None,
    **variables: Any,
) -> Script[Turn]:
    return debate.ask(
        "moderator",
        kind,
        round,
        answer=answer,
        aliases=names(debate, casting),
        max_tokens=max_tokens,
        visible=heard(debate),
        **known(debate, casting),
        **variables,
    )


def passages(debate: Debate[Any], casting: Casting, round: int) -> Script[Mapping[str, Any]]:
    """What the library finds for each debater in sources that are too long to be read by everyone as a whole."""
    if sources_are_short(debate.settings):
        return {}
    summary = next(turn.content for turn in debate.in_round(round) if turn.kind == "summary")
    queries = {
        seat: f"{debate.topic} {perspective.name}: {', '.join(perspective.priorities)}. {summary}"
        for seat, perspective in casting.perspectives.items()
    }
    texts = {tag: source.text for tag, source in tags(debate.settings.sources).items()}
    turn = yield from debate.ask("library", "passages", round, queries=queries, texts=texts, top_k=PASSAGES)
    found: Any = (turn.data or {}).get("passages", {})
    return found if isinstance(found, dict) else {}


def known(debate: Debate[Any], casting: Casting) -> dict[str, Any]:
    """What everybody on the panel knows from its beginning: who is on it, and what binds the decision."""
    return debate.once("known", lambda: _all_known(debate, casting))


def _all_known(debate: Debate[Any], casting: Casting) -> dict[str, object]:
    turn = analysis(debate)
    constraints = tuple(Framing.model_validate(turn.data).constraints) if turn else ()
    cards = tuple(casting.perspectives.values())
    return {"cards": cards, "constraints": constraints, "sources_are_short": sources_are_short(debate.settings)}


def sources_are_short(settings: PanelSettings) -> bool:
    return sum(len(source.text) for source in settings.sources) <= WHOLE_SOURCES
