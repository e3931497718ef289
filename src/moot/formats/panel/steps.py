"""The steps of a panel that all its versions ask for alike: the moderator's, and what the library finds in sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moot.core.debate import Answer, Step, Turn
from moot.core.script import Debate, Script
from moot.core.trust import REJUDGING
from moot.formats.panel.answers import Evaluation, Framing
from moot.formats.panel.assessment import Verdict, speeches
from moot.formats.panel.casting import Casting, analysis, evaluation_of, heard, names
from moot.formats.panel.positions import declared
from moot.sources.source import text_by_tag
from moot.trust.judging import mirrored_order
from moot.trust.novelty import telling

if TYPE_CHECKING:
    from moot.formats.panel.decision import Decision

WHOLE_SOURCES = 6000
"""Characters, in version 1; longer sources are cut into passages, of which each debater gets some in each round."""
PASSAGES = 4
MAX_REVISIONS = 3
BACK = 5
"""So many rounds before are compared in meaning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the versions of the panel ask for in other forms, find otherwise, and decide otherwise."""

    analysis: Callable[[Debate[Any]], type[Answer]]
    rebuttal: Callable[[Debate[Any]], type[Answer]]
    evaluation: type[Answer]
    record: Callable[[Debate[Any]], type[Answer]]
    caps: Mapping[str, int]
    """Tokens of what the moderator writes, and of the record beside those for each perspective in it."""
    findings: Callable[[Debate[Any], int], list[str]]
    verdict: Callable[[Debate[Any], int], Verdict]
    """Why the rounds should end after this one, if they should."""
    decision: Callable[..., Decision]


def moderate(
    debate: Debate[Any],
    casting: Casting,
    kind: str,
    round: int | None,
    max_tokens: int,
    answer: type[Answer] | None = None,
    beside: Sequence[Step] = (),
    **variables: Any,
) -> Script[Turn]:
    """Ask the moderator, side by side with other steps."""
    step = Step(
        "moderator",
        kind,
        round,
        answer=answer,
        aliases=names(debate),
        max_tokens=max_tokens,
        visible=heard(debate),
        variables={**known(debate, casting), **variables},
        evidence="cited" if round is None else "none",
    )
    *_, turn = yield from debate.ask_all([*beside, step])
    return turn


def read_again(debate: Debate[Any], casting: Casting, round: int, max_tokens: int, facts: list[str]) -> Script[Turn]:
    """The round judged once more by the moderator, who does not read the first judgment, and reads perspectives and
    debaters in reverse."""
    before, shared = evaluation_of(debate, round), known(debate, casting)
    seen = heard(debate)
    step = Step(
        "moderator",
        REJUDGING,
        round,
        prompt="evaluation",
        answer=Evaluation,
        aliases=names(debate),
        variables={**shared, "cards": shared["cards"][::-1], "facts": facts, "positions": declared(debate)[::-1]},
        max_tokens=max_tokens,
        visible=range(seen.start, before.position if before else seen.stop),
        evidence="none",
        order=mirrored_order(debate.transcript, tuple(casting.perspectives)),
    )
    (turn,) = yield from debate.ask_all([step])
    return turn


def passages(debate: Debate[Any], casting: Casting, round: int) -> Script[Mapping[str, Any]]:
    """What the library finds for each debater in sources that are too long to be read by everyone as a whole; for
    later versions than the first that is found for every format alike."""
    if debate.settings.rules > 1 or sources_are_short(debate):
        return {}
    summary = next(turn.content for turn in debate.in_round(round) if turn.kind == "summary")
    queries = {
        seat: f"{debate.topic} {perspective.name}: {', '.join(perspective.priorities)}. {summary}"
        for seat, perspective in casting.perspectives.items()
    }
    texts = text_by_tag(debate.settings.sources)
    turn = yield from debate.ask("library", "passages", round, queries=queries, texts=texts, top_k=PASSAGES)
    found: Any = (turn.data or {}).get("passages", {})
    return found if isinstance(found, dict) else {}


def compare_meanings(debate: Debate[Any], round: int) -> Script[None]:
    """Let the library tell who says again in other words what they said in the rounds before; it reads English."""
    if round == 1 or debate.language.code != "en" or debate.settings.rules == 1:
        return
    said = {seat: found for seat, text in speeches(debate, round).items() if (found := telling(text))}
    earlier = [speeches(debate, number) for number in range(max(1, round - BACK), round)]
    before = {seat: [each for texts in earlier for each in telling(texts.get(seat, ""))] for seat in said}
    compared = {seat: found for seat, found in said.items() if before[seat]}
    if debate.asks("library", "repeats", round, found=bool(compared)):
        yield from debate.ask("library", "repeats", round, said=compared, before=before)


def known(debate: Debate[Any], casting: Casting) -> dict[str, Any]:
    """What everybody on the panel knows from its beginning: who is on it, and what binds the decision."""
    return debate.once("known", lambda: _all_known(debate, casting))


def _all_known(debate: Debate[Any], casting: Casting) -> dict[str, object]:
    turn = analysis(debate)
    constraints = tuple(Framing.model_validate(turn.data).constraints) if turn else ()
    everybody: dict[str, object] = {"cards": tuple(casting.perspectives.values()), "constraints": constraints}
    if debate.settings.rules == 1:
        everybody["sources_are_short"] = sources_are_short(debate)
    return everybody


def sources_are_short(debate: Debate[Any]) -> bool:
    return sum(len(source.text) for source in debate.settings.sources) <= WHOLE_SOURCES
