"""The panel: a moderator casts two to four perspectives on a question, runs rounds, and writes a decision record.

In each round all argue at once without seeing each other, then answer one another in turn and declare where they
stand; a person may steer between the rounds. What counts as agreement, repetition or a true quote is decided by code
(see `assessment`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from moot.core.charts import ChartData, LineChart, Series, Threshold
from moot.core.debate import Question, Seat, Step, Turn
from moot.core.format import Format, Starter
from moot.core.script import Debate, Lazy, Script
from moot.core.sources import read_whole
from moot.core.trust import BALLOT, CHECKS, CLAIMS, VOTE
from moot.formats.panel import version_1
from moot.formats.panel.answers import Analysis, AnalysisOfChosen, Evaluation, Framing, Synthesis, rebuttal
from moot.formats.panel.assessment import concluded, facts, is_moderators, observed, verdict
from moot.formats.panel.barred import told
from moot.formats.panel.casting import (
    SEATS,
    Casting,
    asks_back,
    cast,
    clarification,
    evaluation_of,
    heard,
    muted,
    names,
    options_of,
    spoken,
    strayed,
)
from moot.formats.panel.decision import REASONS, Decision, RoundFacts, decision, restated
from moot.formats.panel.notes import notes
from moot.formats.panel.pace import pause, timeout, tokens_for, usual_tokens
from moot.formats.panel.page import page
from moot.formats.panel.points import claims, points
from moot.formats.panel.positions import declared, final_agreement, last_round, misnamed, positions
from moot.formats.panel.record import level
from moot.formats.panel.settings import PanelSettings, SecondSettings, choices, compared
from moot.formats.panel.steps import (
    MAX_REVISIONS,
    compare_meanings,
    known,
    moderate,
    read_again,
)
from moot.formats.panel.votes import decision_of, labelled, record_form, vote
from moot.trust.judging import limit_of
from moot.trust.novelty import REPEATS, STALE
from moot.trust.poll import charts as poll_charts
from moot.trust.poll import first_ballots, further_ballots, voter
from moot.trust.scribe import is_stale, note_claims, scribe, unanswered

CAPS = {"analysis": 700, "summary": 300, "evaluation": 500}
"""Tokens; the debaters have a budget for each round."""
RECORD, RECORD_OF_EACH = 1200, 450
"""Tokens of the record, and for each perspective in it."""


def script(debate: Debate[PanelSettings]) -> Script[Lazy[Decision]]:
    casting = yield from _analysis(debate)
    debaters = list(casting.perspectives)
    speaking = ["moderator", *debaters, *debaters, "moderator"]
    with debate.until_closing():
        for round in debate.rounds(speaking, closing=["moderator"], usual=usual_tokens(debate, len(debaters))):
            yield from _round(debate, casting, round)
            if debate.settings.noted == "rounds":
                yield from _note(debate, casting, round)
            if reason := (yield from _ended(debate, casting, round)):
                debate.end_rounds(reason)
            elif debate.settings.checkpoints and round < debate.settings.max_rounds:
                yield from _checkpoint(debate, round)
    return (yield from _closing(debate, casting))


def _analysis(debate: Debate[PanelSettings]) -> Script[Casting]:
    """Who is cast for which question; a vague one is clarified first, and analysed again with the answer."""
    s = debate.settings
    turn = yield from _analyse(debate, may_ask=s.checkpoints)
    if asks_back(debate, turn):
        asked = Framing.model_validate(turn.data).question
        yield from debate.ask_person("answer", Question(asked, ("answer",), s.checkpoint_timeout_seconds))
        yield from _analyse(debate, may_ask=False)
    casting = cast(debate)
    assert casting is not None  # noqa: S101 - the analysis stands in the transcript
    return casting


def _analyse(debate: Debate[PanelSettings], may_ask: bool) -> Script[Turn]:
    s = debate.settings
    chosen = tuple(s.named()) if isinstance(s.perspectives, list) else ()
    return debate.ask(
        "moderator",
        "analysis",
        answer=AnalysisOfChosen if chosen else Analysis,
        aliases={},
        max_tokens=CAPS["analysis"],
        catalog=s.known(),
        chosen=chosen,
        may_ask=may_ask,
        cards=(),
        constraints=(),
    )


def _round(debate: Debate[PanelSettings], casting: Casting, round: int) -> Script[None]:
    """Question or summary, openings side by side, rebuttals one after the other, evaluation."""
    by_seat = names(debate)
    yield from moderate(
        debate,
        casting,
        "summary",
        round,
        CAPS["summary"],
        beside=_ballots(debate, casting) if round == 1 else (),
        clarification=clarification(debate, round - 1),
        strayed=[by_seat[seat] for seat in strayed(debate, evaluation_of(debate, round - 1))],
        facts=_findings(debate, round - 1),
    )
    silent = muted(debate)
    active = [seat for seat in casting.perspectives if seat not in silent]
    yield from debate.ask_all([_speech(debate, casting, seat, "opening", round, active) for seat in active])
    for seat in active:
        yield from debate.ask_all([_speech(debate, casting, seat, "rebuttal", round, active)])
    yield from compare_meanings(debate, round)
    found = _findings(debate, round)
    yield from moderate(
        debate, casting, "evaluation", round, CAPS["evaluation"], Evaluation, facts=found, positions=declared(debate)
    )


def _ballots(debate: Debate[PanelSettings], casting: Casting) -> Sequence[Step]:
    """Independent answers, cast before anybody has argued; where nothing can be chosen from there is nothing to ask."""
    options = options_of(debate)
    return first_ballots(debate, tuple(casting.perspectives), options) if options else ()


def _ended(debate: Debate[PanelSettings], casting: Casting, round: int) -> Script[str | None]:
    """Why the rounds end after this one; that the moderator concludes is examined by a second reading, unless they end
    anyway."""
    s, found = debate.settings, verdict(debate, round)
    examined = s.most_judgings > 1 and round < s.max_rounds and (is_moderators(found) or debate.rehearsed)
    if examined and not limit_of(debate, "moderator", 1, 1):
        yield from read_again(debate, casting, round, CAPS["evaluation"], _findings(debate, round))
    return concluded(debate, round).reason or ("no_new_claims" if is_stale(debate, round, SEATS) else None)


def _note(debate: Debate[PanelSettings], casting: Casting, round: int | None = None) -> Script[None]:
    debaters = names(debate, casting)
    chair = {"moderator": debaters.pop("moderator")}
    return note_claims(debate, debaters, round, chair, heard(debate), **known(debate, casting))


def _speech(
    debate: Debate[PanelSettings],
    casting: Casting,
    seat: str,
    kind: str,
    round: int,
    active: Sequence[str],
) -> Step:
    return Step(
        seat,
        kind,
        round,
        answer=rebuttal(debate) if kind == "rebuttal" else None,
        aliases=names(debate, casting),
        variables={
            **known(debate, casting),
            "perspective": casting.perspectives[seat],
            "last": round == debate.settings.max_rounds,
            "looks_up": not read_whole(debate),
            "positions": declared(debate, but=seat) if kind == "rebuttal" else [],
            "apart": misnamed(debate, seat),
            "unanswered": [claim.text for claim in unanswered(claims(debate), seat)],
        },
        max_tokens=tokens_for(debate, seat, kind, round),
        visible=heard(debate),
        timeout=timeout(debate, kind, round, active),
        pause=pause(debate, len(active)),
        looks_for=tuple(casting.perspectives[seat].priorities),
    )


def _checkpoint(debate: Debate[PanelSettings], round: int) -> Script[None]:
    """What the moderator wants to know from the person comes first, else where the debate stands."""
    turn = evaluation_of(debate, round)
    summary = turn.content if turn else ""
    asked = clarification(debate, round)
    lines = [asked, summary, concluded(debate, round).remark, *_findings(debate, round), *told(debate)]
    text = "\n".join(filter(None, lines))
    question = Question(text, ("continue", "guide", "end"), debate.settings.checkpoint_timeout_seconds)
    said = yield from debate.ask_person("guidance", question, round)
    if said.action == "end":
        debate.end_rounds("concluded")


def _closing(debate: Debate[PanelSettings], casting: Casting) -> Script[Lazy[Decision]]:
    """The synthesis, and its approval; guidance, or a reason to reject it, leads to a revision, which sees all of the
    record before it."""
    if not any(map(spoken, debate.transcript)):
        return decision(debate, casting, None)
    yield from _note(debate, casting)
    yield from vote(debate, casting)
    yield from further_ballots(debate, tuple(casting.perspectives), options_of(debate))
    earlier, rejected = None, False
    for left in range(MAX_REVISIONS, -1, -1):
        synthesis = yield from _synthesis(debate, casting, earlier, rejected)
        if not debate.settings.checkpoints:
            return partial(decision, debate, casting, synthesis)
        said = yield from debate.ask_person("approval", _approval(debate, casting, synthesis, left))
        if said.action == "approve" or not said.text:
            break
        earlier, rejected = synthesis, said.action == "reject"
    return partial(decision, debate, casting, synthesis, said.action == "approve", said.text)


def _approval(debate: Debate[PanelSettings], casting: Casting, synthesis: Turn, left: int) -> Question:
    """Whether it is approved, and what else a person's answer leads to, with so many revisions left."""
    say = debate.language
    actions: tuple[Literal["approve", "guide", "reject"], ...] = ("approve", "guide", "reject")
    otherwise = say(
        "Guidance or a reason to reject it leads to a revision ({left} left); rejected without a reason, it is over.",
        left=left,
    )
    if not left:
        actions, otherwise = ("approve", "reject"), say("No revision is left: rejected, it is over.")
    sure = "" if debate.rehearsed else _sure(debate, casting, synthesis)
    text = "\n".join([synthesis.content, sure, otherwise])
    return Question(text, actions, debate.settings.checkpoint_timeout_seconds)


def _sure(debate: Debate[PanelSettings], casting: Casting, synthesis: Turn) -> str:
    drafted = decision(debate, casting, synthesis)
    return f"{debate.language('Confidence')}: {level(drafted)} ({'; '.join(drafted.reasons)})."


def _synthesis(debate: Debate[PanelSettings], casting: Casting, earlier: Turn | None, rejected: bool) -> Script[Turn]:
    by_seat, agreed = names(debate), final_agreement(debate)
    return moderate(
        debate,
        casting,
        "synthesis",
        None,
        RECORD + RECORD_OF_EACH * len(casting.perspectives),
        record_form(debate),
        facts=_findings(debate, last_round(debate)),
        positions=declared(debate),
        agreeing=[by_seat[seat] for seat in agreed.agreeing],
        differing=[by_seat[seat] for seat in agreed.differing],
        earlier=Synthesis.model_validate(earlier.data).model_dump_json(indent=1) if earlier else "",
        rejected=rejected,
        options=labelled(debate),
        decided=decision_of(debate),
        claims=_claimed(debate),
    )


def _claimed(debate: Debate[PanelSettings]) -> list[tuple[str, str, str, str]]:
    """What the moderator is told of each claim: its id, how it ended, whose it is, and its text."""
    ledger, by_seat = claims(debate), names(debate)
    found = ledger.claims if ledger and not ledger.by_code else []
    return [(claim.id, claim.status or "", by_seat[claim.seat], claim.text) for claim in found]


def _findings(debate: Debate[PanelSettings], round: int) -> list[str]:
    """What code has found in a round, as the moderator and the person are told it."""
    say, by_seat, found = debate.language, names(debate), facts(debate, round)
    lines = observed(debate, round)
    if found.novelty:
        new = ", ".join(f"{by_seat[seat]} {share:.0%}" for seat, share in found.novelty.items())
        lines.append(say("Share of what was said in new words: {shares}", shares=new))
    lines += [say("{name} was late and missed the round", name=by_seat[seat]) for seat in found.late]
    return lines


def charts(debate: Debate[PanelSettings], outcome: Decision) -> Iterator[ChartData]:
    new, repeated = (_shares(debate, outcome.rounds, name) for name in ("novelty", "repetition"))
    say = debate.language
    stale = Threshold(STALE, say("stale below {share}", share=f"{STALE:.0%}"))
    repeats = Threshold(REPEATS, say("repetitive above {share}", share=f"{REPEATS:.0%}"))
    yield LineChart(say("New wording, by round"), new, high=1, percent=True, threshold=stale)
    yield LineChart(say("What was repeated, by round"), repeated, high=1, percent=True, threshold=repeats)
    yield from poll_charts(outcome)


def _shares(debate: Debate[PanelSettings], rounds: Sequence[RoundFacts], name: str) -> list[Series]:
    by_round = {each.round: getattr(each, name) for each in rounds}
    seats = dict.fromkeys(seat for shares in by_round.values() for seat in shares)
    by_seat = names(debate)
    return [
        Series(
            by_seat.get(seat, seat), {round: shares[seat] for round, shares in by_round.items() if seat in shares}, seat
        )
        for seat in seats
    ]


def _seats(moderator: int, debater: int) -> tuple[Seat, ...]:
    debaters = [Seat(seat, f"Debater {seat[-1]}", "debater", max_tokens=debater) for seat in SEATS]
    chair = Seat("moderator", "Moderator", "moderator", max_tokens=moderator, temperature=0.3)
    return (
        chair,
        *debaters,
        Seat("human", "You", "human", max_tokens=0, player="human"),
        Seat("library", "Library", "library", max_tokens=0, player="library"),
        scribe(like=chair),
        voter(like=debaters[0], optional=True),
    )


_PANEL: Format[Any, Decision] = Format(
    name="panel",
    version=3,
    summary="Two to four perspectives argue under a moderator, who writes a decision record.",
    settings=PanelSettings,
    seats=_seats(moderator=RECORD + 4 * RECORD_OF_EACH, debater=8000),
    outcome=Decision,
    script=script,
    folder=Path(__file__).parent,
    titles=names,
    restated=restated,
    notes=notes,
    points=points,
    claims=claims,
    charts=charts,
    closing=lambda debate: ("Synthesis", "Your approval") if debate.settings.checkpoints else ("Synthesis",),
    stands=lambda debate: {seat: held.recommendation for seat, held in positions(debate).items()},
    page=page,
    example="Should we replace our REST API with GraphQL?",
    picture="table",
    starters=(
        Starter(
            "Should we use Redis or PostgreSQL for caching?",
            "choose between technologies, with your numbers as a source",
            {"perspectives": 3, "depth": "normal"},
        ),
        Starter(
            "Which of these three offers should we take?",
            "add the offers as files; every quote is checked",
            {"perspectives": 2, "depth": "careful"},
        ),
    ),
    folded=CHECKS | {BALLOT, CLAIMS, VOTE},
    first=("perspectives", "checkpoints", "depth"),
    hidden=frozenset({"custom_perspectives", "nearness"}),
    compared=("nearness", compared),
    choices=choices,
    reasons=REASONS,
    asker="moderator",
    unattended={"checkpoints": False},
)
PANEL_2 = replace(_PANEL, version=2, settings=SecondSettings)
PANEL_1 = replace(
    _PANEL,
    version=1,
    settings=version_1.Settings,
    folded=frozenset(),
    first=("perspectives", "checkpoints", "sources"),
    seats=_seats(moderator=1500, debater=800)[:-2],
    script=version_1.script,
    folder=version_1.FOLDER,
    notes=version_1.notes,
    points=version_1.points,
    own_sources=True,
)
PANEL = replace(_PANEL, earlier=(PANEL_2, PANEL_1))
