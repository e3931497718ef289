"""The scribe: a seat of no side that notes the claims of a debate, before it is judged or after each round.

Nobody who argues reads its notes. Judges read the ledger that code makes of them, and name the claims that decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import Field

from moot.core.claims import Claim, Ledger
from moot.core.debate import Seat, Step, Turn, Was
from moot.core.script import Debate, Script
from moot.core.trust import CLAIMS, ClaimSummary, DecisiveClaim, Trust
from moot.text.language import Language
from moot.trust import claims
from moot.trust.claims import Notes, by_code, cited
from moot.trust.depth import Depth, JudgedSettings
from moot.trust.judging import limit_of

SCRIBE = "scribe"
PER_SPEECH = 4
MAX_TOKENS, PER_CLAIM = 2400, 75
"""Of all notes of a step, and about what a claim takes of them."""
STALE_ROUNDS = 2
"""So many rounds without a new claim end a debate whose claims are noted each round."""
When: TypeAlias = Literal["off", "end", "rounds"]
BY_DEPTH: Mapping[Depth, When] = {"quick": "off", "normal": "end", "careful": "rounds"}


def scribe(like: Seat) -> Seat:
    return Seat(SCRIBE, "Scribe", SCRIBE, max_tokens=MAX_TOKENS, temperature=0.1, like=like, optional=True)


class NotedSettings(JudgedSettings):
    """What is chosen where claims are noted."""

    ledger: Annotated[When | None, Was("off")] = Field(
        None,
        title="Claims are noted",
        description="off, at the end, or after all rounds, when speakers are told what is unanswered; by depth when "
        "empty: off, end, rounds",
    )

    @property
    def noted(self) -> When:
        return self.ledger or BY_DEPTH[self.depth]

    def seated(self, seat: Seat) -> bool:
        return self.noted != "off" if seat.group == SCRIBE else super().seated(seat)


def note_claims(
    debate: Debate[Any],
    names: Mapping[str, str],
    round: int | None = None,
    beside: Mapping[str, str] | None = None,
    visible: range | None = None,
    **variables: object,
) -> Script[None]:
    """Have the claims noted that were made since they last were, as far as limits allow.

    `names` is how the scribe knows those who argue; whoever speaks `beside` them is read, and not noted.
    """
    new = _new(debate, names)
    if SCRIBE not in debate.seats or not new or limit_of(debate, SCRIBE, 1, 1):
        return
    first = sum(len(_noted(debate, turn).claims) for turn in notes_of(debate)) + 1
    most = min(PER_SPEECH * len(new), MAX_TOKENS // PER_CLAIM)
    others = beside or {}
    told = {**variables, "noted": _numbered(debate), "first_number": first, "most": most, "beside": [*others.values()]}
    aliases = {**others, **names}
    step = Step(SCRIBE, CLAIMS, round, answer=Notes, aliases=aliases, variables=told, evidence="none", visible=visible)
    yield from debate.ask_all([step])


def _new(debate: Debate[Any], speakers: Container[str]) -> list[Turn]:
    """The speeches since claims were last noted."""
    since = max((turn.position for turn in notes_of(debate)), default=-1)
    return speeches(debate, speakers, since + 1)


def speeches(debate: Debate[Any], speakers: Container[str], since: int = 0) -> list[Turn]:
    """What those who argue have said in the debate itself, not beside it."""
    said = (turn for turn in debate.transcript[since:] if turn.seat in speakers and turn.kind not in debate.checks)
    return [turn for turn in said if turn.content]


def notes_of(debate: Debate[Any]) -> tuple[Turn, ...]:
    return tuple(turn for turn in debate.of_seat(SCRIBE) if turn.kind == CLAIMS)


def _noted(debate: Debate[Any], turn: Turn) -> Notes:
    return debate.once(("noted", turn.position), lambda: Notes.model_validate(turn.data))


def ledger_of(debate: Debate[Any], speakers: Container[str]) -> Ledger | None:
    """What was claimed so far; None where nobody noted it. A rehearsal has a claim of each side."""
    turns = notes_of(debate)
    if not turns or debate.rehearsed == "typical":
        return None
    if debate.rehearsed:
        seats = [seat for seat in debate.seats if seat in speakers and debate.of_seat(seat)]
        return Ledger(claims=[Claim(id="C1", turn=0, seat=seat, text="So.", status="unanswered") for seat in seats])
    return debate.once(("ledger", len(debate.transcript)), lambda: _ledger(debate, turns, speakers))


def _ledger(debate: Debate[Any], turns: Sequence[Turn], speakers: Container[str]) -> Ledger:
    said = speeches(debate, speakers)
    read = [Notes.model_validate(turn.data) for turn in turns if "fallback" not in turn.marks]
    found = claims.ledger(read, said)
    return found if found.claims else by_code(said).model_copy(update={"quotes_left_out": found.quotes_left_out})


class _Shown(NamedTuple):
    number: str
    text: str


def _numbered(debate: Debate[Any]) -> list[_Shown]:
    """What was noted before, under the scribe's own numbers."""
    noted = [claim for turn in notes_of(debate) for claim in _noted(debate, turn).claims]
    return [_Shown(f"C{number}", claim.text or claim.quote) for number, claim in enumerate(noted, 1)]


def is_stale(debate: Debate[Any], round: int, speakers: Container[str]) -> bool:
    """Whether the last rounds brought no claim that was not made before, in words that were said; a rehearsal wants all
    rounds."""
    ledger = None if debate.rehearsed else ledger_of(debate, speakers)
    if ledger is None or ledger.by_code or ledger.claims_left_out:
        return False
    rounds = {turn.position: turn.round for turn in debate.transcript}
    made = {rounds[claim.turn] for claim in ledger.claims}
    noted = {turn.round for turn in notes_of(debate) if "fallback" not in turn.marks}
    last = range(round, round - STALE_ROUNDS, -1)
    return all(number in noted and number not in made for number in last)


def unanswered(ledger: Ledger | None, seat: str) -> list[Claim]:
    """What others hold that this seat has not answered yet; nothing where nobody could follow the claims."""
    return claims.open_claims(ledger, seat) if ledger and not ledger.by_code else []


def with_claims(
    debate: Debate[Any],
    found: Trust | None,
    speakers: Container[str],
    named: Sequence[Sequence[str]],
    carries: Callable[[Claim], bool],
    unsound: str,
) -> Trust | None:
    """How far an outcome can be relied on, also by the claims that its judgings name.

    `carries` says whether it can rest on a claim, and `unsound` is told when it can rest on none of those named.
    """
    ledger, say = ledger_of(debate, speakers), debate.language
    if found is None:
        return None
    if ledger is None or ledger.by_code or ledger.claims_left_out:
        return found.with_reasons(_not_noted(debate, speakers, ledger))
    decisive, unknown = cited(named, ledger)
    summary = ClaimSummary(
        counts=dict(Counter(claim.status for claim in ledger.claims if claim.status)),
        decided_by=[DecisiveClaim(id=each.claim.id, judgings=each.judgings) for each in decisive],
        judgings=len(named),
        unknown=unknown,
        text=_text(decisive, len(named), say),
    )
    trust = found.model_copy(update={"claims": summary}).with_reasons(_not_noted(debate, speakers, ledger))
    if unknown:
        reason = say.count(
            unknown, "judgings name a claim that there is not", "judgings name {n} claims that there are not"
        )
        trust = trust.with_reasons([reason])
    sound = not decisive or any(carries(each.claim) for each in decisive)
    return trust if sound else trust.lowered(unsound)


def _not_noted(debate: Debate[Any], speakers: Container[str], ledger: Ledger | None) -> Iterator[str]:
    """Why claims are missing, where somebody should have noted them."""
    say = debate.language
    if ledger and ledger.by_code:
        yield say("no claims could be followed: the scribe's notes could not be used")
    elif SCRIBE in debate.seats and _new(debate, speakers) and limit_of(debate, SCRIBE, 1, 1):
        if ledger:
            yield say("claims of the last speeches were not noted: the limits leave no room for it")
        else:
            yield say("claims were not noted: the limits leave no room for it")


def _text(decisive: Sequence[claims.Cited], judgings: int, say: Language) -> str:
    if not decisive:
        return ""
    told = ", ".join(
        say("{id} ({n} of {all})", id=each.claim.id, n=each.judgings, all=judgings) for each in decisive[:4]
    )
    return say("decided by {claims}", claims=told)
