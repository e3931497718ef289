"""What a reader sees of an evaluation: how the scores moved, then topic by topic the finding and both cases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moot.core.charts import Score, ScoreChart, margins_of, signed
from moot.core.page import (
    Argument,
    Fact,
    Figure,
    Line,
    Lines,
    OutcomePage,
    Part,
    Prose,
    Section,
    Side,
    Sides,
    lines_of,
    listed,
    opening,
    present,
)
from moot.core.script import Debate
from moot.formats.evaluation.answers import arguments
from moot.formats.evaluation.evidence import quoted
from moot.formats.evaluation.scorecard import Scorecard, TopicVerdict
from moot.formats.evaluation.settings import SIDES, TITLES
from moot.text.language import Language
from moot.trust.block import block_of, figures, quotes_fact


def page(debate: Debate[Any], card: Scorecard) -> OutcomePage:
    say = card.say
    return OutcomePage(
        label=say("Result"),
        headline=card.listed(),
        lead=opening(card.lead or card.summary),
        whole=Prose("\n\n".join(filter(None, (card.summary, card.lead))), fold=say("In full")),
        trust=block_of(card, list(_facts(card))),
        sections=present(
            Section("scores", say("Scores"), (Figure(score_chart(card)), *_reasons(card))),
            Section("tests", say("What to test next"), _tests(card)),
            Section("stable", say("Does it hold?"), tuple(map(Figure, judgings(card)))),
            *(_topic(debate, topic, say) for topic in card.topics),
            Section("not-judged", say("Not judged"), listed(card.not_judged, "turn")),
            Section("idea", say("The idea, as it was judged"), _idea(debate, say)),
            Section("figures", "", figures(card.figures, say)),
            Section("caveats", say("What to keep in mind"), listed(card.caveats, "turn")),
        ),
    )


def judgings(card: Scorecard) -> Iterator[Any]:
    return margins_of(card, (TITLES["advocate"], TITLES["challenger"]), ("advocate", "challenger"))


def score_chart(card: Scorecard) -> ScoreChart:
    """Without topics nothing came between before and after."""
    noise = {one.category: one.noise for one in card.categories}
    *scores, whole = (
        Score(name, before if card.topics else None, after, noise.get(name), _note(name, card))
        for name, before, after in card.rows()
    )
    return ScoreChart("Points out of 10, before and after" if card.topics else "Scores", scores, whole, _finding(card))


def _note(category: str, card: Scorecard) -> str:
    """Who won the topics about it."""
    told = [f"{topic.winner}, {topic.score_advocate:g} : {topic.score_challenger:g}" for topic in card.topics]
    own = [line for line, topic in zip(told, card.topics, strict=True) if topic.category == category]
    return own[0] if len(own) == 1 else f"{len(own)} topics" if own else ""


def _finding(card: Scorecard) -> str:
    moves = [round(one.after - one.before, 2) for one in card.categories]
    if not card.topics or not moves:
        return ""
    most = max(card.categories, key=lambda one: abs(one.after - one.before)).category
    if all(move < 0 for move in moves):
        return f"Every score fell, {most} most" if len(moves) > 1 else "The score fell"
    if all(move > 0 for move in moves):
        return f"Every score rose, {most} most" if len(moves) > 1 else "The score rose"
    if not any(moves):
        return "No score moved"
    return f"{sum(move < 0 for move in moves)} fell, {sum(move > 0 for move in moves)} rose, {most} moved most"


def _facts(card: Scorecard) -> Iterator[Fact]:
    say = card.say
    counts = [count for topic in card.topics for count in topic.quotes.values()]
    yield from quotes_fact(sum(each.verified for each in counts), sum(each.given for each in counts), say)
    noise = [one.noise for one in card.categories if one.noise is not None]
    if noise:
        yield Fact(f"± {max(noise):.1f}", say("points: how far one scoring differs from another"))
    given_up = sum(len(own) for topic in card.topics for own in topic.given_up.values())
    if given_up:
        yield Fact(say.count(given_up, "1 argument given up", "{n} arguments given up"), say("by those who made them"))


def _reasons(card: Scorecard) -> tuple[Lines, ...]:
    lines = [Line(reason, strong=f"{one.category}:") for one in card.categories for reason in one.reasons]
    return (Lines(tuple(lines), "turn"),) if lines else ()


def _tests(card: Scorecard) -> tuple[Lines, ...]:
    lines = [Line(topic.next_test, strong=f"{topic.name}:") for topic in card.topics_to_test()]
    return (Lines(tuple(lines), "flag"),) if lines else ()


def _topic(debate: Debate[Any], topic: TopicVerdict, say: Language) -> Section:
    winner = topic.winner if topic.winner in SIDES else ""
    scores = f"{topic.score_advocate:g} : {topic.score_challenger:g}"
    parts: list[Part] = [Prose(topic.reasoning)]
    if topic.misquoted:
        parts.append(
            Lines(
                tuple(Line(each, strong=f"{say('Quoted, but not in the idea')}:") for each in topic.misquoted), "turn"
            )
        )
    if topic.key_points:
        parts.append(Lines(lines_of(*topic.key_points), "check"))
    parts.append(Sides(tuple(_side(debate, seat, topic, say) for seat in ("advocate", "challenger"))))
    told = {"advocate": say("advocate wins"), "challenger": say("challenger wins")}.get(winner) or topic.result(say)
    facts = (told, scores, signed(topic.change)) if winner else (told,)
    return Section(f"topic-{topic.number}", topic.name, tuple(parts), facts, winner)


def _side(debate: Debate[Any], seat: str, topic: TopicVerdict, say: Language) -> Side:
    idea = debate.settings.quotable(debate.topic)
    about = debate.settings.topics[topic.number - 1]
    made = [turn for turn in debate.in_round(topic.number) if (turn.seat, turn.kind) == (seat, "argument")]
    found: list[Argument] = []
    for turn in made:
        verdicts = {quote.text: quote.verdict for quote in quoted(turn, idea)}
        for number, each in enumerate(arguments(turn), 1):
            stands = verdicts.get(each.evidence, "verified") == "verified"
            found.append(Argument(each.claim, each.reasoning, each.evidence, stands, topic.fate(seat, number, say)))
    return Side(seat, about.advocate if seat == "advocate" else about.challenger, tuple(found))


def _idea(debate: Debate[Any], say: Language) -> tuple[Prose, ...]:
    idea = debate.settings.quotable(debate.topic)
    return (Prose(idea, fold=say("Read it")),) if idea.strip() else ()
