"""The panel: a moderator casts two to four perspectives on a question, runs rounds, and writes a decision record.

In each round all argue at once without seeing each other, then answer one another in turn; a person may steer
between the rounds. What counts as agreement, repetition or a true quote is decided by code (see `assessment`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, ValidationError, model_validator

from moot.core.charts import ChartData, LineChart, Series, Threshold
from moot.core.debate import Question, Seat, Settings, Step, Turn, span_seconds
from moot.core.format import Choice, Choices, Format
from moot.core.script import Debate, Script
from moot.errors import InvalidInput, faults
from moot.formats.panel import perspectives as catalogs
from moot.formats.panel.answers import Analysis, Evaluation, Rebuttal, Synthesis, analysis_of
from moot.formats.panel.assessment import SEATS, Casting, cast, facts, heard, muted, names, notes, verdict
from moot.formats.panel.decision import REASONS, Decision, RoundFacts, decision, rounds_of
from moot.formats.panel.perspectives import Perspective
from moot.formats.panel.points import points
from moot.text.plain import shortened
from moot.trust.novelty import REPEATS, STALE
from moot.trust.quotes import Source, tags

WHOLE_SOURCES = 6000
"""Characters; longer sources are cut into passages, and each debater gets those that matter to it in each round."""
PASSAGES = 4
MAX_REVISIONS = 3
MAX_MENTION = 160
"""Characters; a false quote is told to the moderator, who should not get a speech in its place."""
CAPS = {"analysis": 500, "summary": 300, "evaluation": 500, "synthesis": 1500}


def _number_or_names(value: Any) -> Any:
    """`3`, `auto`, or names with commas between them, as they are typed."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text.lower() in ("", "auto"):
        return None
    return int(text) if text.isdecimal() else [name.strip() for name in text.split(",") if name.strip()]


def _unlimited(value: Any) -> Any:
    return 0 if isinstance(value, str) and value.strip().lower() == "unlimited" else value


class PanelSettings(Settings):
    max_runtime_seconds: float = Field(1800, gt=0, allow_inf_nan=False)
    max_total_output_tokens: int = Field(40_000, ge=1, le=1_000_000_000)
    perspectives: Annotated[
        Annotated[int, Field(ge=2, le=4)] | list[str | Perspective] | None, BeforeValidator(_number_or_names)
    ] = Field(None, description="how many debaters, or which perspectives; chosen by the moderator otherwise")
    custom_perspectives: list[Perspective] = Field(
        default_factory=list, description="perspectives of your own, beside the built-in ones or in their place"
    )
    checkpoints: bool = Field(True, description="ask a person after each round, and for approval at the end")
    checkpoint_timeout_seconds: float = Field(1800, gt=0, allow_inf_nan=False, description="then it is paused")
    round_timeout_seconds: float = Field(120, gt=0, allow_inf_nan=False, description="who is later misses the round")
    token_budget_per_round: Annotated[int, Field(ge=0), BeforeValidator(_unlimited)] = Field(
        2000, description="output tokens of one debater in one round; 0 or unlimited turns it off"
    )
    sources: list[Source] = Field(default_factory=list, max_length=50, description="documents to argue from")
    model_debater: str | None = Field(None, description="the model of all debaters")
    model_moderator: str | None = Field(None, description="the moderator's model")

    @model_validator(mode="after")
    def _can_debate(self) -> PanelSettings:
        """A set that cannot debate is refused before anything is asked of a model."""
        if isinstance(self.perspectives, list) and (why := catalogs.fault(self.named())):
            raise ValueError(why)
        return self

    def named(self) -> list[Perspective]:
        """The perspectives the user has chosen, by name or in full."""
        known = catalogs.catalog(self.custom_perspectives)
        wanted = self.perspectives if isinstance(self.perspectives, list) else []
        return [each if isinstance(each, Perspective) else _find(known, each) for each in wanted]


def _find(known: tuple[Perspective, ...], name: str) -> Perspective:
    if found := catalogs.find(known, name):
        return found
    raise ValueError(f"no perspective named {name!r}; known: {', '.join(each.name for each in known)}")


def choices(configured: Mapping[str, JsonValue]) -> Choices:
    try:
        known = catalogs.catalog(PanelSettings.model_validate(configured).custom_perspectives)
    except ValidationError as error:
        raise InvalidInput(f"panel settings in moot.yaml: {faults(error)}") from None
    shown = {"name", "priorities", "trade_offs"}
    return {
        "perspectives": tuple(
            Choice(each.name, ", ".join(each.priorities), each.model_dump(mode="json", include=shown)) for each in known
        )
    }


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


def charts(debate: Debate[PanelSettings], outcome: Decision) -> Iterator[ChartData]:
    new, repeated = (_shares(debate, outcome.rounds, name) for name in ("novelty", "repetition"))
    stale = Threshold(STALE, f"stale below {STALE:.0%}")
    repeats = Threshold(REPEATS, f"repetitive above {REPEATS:.0%}")
    yield LineChart("What was new, by round", new, high=1, percent=True, threshold=stale)
    yield LineChart("What was repeated, by round", repeated, high=1, percent=True, threshold=repeats)


def _shares(debate: Debate[PanelSettings], rounds: Sequence[RoundFacts], name: str) -> list[Series]:
    by_round = {each.round: getattr(each, name) for each in rounds}
    seats = dict.fromkeys(seat for shares in by_round.values() for seat in shares)
    known = names(debate)
    return [
        Series(known.get(seat, seat), {round: shares[seat] for round, shares in by_round.items() if seat in shares})
        for seat in seats
    ]


PANEL = Format(
    name="panel",
    version=1,
    summary="Two to four perspectives argue under a moderator, who writes a decision record.",
    settings=PanelSettings,
    seats=(
        Seat("moderator", "Moderator", "moderator", max_tokens=1500, temperature=0.3),
        *(Seat(seat, f"Debater {seat[-1]}", "debater", max_tokens=800) for seat in SEATS),
        Seat("human", "You", "human", max_tokens=0, player="human"),
        Seat("library", "Library", "library", max_tokens=0, player="library"),
    ),
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
