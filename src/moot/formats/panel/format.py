"""The panel: a moderator casts two to four perspectives on a question, runs rounds, and writes a decision record.

In each round all argue at once without seeing each other, then answer one another in turn and declare where they
stand; a person may steer between the rounds. What counts as agreement, repetition or a true quote is decided by code
(see `assessment`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from moot.core.charts import ChartData, LineChart, Series, Threshold
from moot.core.debate import Question, Seat, Step, Turn
from moot.core.format import Format
from moot.core.script import Debate, Script
from moot.formats.panel import version_1
from moot.formats.panel.answers import Analysis, AnalysisOfChosen, Evaluation, Framing, Rebuttal, Synthesis
from moot.formats.panel.assessment import facts, verdict
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
    spoken,
    strayed,
)
from moot.formats.panel.decision import REASONS, Decision, RoundFacts, decision
from moot.formats.panel.notes import notes
from moot.formats.panel.pace import pause, timeout, tokens_for, usual_tokens
from moot.formats.panel.points import points
from moot.formats.panel.positions import final_agreement, last_round
from moot.formats.panel.record import level
from moot.formats.panel.settings import PanelSettings, choices
from moot.formats.panel.steps import MAX_REVISIONS, known, moderate, passages, sources_are_short
from moot.trust.novelty import REPEATS, STALE

CAPS = {"analysis": 700, "summary": 300, "evaluation": 500}
"""Tokens; the debaters have a budget for each round."""
RECORD, RECORD_OF_EACH = 1200, 450
"""Tokens of the record, and for each perspective in it."""


def script(debate: Debate[PanelSettings]) -> Script[Decision]:
    casting = yield from _analysis(debate)
    debaters = list(casting.perspectives)
    speaking = ["moderator", *debaters, *debaters, "moderator"]
    with debate.until_closing():
        for round in debate.rounds(speaking, closing=["moderator"], usual=usual_tokens(debate, len(debaters))):
            yield from _round(debate, casting, round)
            if reason := verdict(debate, round).reason:
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
        sources_are_short=sources_are_short(s),
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
        clarification=clarification(debate, round - 1),
        strayed=[by_seat[seat] for seat in strayed(debate, evaluation_of(debate, round - 1))],
        facts=_findings(debate, round - 1),
    )
    excerpts = yield from passages(debate, casting, round)
    silent = muted(debate)
    active = [seat for seat in casting.perspectives if seat not in silent]
    yield from debate.ask_all([_speech(debate, casting, seat, "opening", round, active, excerpts) for seat in active])
    for seat in active:
        yield from debate.ask_all([_speech(debate, casting, seat, "rebuttal", round, active, excerpts)])
    found = _findings(debate, round)
    yield from moderate(debate, casting, "evaluation", round, CAPS["evaluation"], Evaluation, facts=found)


def _speech(
    debate: Debate[PanelSettings],
    casting: Casting,
    seat: str,
    kind: str,
    round: int,
    active: Sequence[str],
    excerpts: Mapping[str, Any],
) -> Step:
    return Step(
        seat,
        kind,
        round,
        answer=Rebuttal if kind == "rebuttal" else None,
        aliases=names(debate, casting),
        variables={
            **known(debate, casting),
            "perspective": casting.perspectives[seat],
            "passages": excerpts.get(seat, ()),
            "false_quotes": told(debate),
            "last": round == debate.settings.max_rounds,
        },
        max_tokens=tokens_for(debate, seat, kind, round),
        visible=heard(debate),
        timeout=timeout(debate, kind, round, active),
        pause=pause(debate, len(active)),
    )


def _checkpoint(debate: Debate[PanelSettings], round: int) -> Script[None]:
    """What the moderator wants to know from the person comes first, else where the debate stands."""
    turn = evaluation_of(debate, round)
    summary = turn.content if turn else ""
    asked = clarification(debate, round)
    text = "\n".join(filter(None, [asked, summary, *_findings(debate, round)]))
    question = Question(text, ("continue", "guide", "end"), debate.settings.checkpoint_timeout_seconds)
    said = yield from debate.ask_person("guidance", question, round)
    if said.action == "end":
        debate.end_rounds("concluded")


def _closing(debate: Debate[PanelSettings], casting: Casting) -> Script[Decision]:
    """The synthesis, and its approval; guidance, or a reason to reject it, leads to a revision, which sees all of the
    record before it."""
    if not any(map(spoken, debate.transcript)):
        return decision(debate, casting, None)
    earlier, rejected = None, False
    for left in range(MAX_REVISIONS, -1, -1):
        synthesis = yield from _synthesis(debate, casting, earlier, rejected)
        drafted = decision(debate, casting, synthesis)
        if not debate.settings.checkpoints:
            return drafted
        said = yield from debate.ask_person("approval", _approval(debate, synthesis, drafted, left))
        if said.action == "approve" or not said.text:
            break
        earlier, rejected = synthesis, said.action == "reject"
    return decision(debate, casting, synthesis, said.action == "approve", said.text)


def _approval(debate: Debate[PanelSettings], synthesis: Turn, drafted: Decision, left: int) -> Question:
    """Whether it is approved, and what else a person's answer leads to, with so many revisions left."""
    say = debate.language
    actions: tuple[Literal["approve", "guide", "reject"], ...] = ("approve", "guide", "reject")
    otherwise = say(
        "Guidance or a reason to reject it leads to a revision ({left} left); rejected without a reason, it is over.",
        left=left,
    )
    if not left:
        actions, otherwise = ("approve", "reject"), say("No revision is left: rejected, it is over.")
    sure = f"{say('Confidence')}: {level(drafted)} ({'; '.join(drafted.reasons)})."
    text = "\n".join([synthesis.content, sure, otherwise])
    return Question(text, actions, debate.settings.checkpoint_timeout_seconds)


def _synthesis(debate: Debate[PanelSettings], casting: Casting, earlier: Turn | None, rejected: bool) -> Script[Turn]:
    by_seat, agreed = names(debate), final_agreement(debate)
    return moderate(
        debate,
        casting,
        "synthesis",
        None,
        RECORD + RECORD_OF_EACH * len(casting.perspectives),
        Synthesis,
        facts=_findings(debate, last_round(debate)),
        false_quotes=told(debate),
        agreeing=[by_seat[seat] for seat in agreed.agreeing],
        differing=[by_seat[seat] for seat in agreed.differing],
        earlier=Synthesis.model_validate(earlier.data).model_dump_json(indent=1) if earlier else "",
        rejected=rejected,
    )


def _findings(debate: Debate[PanelSettings], round: int) -> list[str]:
    """What code has found in a round, as the moderator and the person are told it; false quotes for good."""
    say, by_seat, found = debate.language, names(debate), facts(debate, round)
    shares = {seat: f"{share:.0%}" for seat, share in found.repetition.items()}
    lines = [
        say("{name} repeats {share} of its last round", name=by_seat[seat], share=shares[seat])
        for seat in found.repeating
    ]
    if found.novelty:
        new = ", ".join(f"{by_seat[seat]} {share:.0%}" for seat, share in found.novelty.items())
        lines.append(say("Share of what was said in new words: {shares}", shares=new))
    lines += [say("{name} was late and missed the round", name=by_seat[seat]) for seat in found.late]
    return [*lines, *told(debate)]


def charts(debate: Debate[PanelSettings], outcome: Decision) -> Iterator[ChartData]:
    new, repeated = (_shares(debate, outcome.rounds, name) for name in ("novelty", "repetition"))
    stale = Threshold(STALE, f"stale below {STALE:.0%}")
    repeats = Threshold(REPEATS, f"repetitive above {REPEATS:.0%}")
    yield LineChart("New wording, by round", new, high=1, percent=True, threshold=stale)
    yield LineChart("What was repeated, by round", repeated, high=1, percent=True, threshold=repeats)


def _shares(debate: Debate[PanelSettings], rounds: Sequence[RoundFacts], name: str) -> list[Series]:
    by_round = {each.round: getattr(each, name) for each in rounds}
    seats = dict.fromkeys(seat for shares in by_round.values() for seat in shares)
    by_seat = names(debate)
    return [
        Series(by_seat.get(seat, seat), {round: shares[seat] for round, shares in by_round.items() if seat in shares})
        for seat in seats
    ]


def _seats(moderator: int, debater: int) -> tuple[Seat, ...]:
    return (
        Seat("moderator", "Moderator", "moderator", max_tokens=moderator, temperature=0.3),
        *(Seat(seat, f"Debater {seat[-1]}", "debater", max_tokens=debater) for seat in SEATS),
        Seat("human", "You", "human", max_tokens=0, player="human"),
        Seat("library", "Library", "library", max_tokens=0, player="library"),
    )


_PANEL = Format(
    name="panel",
    version=2,
    summary="Two to four perspectives argue under a moderator, who writes a decision record.",
    settings=PanelSettings,
    seats=_seats(moderator=RECORD + 4 * RECORD_OF_EACH, debater=8000),
    outcome=Decision,
    script=script,
    folder=Path(__file__).parent,
    titles=names,
    notes=notes,
    points=points,
    charts=charts,
    example="Should we replace our REST API with GraphQL?",
    first=("perspectives", "checkpoints", "sources"),
    hidden=frozenset({"custom_perspectives"}),
    choices=choices,
    reasons=REASONS,
    asker="moderator",
    unattended={"checkpoints": False},
)
PANEL_1 = replace(
    _PANEL,
    version=1,
    settings=version_1.Settings,
    seats=_seats(moderator=1500, debater=800),
    script=version_1.script,
    folder=version_1.FOLDER,
    notes=version_1.notes,
    points=version_1.points,
)
PANEL = replace(_PANEL, earlier=(PANEL_1,))
