"""The rules of version 1 of the panel, by which debates that began under it go on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from moot.core.debate import Question, Step, Turn, span_seconds
from moot.core.script import Debate, Script
from moot.formats.panel import perspectives as catalogs
from moot.formats.panel.answers import Analysis, Evaluation, Rebuttal, Synthesis, analysis_of
from moot.formats.panel.assessment import Casting, cast, facts, heard, muted, names, verdict
from moot.formats.panel.decision import Decision, decision, rounds_of
from moot.formats.panel.settings import PanelSettings
from moot.text.plain import shortened
from moot.trust.quotes import tags

FOLDER = Path(__file__).parent / "version_1"
WHOLE_SOURCES = 6000
"""Characters; longer sources are cut into passages, and each debater gets those that matter to it in each round."""
PASSAGES = 4
MAX_REVISIONS = 3
MAX_MENTION = 160
"""Characters; a false quote is told to the moderator, who should not get a speech in its place."""
CAPS = {"analysis": 500, "summary": 300, "evaluation": 500, "synthesis": 1500}


def script(debate: Debate[PanelSettings]) -> Script[Decision]:
    casting = yield from _analysis(debate)
    debaters = list(casting.perspectives)
    speaking = ["moderator", *debaters, *debaters, "moderator"]
    with debate.until_closing():
        for round in debate.rounds(speaking, closing=["moderator"]):
            yield from _round(debate, casting, round)
            if reason := verdict(debate, round)[0]:
                debate.end_rounds(reason)
            elif debate.settings.checkpoints and round < debate.settings.max_rounds:
                yield from _checkpoint(debate, round)
    return (yield from _closing(debate, casting))


def _analysis(debate: Debate[PanelSettings]) -> Script[Casting]:
    s = debate.settings
    known = catalogs.catalog(s.custom_perspectives)
    answer = analysis_of(tuple(perspective.name for perspective in known))
    turn = yield from debate.ask(
        "moderator",
        "analysis",
        answer=answer,
        aliases={},
        max_tokens=CAPS["analysis"],
        catalog=known,
        cards=(),
        constraints=(),
        sources_are_short=_sources_are_short(s),
    )
    analysis = Analysis.model_validate(turn.data)
    if s.checkpoints and analysis.too_vague and analysis.question:
        question = Question(analysis.question, ("answer",), s.checkpoint_timeout_seconds)
        yield from debate.ask_person("answer", question)
    casting = cast(debate)
    assert casting is not None  # noqa: S101 - the analysis stands in the transcript
    return casting


def _round(debate: Debate[PanelSettings], casting: Casting, round: int) -> Script[None]:
    """Question or summary, openings side by side, rebuttals one after the other, evaluation."""
    clarification = _clarification(debate, round - 1)
    yield from _moderate(
        debate, casting, "summary", round, clarification=clarification, facts=_findings(debate, round - 1)
    )
    passages = yield from _passages(debate, casting, round)
    silent = muted(debate)
    active = [seat for seat in casting.perspectives if seat not in silent]
    openings = [_speech(debate, casting, seat, "opening", round, passages) for seat in active]
    yield from debate.ask_all(openings)
    for seat in active:
        yield from debate.ask_all([_speech(debate, casting, seat, "rebuttal", round, passages)])
    yield from _moderate(debate, casting, "evaluation", round, Evaluation, facts=_findings(debate, round))


def _speech(
    debate: Debate[PanelSettings], casting: Casting, seat: str, kind: str, round: int, passages: Mapping[str, Any]
) -> Step:
    return Step(
        seat,
        kind,
        round,
        answer=Rebuttal if kind == "rebuttal" else None,
        aliases=names(debate, casting),
        variables={
            **_known(debate, casting),
            "perspective": casting.perspectives[seat],
            "passages": passages.get(seat, ()),
            "last": round == debate.settings.max_rounds,
        },
        max_tokens=_tokens_left(debate, seat, kind, round),
        visible=heard(debate),
        # What is left of the round's time; a person's time is not counted.
        timeout=debate.settings.round_timeout_seconds - span_seconds(debate.in_round(round)),
    )


def _tokens_left(debate: Debate[PanelSettings], seat: str, kind: str, round: int) -> int | None:
    """What a debater may write now; half of its budget is kept for the rebuttal."""
    budget = debate.settings.token_budget_per_round
    written = sum(turn.usage.output_tokens for turn in debate.in_round(round) if turn.seat == seat)
    now = budget // 2 if kind == "opening" else budget - written
    return max(1, now) if budget else None


def _moderate(
    debate: Debate[PanelSettings],
    casting: Casting,
    kind: str,
    round: int | None,
    answer: type[Evaluation | Synthesis] | None = None,
    **variables: Any,
) -> Script[Turn]:
    return debate.ask(
        "moderator",
        kind,
        round,
        answer=answer,
        aliases=names(debate, casting),
        max_tokens=CAPS[kind],
        visible=heard(debate),
        **_known(debate, casting),
        **variables,
    )


def _passages(debate: Debate[PanelSettings], casting: Casting, round: int) -> Script[Mapping[str, Any]]:
    """What the library finds for each debater in sources that are too long to be read by everyone as a whole."""
    if _sources_are_short(debate.settings):
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


def _checkpoint(debate: Debate[PanelSettings], round: int) -> Script[None]:
    evaluation = [turn for turn in debate.in_round(round) if turn.kind == "evaluation"][-1]
    facts_line = _findings(debate, round)
    text = "\n".join([evaluation.content, *facts_line])
    question = Question(text, ("continue", "guide", "end"), debate.settings.checkpoint_timeout_seconds)
    said = yield from debate.ask_person("guidance", question, round)
    if said.action == "end":
        debate.end_rounds("concluded")


def _closing(debate: Debate[PanelSettings], casting: Casting) -> Script[Decision]:
    """The synthesis, and its approval; guidance leads to a revision."""
    revisions = 0
    while True:
        synthesis = yield from _moderate(
            debate,
            casting,
            "synthesis",
            None,
            Synthesis,
            facts=_findings(debate, rounds_of(debate)),
            agreed=debate.stop_reason in ("agreed", "quick_agreement", "clear_winner"),
            revised=revisions > 0,
        )
        if not debate.settings.checkpoints:
            return decision(debate, casting, synthesis, approved=None)
        drafted = decision(debate, casting, synthesis, approved=None)
        actions: tuple[Literal["approve", "guide", "reject"], ...] = (
            ("approve", "guide", "reject") if revisions < MAX_REVISIONS else ("approve", "reject")
        )
        text = f"{synthesis.content}\nConfidence: {drafted.confidence} ({'; '.join(drafted.reasons)})."
        said = yield from debate.ask_person(
            "approval", Question(text, actions, debate.settings.checkpoint_timeout_seconds)
        )
        if said.action != "guide":
            return decision(debate, casting, synthesis, said.action == "approve", said.text)
        revisions += 1


def _known(debate: Debate[PanelSettings], casting: Casting) -> dict[str, Any]:
    """What everybody on the panel knows from its beginning: who is on it, and what binds the decision."""
    return debate.once("known", lambda: _all_known(debate, casting))


def _all_known(debate: Debate[PanelSettings], casting: Casting) -> dict[str, object]:
    analysis = next(turn for turn in debate.in_round(None) if turn.kind == "analysis")
    constraints = tuple(Analysis.model_validate(analysis.data).constraints)
    cards = tuple(casting.perspectives.values())
    return {"cards": cards, "constraints": constraints, "sources_are_short": _sources_are_short(debate.settings)}


def _sources_are_short(settings: PanelSettings) -> bool:
    return sum(len(source.text) for source in settings.sources) <= WHOLE_SOURCES


def _clarification(debate: Debate[PanelSettings], round: int) -> str:
    """What the moderator wanted to have clarified after a round."""
    for turn in debate.in_round(round):
        if turn.kind == "evaluation":
            evaluation = Evaluation.model_validate(turn.data)
            return evaluation.clarification if evaluation.decision == "clarify" else ""
    return ""


def _findings(debate: Debate[PanelSettings], round: int) -> list[str]:
    """What code has found in a round, as the moderator and the person are told it."""
    known, found = names(debate), facts(debate, round)
    lines = [f"{known[seat]} repeats {found.repetition[seat]:.0%} of its last round." for seat in found.repeating]
    if found.novelty:
        shares = ", ".join(f"{known[seat]} {share:.0%}" for seat, share in found.novelty.items())
        lines.append(f"Share of what was said that was new: {shares}.")
    lines += [f"{known[seat]} was late and missed the round." for seat in found.late]
    lines += [
        f"{known[seat]} quotes “{shortened(quote.quote, MAX_MENTION)}” from {quote.tag}, which "
        + (
            "does not say so."
            if quote.verdict == "missing"
            else f"says “{shortened(quote.passage or '', MAX_MENTION)}”."
        )
        for seat, quote in found.unverified
    ]
    return lines
