"""Who is on a panel: how the perspectives were chosen, which seats they have, and who is muted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from moot.core.debate import PASSED_OVER, Turn
from moot.core.script import Debate
from moot.formats.panel import perspectives as catalogs
from moot.formats.panel.answers import MAX_SEATS, Card, Evaluation, Opposed, Titled
from moot.formats.panel.perspectives import Perspective

SEATS = ("debater_1", "debater_2", "debater_3", "debater_4")
ARGUED = ("opening", "rebuttal")
STAND_INS = frozenset({"fallback", PASSED_OVER})
MAX_OPTIONS = 4
SOME = ("one", "another")
NEAR = 0.25
"""So near in meaning, what one gives up is what another wants: of pairs as people write them, 8 of 10 opposed ones are,
and 2 of 10 others (bench/meaning.py)."""


class Casting(NamedTuple):
    """Who debates, by seat, and how they were chosen."""

    perspectives: Mapping[str, Perspective]
    by: Literal["person", "moderator", "keywords"]
    note: str
    warning: str = ""
    """Why they may have nothing to debate."""


def analysis(debate: Debate[Any]) -> Turn | None:
    """The moderator's last: a vague question is analysed again with the person's answer."""
    return next((turn for turn in reversed(debate.in_round(None)) if turn.kind == "analysis"), None)


def options_of(debate: Debate[Any]) -> tuple[str, ...]:
    """What can be decided, as the moderator named it before the debate; none where that is fewer than two things."""
    turn = analysis(debate)
    if debate.rehearsed:  # nobody has named them yet, and an estimate counts ballots and votes
        return SOME
    if turn is None or "fallback" in turn.marks:
        return ()
    named = (" ".join(each.split())[:120] for each in Titled.model_validate(turn.data).options)
    found = tuple({each.casefold(): each for each in named if each}.values())[:MAX_OPTIONS]
    return found if len(found) > 1 else ()


def asks_back(debate: Debate[Any], turn: Turn) -> bool:
    """Whether the moderator wants to know more before anybody is cast."""
    data = turn.data or {}
    vague = bool(data.get("too_vague") and data.get("question")) or debate.rehearsed == "most"
    return vague and debate.settings.checkpoints and not any(said.kind == "answer" for said in debate.in_round(None))


def cast(debate: Debate[Any]) -> Casting | None:
    """The perspectives by seat; None before the moderator has analysed a question that can be debated."""
    return debate.once(("cast", len(debate.in_round(None))), lambda: _cast(debate))


def _cast(debate: Debate[Any]) -> Casting | None:
    turn = analysis(debate)
    if turn is None or (debate.settings.rules > 1 and asks_back(debate, turn)):
        return None
    chosen, by, note = _chosen(debate, turn)
    casting = Casting(dict(zip(SEATS, chosen, strict=False)), by, note)
    return casting._replace(warning=_warning(debate, turn, chosen)) if debate.settings.rules > 1 else casting


def _chosen(
    debate: Debate[Any], turn: Turn
) -> tuple[Sequence[Perspective], Literal["person", "moderator", "keywords"], str]:
    s, say = debate.settings, debate.language
    known = s.known()
    data: Any = turn.data or {}
    opposed = s.rules == 1 or "debaters" in data  # which the first moderators of version 2 were asked for too
    if isinstance(s.perspectives, list):
        return s.named(), "person", say("the perspectives were chosen by the person who asked")
    question = " ".join([debate.topic, *(said.content for said in debate.in_round(None) if said.kind == "answer")])
    if "fallback" in turn.marks:
        chosen = catalogs.by_keywords(question, known, s.perspectives)
        note = say("the moderator's choice could not be read: the perspectives were chosen by keywords")
        return chosen, "keywords", note
    written = _written(data.get("perspectives"), known)
    if s.rules > 1:
        written = written[:MAX_SEATS]
    number = s.perspectives or len(written)
    if len(written) == number and catalogs.fault(written, opposed) is None:
        return written, "moderator", say("the moderator chose the perspectives")
    debaters = data.get("debaters", 0)
    most = MAX_SEATS if debate.rehearsed == "most" else None
    wanted = s.perspectives or (debaters if 2 <= debaters <= 4 else most)
    chosen = catalogs.by_keywords(question, known, wanted, written[: wanted or 4])
    why = catalogs.fault(written[: wanted or 4], opposed) or f"{len(written)} were chosen, {number} are wanted"
    note = say("the moderator's choice was mended by keywords ({why})", why=why.partition(";")[0])
    return chosen, "keywords", note


def _written(perspectives: Any, known: Sequence[Perspective]) -> list[Perspective]:
    """Those the moderator wrote, or named out of the catalog; of each name one."""
    found: dict[str, Perspective] = {}
    for each in perspectives or ():
        card = Card.model_validate({"name": each} if isinstance(each, str) else each)
        if perspective := catalogs.find(known, card.name) or _made(card):
            found.setdefault(perspective.name.casefold(), perspective)
    return list(found.values())


def _made(card: Card) -> Perspective | None:
    name = " ".join(card.name.split())
    wants = [want[:80] for want in card.wants[:4]]
    gives_up = f"Would give up {card.gives_up or 'nothing it has named'} for that"
    try:
        return Perspective.model_validate({"name": name, "priorities": wants, "trade_offs": gives_up})
    except ValidationError:
        return None


def _warning(debate: Debate[Any], turn: Turn, chosen: Sequence[Perspective]) -> str:
    """Said when neither the moderator, the catalog nor a comparison by meaning finds one who wants what another gives
    up."""
    if (debate.settings.nearness or 0.0) >= NEAR:
        return ""
    data: Any = turn.data or {}
    pairs = [Opposed.model_validate(pair) for pair in data.get("opposed") or ()]
    found = [(catalogs.find(chosen, pair.one), catalogs.find(chosen, pair.other)) for pair in pairs]
    found_by_moderator = any(one and other and one.name != other.name for one, other in found)
    if found_by_moderator or any(catalogs.opposed(a, b) for a, b in combinations(chosen, 2)):
        return ""
    return debate.language(
        "none of {names} wants what another gives up: they may only agree",
        names=", ".join(perspective.name for perspective in chosen),
    )


def debaters(debate: Debate[Any]) -> dict[str, str]:
    """Seat → name of those who were cast."""
    found = cast(debate)
    return {seat: perspective.name for seat, perspective in found.perspectives.items()} if found else {}


def names(debate: Debate[Any]) -> dict[str, str]:
    """Seat → name of everyone on the panel, the moderator included."""
    return {"moderator": "Moderator", **debaters(debate)}


def seats_of(debate: Debate[Any], named: Sequence[str]) -> list[str]:
    """The debaters' seats behind names as a model wrote them, each once."""
    seats = {name.casefold(): seat for seat, name in debaters(debate).items()}
    wanted = (seats.get(" ".join(name.partition(":")[0].split()).casefold()) for name in named)
    return [seat for seat in dict.fromkeys(wanted) if seat]


class Muted(NamedTuple):
    """The seats that the moderator has muted for straying, and those it wanted to although two must speak."""

    seats: list[str]
    refused: list[str]


def muted(debate: Debate[Any]) -> list[str]:
    return debate.once(("muted", len(debate.of_seat("moderator"))), lambda: muting(debate).seats)


def active_seats(debate: Debate[Any]) -> list[str]:
    """Those who may still speak."""
    silent = muted(debate)
    return [seat for seat in debaters(debate) if seat not in silent]


def muting(debate: Debate[Any], *new: Turn) -> Muted:
    """Also with turns that do not stand in the transcript yet."""
    speaking = len(debaters(debate))
    silent: list[str] = []
    refused: list[str] = []
    for turn in (*debate.of_seat("moderator"), *new):
        if turn.kind == "evaluation" and (turn.data or {}).get("mute"):
            evaluation = Evaluation.model_validate(turn.data)
            strayed = seats_of(debate, evaluation.strayed)
            more = [seat for seat in seats_of(debate, evaluation.mute) if seat in strayed and seat not in silent]
            free = max(0, speaking - catalogs.MIN_PERSPECTIVES - len(silent))
            silent += more[:free]
            refused = more[free:]
    return Muted(silent, refused)


def strayed(debate: Debate[Any], turn: Turn | None) -> list[str]:
    """The seats that the moderator found off the question in an evaluation."""
    return seats_of(debate, Evaluation.model_validate(turn.data).strayed) if turn else []


def evaluation_of(debate: Debate[Any], round: int) -> Turn | None:
    return next((turn for turn in debate.in_round(round) if turn.kind == "evaluation"), None)


def clarification(debate: Debate[Any], round: int) -> str:
    """What the moderator wanted to have clarified after a round."""
    turn = evaluation_of(debate, round)
    evaluation = Evaluation.model_validate(turn.data) if turn else Evaluation.fallback()
    return evaluation.clarification if evaluation.decision == "clarify" else ""


def heard(debate: Debate[Any]) -> range:
    """The turns that are read on the panel: those after the analysis, which was made before it met."""
    turn = analysis(debate)
    return range(turn.position + 1 if turn else 0, len(debate.transcript))


def spoken(turn: Turn) -> bool:
    """Whether a debater argued here; what stands in for an unreadable reply, or for a round of an estimate, is nobody's
    argument."""
    return turn.kind in ARGUED and bool(turn.content) and STAND_INS.isdisjoint(turn.marks)
