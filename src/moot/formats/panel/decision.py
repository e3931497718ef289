"""The decision a panel comes to: what was considered, what is recommended, how sure that is and why.

The words are the moderator's; links to turns, confidence, agreement, dissent and everything counted are code's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from moot.core.debate import Issue, Record, Turn
from moot.core.page import told
from moot.core.quoting import quotes_of
from moot.core.script import Debate
from moot.core.trust import Basis, Level, Trust, VoteResult, level_word
from moot.formats.panel import record as records
from moot.formats.panel.answers import Considered, Framing, Synthesis, View
from moot.formats.panel.assessment import facts
from moot.formats.panel.barred import marked, rests_on
from moot.formats.panel.casting import ARGUED, SEATS, Casting, analysis, debaters, muted, names, options_of, spoken
from moot.formats.panel.confidence import confidence, not_asked
from moot.formats.panel.positions import final_agreement, last_round, positions
from moot.formats.panel.record import first_sentence
from moot.formats.panel.votes import chosen_option, decision_of, not_voted, rule_of, vote_result
from moot.sources.source import text_by_tag
from moot.trust.caveats import about_models, only_model
from moot.trust.claims import stands
from moot.trust.figures import provenance
from moot.trust.links import linked
from moot.trust.poll import with_poll
from moot.trust.quality import Rated
from moot.trust.scribe import with_claims
from moot.trust.voting import rule_name

REASONS = {
    "agreed": "every debater declared the same recommendation",
    "majority": "most debaters declared the same recommendation",
    "clear_winner": "another debater conceded to one perspective, in its own words",
    "quick_agreement": "everybody agreed in the first round",
    "stagnant": "the arguments stopped moving before agreement",
    "repetition": "the debaters repeated themselves without agreeing",
    "no_new_claims": "two rounds brought no new claim",
}


class KeyArgument(BaseModel):
    text: str
    turns: list[int] = Field(default_factory=list, description="the positions of the turns it came from")
    barred: bool = Field(False, description="whether it repeats a quote that does not stand in its source")


class FinalPosition(BaseModel):
    """One perspective in the record."""

    seat: str
    name: str
    key_arguments: list[KeyArgument]
    trade_offs: str
    verified_quotes: int = 0
    all_quotes: int = 0
    option: str = Field("", description="the option it argues for")
    recommendation: str = Field("", description="its last own position")
    agrees: bool = Field(False, description="whether it declared the recommendation that most share")
    would_change: str = Field("", description="what would change its mind")


class Option(BaseModel):
    """Something that could be done, and why it is or is not recommended."""

    name: str
    recommended: bool
    why: str


class Told(BaseModel):
    """What a person told the panel, in which turn and after which round; 0 is before the first."""

    round: int
    turn: int
    text: str
    who: str = ""


class RoundFacts(BaseModel):
    """What code measured in a round, by seat."""

    round: int
    novelty: dict[str, float]
    repetition: dict[str, float]
    late: list[str]


class Decision(Rated):
    """The record of a decision; `summary` is the recommendation."""

    shows_document: ClassVar[bool] = True

    perspectives: list[FinalPosition]
    agreement: list[str]
    tensions: list[str]
    conditions: list[str] = Field(description="what might change the recommendation")
    dissent: str
    confidence: Level
    reasons: list[str] = Field(description="why the confidence is what it is")
    lifts: list[str] = Field(default_factory=list, description="what would raise the confidence")
    rounds: list[RoundFacts]
    tasks: list[str]
    acceptance: list[str]
    approved: bool | None = None
    approved_by: str = Field("", description="who approved or rejected it, where their name is known")
    remark: str = Field("", description="why a person rejected it")
    fallback: bool = False
    ended: str = ""
    title: str = Field("", description="the question as the moderator restated it, where it had to be clarified")
    options: list[Option] = Field(default_factory=list)
    open_questions: list[str] = Field(default_factory=list)
    told: list[Told] = Field(default_factory=list, description="what a person told the panel")
    chosen: str = Field("", description="which of the options that were voted on it is; `other` if none of them")
    sources: list[str] = Field(default_factory=list, description="the names of S1, S2, …")

    def headline(self) -> str:
        say = self.say
        what = {"decision": first_sentence(self.summary), "level": level_word(self.confidence, say)}
        match self.approved:
            case None:
                return say("{decision} ({level} confidence)", **what)
            case True:
                return say("{decision} ({level} confidence, approved)", **what)
            case False:
                return say("{decision} ({level} confidence, rejected)", **what)

    def listed(self) -> str:
        return told(self.summary).headline or self.headline()

    def rated(self) -> float | None:
        return None if self.fallback else {"High": 9.0, "Medium": 6.0, "Low": 3.0}[self.confidence]

    def table(self) -> tuple[tuple[str, ...], ...]:
        say = self.say
        rows = [
            (view.name, str(len(view.key_arguments)), f"{view.verified_quotes}/{view.all_quotes}", self._new(view.seat))
            for view in self.perspectives
        ]
        cited = any(view.all_quotes for view in self.perspectives)
        header = (say("perspective"), say("key arguments"), say("quotes verified"), say("new wording in last round"))
        return tuple((*row[:2], *row[3 - cited :]) for row in (header, *rows))

    def _new(self, seat: str) -> str:
        last = self.rounds[-1].novelty.get(seat) if self.rounds else None
        return "–" if last is None else f"{last:.0%}"

    def rests_on(self) -> Basis:
        """With what the perspectives argued that share it."""
        arguments = [
            each for view in self.perspectives if view.agrees for each in view.key_arguments if not each.barred
        ]
        linked = frozenset(turn for each in arguments for turn in each.turns)
        own = (self.summary, self.lead, *self.agreement, *(each.text for each in arguments))
        figures = (line for line in self.figures if any(line.partition(":")[0] in text for text in own))
        return Basis((*own, *figures), linked)

    def todo(self) -> list[str]:
        return self.tasks

    def is_approved(self) -> bool:
        return self.approved is True

    def document(self, record: Record, turns: Sequence[Turn]) -> str:
        return "\n".join(records.document(self, record, turns))

    def issue(self, record: Record) -> Issue | None:
        return None if self.fallback or self.approved is False else records.issue(self, record)


def decision(
    debate: Debate[Any], casting: Casting, synthesis: Turn | None, approved: bool | None = None, remark: str = ""
) -> Decision:
    say = debate.language
    nothing = say("Nobody spoke, so nothing is recommended.")
    answer = Synthesis.model_validate(synthesis.data) if synthesis else Synthesis(recommendation=nothing)
    chosen = chosen_option(debate, answer)
    vote = vote_result(debate, chosen)
    summary, lead = _decided(debate, answer, chosen)
    rated = confidence(debate, synthesis, f"{answer.recommendation}\n{answer.lead}", vote)
    trust = _trust(debate, rated.level, chosen, vote, answer.because)
    agreed = final_agreement(debate)
    perspectives = views(debate, answer.perspectives, agreed.agreeing)
    unresolved = [] if agreed.of_all else [say("unresolved: the perspectives did not agree")]
    return Decision(
        summary=summary,
        lead=lead,
        language=say.code,
        title=restated(debate),
        perspectives=perspectives,
        options=[Option(name=each.option, recommended=each.recommended, why=each.why) for each in answer.options],
        agreement=marked(debate, answer.agreement),
        tensions=marked(debate, answer.tensions) or unresolved,
        conditions=answer.changes_if,
        dissent="\n\n".join(_dissent(debate, agreed.differing)),
        confidence=trust.level if trust else rated.level,
        reasons=[*rated.reasons, *(trust.reasons if trust else ())],
        lifts=rated.lifts,
        rounds=round_facts(debate),
        tasks=answer.tasks,
        acceptance=answer.acceptance,
        open_questions=answer.open_questions,
        told=list(_told(debate)),
        sources=[source.name for source in debate.sources],
        approved=approved,
        approved_by="" if approved is None else debate.transcript[-1].who,
        remark=remark,
        fallback=synthesis is None or "fallback" in synthesis.marks,
        ended=debate.stop_reason or "",
        caveats=list(caveats(debate, casting)),
        figures=_figures(debate, answer, perspectives),
        chosen=chosen,
        trust=trust,
    )


def _decided(debate: Debate[Any], answer: Synthesis, chosen: str) -> tuple[str, str]:
    """The decision and what tipped the balance: where a rule decides, the winner, and all of the moderator's words."""
    winner = decision_of(debate)
    if not winner or chosen != winner:  # a record of an earlier moot may have overturned its vote
        return answer.recommendation, answer.lead
    say = debate.language
    decided = say("{option}, decided by {rule}.", option=winner, rule=rule_name(rule_of(debate), say))
    return decided, " ".join(filter(None, (answer.recommendation, answer.lead)))


def _trust(
    debate: Debate[Any], level: Level, chosen: str, vote: VoteResult | None, because: Sequence[str]
) -> Trust | None:
    """What votes, independent answers and claims say of the decision; None where nobody was asked."""
    found = Trust(level=level, vote=vote, reasons=list(not_voted(debate)))
    polled = with_poll(debate, found, chosen, options) if (options := options_of(debate)) else found
    unsound = debate.language("every claim that the record names was dropped or withdrawn")
    examined = with_claims(debate, polled, SEATS, [because] if because else [], stands, unsound)
    asked = examined and (examined.poll or examined.vote or examined.claims or examined.reasons)
    return examined if asked else None


def _figures(debate: Debate[Any], answer: Synthesis, perspectives: Sequence[FinalPosition]) -> list[str]:
    """Where those of the record come from: of the recommendation and what it rests on first."""
    arguments = [argument.text for view in perspectives for argument in view.key_arguments]
    options = [f"{each.option}: {each.why}" for each in answer.options]
    lists = (arguments, options, answer.changes_if, answer.agreement, answer.tasks, answer.acceptance, answer.tensions)
    said = "\n".join([answer.recommendation, answer.lead, *chain(*lists), *answer.open_questions])
    return provenance(debate, said, debaters(debate), text_by_tag(debate.sources))


def restated(debate: Debate[Any]) -> str:
    """The moderator's restatement of a question that a person had to clarify."""
    turn = analysis(debate)
    answers = [said.position for said in debate.in_round(None) if said.kind == "answer"]
    if turn is None or not answers or turn.position < answers[0]:
        return ""
    return str((turn.data or {}).get("title") or "")


def _told(debate: Debate[Any]) -> Iterator[Told]:
    round = 0
    for turn in debate.transcript:
        round = turn.round or round
        ends = turn is debate.transcript[-1] and (turn.data or {}).get("action") == "reject"
        if turn.seat == "human" and turn.content and turn.kind != "conclude" and not ends:
            yield Told(round=round, turn=turn.position, text=turn.content, who=turn.who)


def _dissent(debate: Debate[Any], differing: Sequence[str]) -> Iterator[str]:
    """Each dissenter's last own position; where none was declared, how it began its last opening."""
    say, known, held = debate.language, names(debate), positions(debate)
    for seat in differing:
        if own := held.get(seat):
            text = f"{known[seat]}: {own.recommendation}"
            if own.would_change:
                text += " " + say("(Would change its mind: {condition})", condition=own.would_change)
            yield text
            continue
        spoke = [turn for turn in debate.of_seat(seat) if spoken(turn)]
        openings = [turn for turn in spoke if turn.kind == "opening"] or spoke
        if openings:
            yield f"{known[seat]}: {first_sentence(openings[-1].content)}"


def caveats(debate: Debate[Any], casting: Casting) -> Iterator[str]:
    say, known = debate.language, debaters(debate)
    if casting.by == "keywords":
        yield casting.note
    if casting.warning:
        yield casting.warning
    if not any(map(spoken, debate.transcript)):
        yield say("nobody spoke: there was nothing to decide from")
    for turn in debate.transcript:
        yield from _about_turn(debate, turn, known)
    for seat, name in known.items() if debate.settings.rules > 1 else ():
        for kind in not_asked(debate, seat):
            yield say("{name} was not asked for its {kind} in the last round", name=name, kind=say_kind(debate, kind))
    yield from (say("{name} was muted for straying from the question", name=known[seat]) for seat in muted(debate))
    analysed, answered = analysis(debate), any(said.kind == "answer" for said in debate.transcript)
    if analysed and Framing.model_validate(analysed.data).too_vague and not answered:
        yield say("the moderator found the question vague, and nobody was there to clarify it")
    if debate.settings.rules == 1 or not only_model(debate):  # that is a reason of the confidence
        yield from about_models(debate, "moderator", known)


def say_kind(debate: Debate[Any], kind: str) -> str:
    say = debate.language
    return say("opening") if kind == "opening" else say("rebuttal")


def _about_turn(debate: Debate[Any], turn: Turn, known: dict[str, str]) -> Iterator[str]:
    say = debate.language
    if turn.kind in ARGUED:
        what = {"name": known[turn.seat], "kind": say_kind(debate, turn.kind), "round": turn.round}
        if "late" in turn.marks:
            yield say("{name} was late and missed its {kind} in round {round}", **what)
        if "truncated" in turn.marks:
            yield say("{name}'s {kind} in round {round} ran into the output cap", **what)
    if turn.kind == "passages" and turn.marks:
        yield say(
            "the sources could not be searched in round {round}: the debaters knew only their names", round=turn.round
        )


def views(debate: Debate[Any], written: Sequence[View], agreeing: Sequence[str] = ()) -> list[FinalPosition]:
    """Every perspective of the panel, with what the moderator wrote of it."""
    by_name = {each.perspective.casefold(): each for each in reversed(written)}
    return [
        _view(debate, seat, name, by_name.get(name.casefold(), View()), seat in agreeing)
        for seat, name in debaters(debate).items()
    ]


def _view(debate: Debate[Any], seat: str, name: str, mine: View, agrees: bool) -> FinalPosition:
    said = [turn for turn in debate.of_seat(seat) if spoken(turn)]
    held = positions(debate).get(seat)
    found = [quote for turn in said for quote in quotes_of(debate, turn)]
    return FinalPosition(
        seat=seat,
        name=name,
        key_arguments=_key_arguments(debate, mine, said),
        trade_offs=mine.trade_offs_accepted,
        verified_quotes=sum(quote.verdict == "verified" for quote in found),
        all_quotes=len(found),
        option=mine.option if isinstance(mine, Considered) else "",
        recommendation=held.recommendation if held else "",
        agrees=agrees,
        would_change=held.would_change if held else "",
    )


def _key_arguments(debate: Debate[Any], mine: View, said: Sequence[Turn]) -> list[KeyArgument]:
    """As the moderator chose them, with the turns they came from; else how each opening began."""
    openings = [(first_sentence(turn.content), [turn.position]) for turn in said if turn.kind == "opening"]
    points = [(point, linked(point, said)) for point in mine.key_arguments] or openings
    checked = debate.settings.rules > 1
    return [
        KeyArgument(text=text, turns=turns, barred=checked and rests_on(debate, text) is not None)
        for text, turns in points
    ]


def round_facts(debate: Debate[Any]) -> list[RoundFacts]:
    rounds = range(1, last_round(debate) + 1)
    found = [(round, facts(debate, round)) for round in rounds]
    return [
        RoundFacts(round=round, novelty=each.novelty, repetition=each.repetition, late=list(each.late))
        for round, each in found
    ]
