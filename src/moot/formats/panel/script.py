"""The panel: a moderator casts two to four perspectives on a question, runs rounds, and writes a decision record.

In each round all argue at once without seeing each other, then answer one another in turn and declare where they
stand; a person may steer between the rounds. What counts as agreement, repetition or a true quote is decided by code
(see `assessment`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from moot.core.debate import HumanReply, Question, Step, Turn
from moot.core.script import Debate, Lazy, Script
from moot.core.sources import read_whole
from moot.core.trust import level_word
from moot.formats.panel.answers import Analysis, AnalysisOfChosen, Evaluation, Framing, Synthesis, rebuttal
from moot.formats.panel.assessment import concluded, findings, is_moderators, verdict
from moot.formats.panel.barred import told
from moot.formats.panel.casting import (
    SEATS,
    Casting,
    active_seats,
    asks_back,
    cast,
    clarification,
    debaters,
    evaluation_of,
    heard,
    names,
    options_of,
    spoken,
    strayed,
)
from moot.formats.panel.decision import Decision, decision
from moot.formats.panel.pace import pause, timeout, tokens_for, usual_tokens
from moot.formats.panel.points import claims
from moot.formats.panel.positions import declared, final_agreement, is_agreed, last_round, misnamed
from moot.formats.panel.settings import PanelSettings
from moot.formats.panel.steps import (
    MAX_REVISIONS,
    Rules,
    compare_meanings,
    known,
    moderate,
    passages,
    read_again,
    sources_are_short,
)
from moot.formats.panel.votes import decision_of, labelled, record_form, vote
from moot.trust.judging import limit_of
from moot.trust.poll import first_ballots, further_ballots
from moot.trust.scribe import is_stale, note_claims, unanswered

RECORD, RECORD_OF_EACH = 1200, 450
"""Tokens of the record, and for each perspective in it."""


def script(debate: Debate[PanelSettings], rules: Rules) -> Script[Lazy[Decision]]:
    casting = yield from _analysis(debate, rules)
    seats = list(casting.perspectives)
    speaking = ["moderator", *seats, *seats, "moderator"]
    with debate.until_closing():
        for round in debate.rounds(speaking, closing=["moderator"], usual=usual_tokens(debate, len(seats))):
            yield from _round(debate, casting, round, rules)
            if debate.settings.noted == "rounds":
                yield from _note(debate, casting, round)
            if reason := (yield from _ended(debate, casting, round, rules)):
                debate.end_rounds(reason)
            elif debate.settings.checkpoints and round < debate.settings.max_rounds:
                yield from _checkpoint(debate, round, rules)
    return (yield from _closing(debate, casting, rules))


def _analysis(debate: Debate[PanelSettings], rules: Rules) -> Script[Casting]:
    """Who is cast for which question; a vague one is clarified first, and analysed again with the answer."""
    s = debate.settings
    turn = yield from _analyse(debate, rules, may_ask=s.checkpoints)
    if asks_back(debate, turn):
        asked = Framing.model_validate(turn.data).question
        yield from debate.ask_person("answer", Question(asked, ("answer",), s.checkpoint_timeout_seconds))
        if s.rules > 1:
            yield from _analyse(debate, rules, may_ask=False)
    casting = cast(debate)
    assert casting is not None  # noqa: S101 - the analysis stands in the transcript
    return casting


def _analyse(debate: Debate[PanelSettings], rules: Rules, may_ask: bool) -> Script[Turn]:
    s = debate.settings
    return debate.ask(
        "moderator",
        "analysis",
        answer=rules.analysis(debate),
        aliases={},
        max_tokens=rules.caps["analysis"],
        catalog=s.known(),
        chosen=tuple(s.named()),
        may_ask=may_ask,
        cards=(),
        constraints=(),
        sources_are_short=sources_are_short(debate),
    )


def _round(debate: Debate[PanelSettings], casting: Casting, round: int, rules: Rules) -> Script[None]:
    """Question or summary, openings side by side, rebuttals one after the other, evaluation."""
    by_seat = names(debate)
    yield from moderate(
        debate,
        casting,
        "summary",
        round,
        rules.caps["summary"],
        beside=_ballots(debate, casting) if round == 1 else (),
        clarification=clarification(debate, round - 1),
        strayed=[by_seat[seat] for seat in strayed(debate, evaluation_of(debate, round - 1))],
        facts=rules.findings(debate, round - 1),
    )
    found = yield from passages(debate, casting, round)
    active = active_seats(debate)
    speech = partial(_speech, debate, casting, rules, round=round, active=active, passages=found)
    yield from debate.ask_all([speech(seat, "opening") for seat in active])
    for seat in active:
        yield from debate.ask_all([speech(seat, "rebuttal")])
    yield from compare_meanings(debate, round)
    yield from moderate(
        debate,
        casting,
        "evaluation",
        round,
        rules.caps["evaluation"],
        rules.evaluation,
        facts=rules.findings(debate, round),
        positions=declared(debate),
    )


def _ballots(debate: Debate[PanelSettings], casting: Casting) -> Sequence[Step]:
    """Independent answers, cast before anybody has argued; where nothing can be chosen from there is nothing to ask."""
    options = options_of(debate)
    return first_ballots(debate, tuple(casting.perspectives), options) if options else ()


def _ended(debate: Debate[PanelSettings], casting: Casting, round: int, rules: Rules) -> Script[str | None]:
    """Why the rounds end after this one; that the moderator concludes is examined by a second reading, unless they end
    anyway."""
    s, found = debate.settings, rules.verdict(debate, round)
    examined = s.most_judgings > 1 and round < s.max_rounds and (is_moderators(found) or debate.rehearsed)
    if examined and not limit_of(debate, "moderator", 1, 1):
        yield from read_again(debate, casting, round, rules.caps["evaluation"], rules.findings(debate, round))
    return concluded(debate, round, found).reason or ("no_new_claims" if is_stale(debate, round, SEATS) else None)


def _note(debate: Debate[PanelSettings], casting: Casting, round: int | None = None) -> Script[None]:
    chair = {"moderator": names(debate)["moderator"]}
    return note_claims(debate, debaters(debate), round, chair, heard(debate), **known(debate, casting))


def _speech(
    debate: Debate[PanelSettings],
    casting: Casting,
    rules: Rules,
    seat: str,
    kind: str,
    *,
    round: int,
    active: Sequence[str],
    passages: Mapping[str, Any],
) -> Step:
    return Step(
        seat,
        kind,
        round,
        answer=rules.rebuttal(debate) if kind == "rebuttal" else None,
        aliases=names(debate),
        variables={
            **known(debate, casting),
            "perspective": casting.perspectives[seat],
            "passages": passages.get(seat, ()),
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


def _checkpoint(debate: Debate[PanelSettings], round: int, rules: Rules) -> Script[None]:
    """What the moderator wants to know from the person comes first, else where the debate stands; in version 1 that
    alone."""
    turn = evaluation_of(debate, round)
    summary, found = turn.content if turn else "", rules.findings(debate, round)
    lines = [summary, *found]
    if debate.settings.rules > 1:
        remark = concluded(debate, round, rules.verdict(debate, round)).remark
        lines = [clarification(debate, round), summary, remark, *found, *told(debate)]
    text = "\n".join(filter(None, lines))
    question = Question(text, ("continue", "guide", "end"), debate.settings.checkpoint_timeout_seconds)
    said = yield from debate.ask_person("guidance", question, round)
    if said.action == "end":
        debate.end_rounds("concluded")


def _closing(debate: Debate[PanelSettings], casting: Casting, rules: Rules) -> Script[Lazy[Decision]]:
    """The synthesis, and its approval; guidance, or a reason to reject it, leads to a revision, which sees all of the
    record before it."""
    if debate.settings.rules > 1 and not any(map(spoken, debate.transcript)):
        return decision(debate, casting, None)
    yield from _note(debate, casting)
    yield from vote(debate, casting)
    yield from further_ballots(debate, tuple(casting.perspectives), options_of(debate))
    earlier, rejected = None, False
    for left in range(MAX_REVISIONS, -1, -1):
        synthesis = yield from _synthesis(debate, casting, earlier, rejected, rules)
        if not debate.settings.checkpoints:
            return partial(rules.decision, debate, casting, synthesis)
        said = yield from debate.ask_person("approval", _approval(debate, casting, synthesis, left, rules))
        if said.action == "approve" or not _is_revised(debate, said):
            break
        earlier, rejected = synthesis, said.action == "reject"
    return partial(rules.decision, debate, casting, synthesis, said.action == "approve", said.text)


def _is_revised(debate: Debate[PanelSettings], said: HumanReply) -> bool:
    """Whether words of a person lead to another record; in version 1 any guidance did, and no reason to reject it."""
    return said.action == "guide" if debate.settings.rules == 1 else bool(said.text)


def _approval(debate: Debate[PanelSettings], casting: Casting, synthesis: Turn, left: int, rules: Rules) -> Question:
    """Whether it is approved, and what else a person's answer leads to, with so many revisions left."""
    say = debate.language
    actions: tuple[Literal["approve", "guide", "reject"], ...] = ("approve", "guide", "reject")
    otherwise = say(
        "Guidance or a reason to reject it leads to a revision ({left} left); rejected without a reason, it is over.",
        left=left,
    )
    if not left:
        actions, otherwise = ("approve", "reject"), say("No revision is left: rejected, it is over.")
    sure = "" if debate.rehearsed else _sure(rules.decision(debate, casting, synthesis))
    lines = [synthesis.content, sure, *([otherwise] if debate.settings.rules > 1 else ())]
    return Question("\n".join(lines), actions, debate.settings.checkpoint_timeout_seconds)


def _sure(drafted: Decision) -> str:
    level = level_word(drafted.confidence, drafted.say)
    return f"{drafted.say('Confidence')}: {level} ({'; '.join(drafted.reasons)})."


def _synthesis(
    debate: Debate[PanelSettings], casting: Casting, earlier: Turn | None, rejected: bool, rules: Rules
) -> Script[Turn]:
    by_seat, agreed = names(debate), final_agreement(debate)
    return moderate(
        debate,
        casting,
        "synthesis",
        None,
        rules.caps["synthesis"] + rules.caps["perspective"] * len(casting.perspectives),
        rules.record(debate),
        facts=rules.findings(debate, last_round(debate)),
        positions=declared(debate),
        agreed=is_agreed(debate),
        agreeing=[by_seat[seat] for seat in agreed.agreeing],
        differing=[by_seat[seat] for seat in agreed.differing],
        revised=earlier is not None,
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


RULES = Rules(
    analysis=lambda debate: AnalysisOfChosen if debate.settings.named() else Analysis,
    rebuttal=rebuttal,
    evaluation=Evaluation,
    record=record_form,
    caps={"analysis": 700, "summary": 300, "evaluation": 500, "synthesis": RECORD, "perspective": RECORD_OF_EACH},
    findings=findings,
    verdict=verdict,
    decision=decision,
)
