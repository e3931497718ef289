"""The evaluation, version 2: last words, neutral names, concessions, quotes in prose, certainty and languages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import JsonValue
from test_evaluation import (
    ADVOCATE,
    CHALLENGER,
    IDEA,
    ONE_TOPIC,
    READY,
    asked,
    case,
    cast,
    judgment,
    on_stage,
    outcome_of,
)

from moot.core.events import TurnFinished
from moot.formats.evaluation.answers import Reply
from moot.formats.evaluation.scorecard import Scorecard, TopicVerdict
from stage import Stage

ONE: dict[str, JsonValue] = {**READY, **ONE_TOPIC}


def replying(advocate: Any, challenger: Any = "It stands.", **answers: Any) -> Any:
    """Sides that answer so, in prose or as a form."""
    said = [each if isinstance(each, str) else json.dumps(each) for each in (advocate, challenger)]
    return cast(reply=said, **answers)


def answer(
    text: str = "True enough.", gives_up: Sequence[int] = (), grants: Sequence[int] = ()
) -> dict[str, JsonValue]:
    return {"answer": text, "gives_up": list(gives_up), "grants": list(grants)}


async def judged(replies: Any, settings: Any = ONE) -> tuple[TopicVerdict, Stage]:
    stage = on_stage(replies, settings)
    (topic,) = (await outcome_of(stage)).topics
    return topic, stage


# Last words and names


async def test_the_sides_take_turns_at_the_last_word_and_whoever_begins_has_the_first_name() -> None:
    stage = on_stage()
    await stage.run()
    openings = [asked(stage, at).splitlines()[0:2] for at in range(3)]
    begun = [("Problem validity", "The problem is real and significant.")]
    begun += [("Solution fit", "The solution has critical flaws.")]
    begun += [("Market opportunity", "The market is large and accessible.")]
    assert openings == [
        [f"You are {ADVOCATE}. The question of this round is: {topic}.", f"Your position: {position}"]
        for topic, position in begun
    ]
    for verdict in range(12, 15):
        assert f"{CHALLENGER} spoke last, so nobody could answer that speech" in asked(stage, verdict)


async def test_no_seat_is_told_who_is_advocate_and_who_challenger() -> None:
    stage = on_stage()
    await stage.run()
    for request in stage.model.requests:
        text = " ".join(message.content for message in request.messages)
        assert "dvocate" not in text.replace("score_advocate", "")
        assert "hallenger" not in text


async def test_a_judgment_under_neutral_names_is_told_under_titles() -> None:
    said = {
        "reasoning": f"{ADVOCATE} proved it.",
        "key_points": [f"{CHALLENGER} had no figures."],
        f"strongest_{ADVOCATE.lower()}": "Ten shops.",
        f"strongest_{CHALLENGER.lower()}": "Cheap water.",
        f"score_{ADVOCATE.lower()}": 8,
        f"score_{CHALLENGER.lower()}": 4,
        "next_test": f"Let {CHALLENGER} ask the shops.",
    }
    topic, _ = await judged(cast(judgment=json.dumps(said)))
    assert (topic.reasoning, topic.key_points, topic.next_test) == (
        "Advocate proved it.",
        ["Challenger had no figures."],
        "Let Challenger ask the shops.",
    )
    assert (topic.winner, topic.strongest_advocate, topic.strongest_challenger) == (
        "advocate",
        "Ten shops.",
        "Cheap water.",
    )


async def test_an_idea_that_speaks_of_an_advocate_keeps_its_words() -> None:
    _, stage = await judged(cast(), {**ONE, "idea": f"{IDEA} Ask the Patient Advocate."})
    assert '<turn by="Advocate" round="1">' in asked(stage, 4)


async def test_the_arbiter_sees_the_score_it_moves() -> None:
    _, stage = await judged(cast())
    assert "Your verdict moves the score of 6 by at most 2 points, towards the side that argued better." in asked(
        stage, 4
    )


# Concessions


async def test_conceded_arguments_are_shown_as_conceded_to_arbiter_and_readers() -> None:
    two = [{"claim": f"Claim {at}.", "reasoning": "So.", "evidence": ""} for at in (1, 2)]
    argued = json.dumps({"case": "Listen.", "arguments": two})
    topic, stage = await judged(replying(answer(gives_up=[2, 9]), answer(grants=[1, 2]), arguments=argued))
    assert (topic.given_up, topic.granted) == ({"advocate": [2]}, {"advocate": [1]})
    assert (
        f"{ADVOCATE} gave up its own argument 2, which counts for nothing.\n"
        f"Argument 1 of {ADVOCATE} was granted by the other side: it stands.\n"
    ) in asked(stage, 4)
    notes = [event.notes for event in stage.events if isinstance(event, TurnFinished)]
    assert notes[2:4] == [("gives up its argument 2, 9",), ("grants the other side's argument 1, 2",)]
    card = Scorecard.model_validate((await stage.record()).outcome)
    document = card.document(await stage.record(), await stage.turns())
    assert "1. (granted by the other side) **Claim 1.** So.\n2. (given up) **Claim 2.** So." in document


async def test_a_side_that_gives_up_its_case_ends_the_topic_and_cannot_win_it() -> None:
    topic, stage = await judged(replying(answer(gives_up=[1])))
    assert [seat for seat, _, _ in await stage.order()] == ["advocate", "challenger", "advocate", "arbiter"]
    assert (topic.winner, topic.held_back, topic.change, topic.doubts) == ("draw", "gave_in", 0, [])
    assert topic.certainty == "medium"


@pytest.mark.parametrize(
    ("said", "numbers"),
    [([1, "2"], [1, 2]), ("1 and 3", [1, 3]), (None, []), ("none", []), (["argument 2.", -1, 1.5], [2]), (2, [2])],
)
def test_numbers_of_arguments_are_read_however_they_are_listed(said: Any, numbers: list[int]) -> None:
    assert Reply.model_validate({"answer": "Yes.", "gives_up": said}).gives_up == numbers


# Quotes


@pytest.mark.parametrize(
    "invented",
    [
        'The idea says "every shop has paid in advance".',
        "The idea says 'every shop has paid in advance'.",
        "Die Idee sagt: „every shop has paid in advance“.",
        "Elle dit «every shop has paid in advance».",
        "> every shop has paid in advance\n\nSo it says.",
    ],
)
async def test_an_invented_quote_in_prose_keeps_its_side_from_winning(invented: str) -> None:
    topic, stage = await judged(replying(invented))
    assert (topic.winner, topic.held_back, topic.change) == ("draw", "misquotes", 0)
    assert topic.misquoted == ["Advocate: “every shop has paid in advance”"]
    assert f'- {ADVOCATE} quoted what does not stand there: "every shop has paid in advance"\n' in asked(stage, 4)


async def test_the_other_side_may_win_over_one_that_misquotes() -> None:
    topic, _ = await judged(replying('It says "every shop has paid in advance".', judgment=judgment(4, 7)))
    assert (topic.winner, topic.held_back, topic.change) == ("challenger", "", -0.84)


async def test_what_the_other_side_said_may_be_quoted_and_one_s_own_words_are_not_the_idea_s() -> None:
    own = answer("Every shop has paid in advance, mark my words.")
    topic, _ = await judged(replying(own, 'You say "every shop has paid in advance".', judgment=judgment(4, 7)))
    assert (topic.misquoted, topic.winner) == ([], "challenger")
    argued = [case(reasoning="Shops ask for it every single day."), case()]
    topic, _ = await judged(replying("As it says: “shops ask for it every single day”.", arguments=argued))
    assert topic.held_back == "misquotes"


async def test_a_false_quote_is_forgiven_once_its_argument_is_given_up() -> None:
    false = {"claim": "Two.", "reasoning": "Yes.", "evidence": "A tank of ours costs 19 euros."}
    argued = json.dumps({"case": "So.", "arguments": [json.loads(case())["arguments"][0], false]})
    topic, _ = await judged(replying(answer(gives_up=[2]), arguments=[argued, case()]))
    assert (topic.winner, topic.misquoted) == ("advocate", [])


# Certainty


@pytest.mark.parametrize("word", ["low", "medium", "high", "I swear"])
async def test_the_arbiter_s_own_confidence_moves_nothing(word: str) -> None:
    topic, _ = await judged(cast(judgment=judgment(7, 4, word)))
    assert (topic.change, topic.certainty) == (0.84, "medium")


async def test_a_side_that_could_not_be_read_makes_the_verdict_uncertain() -> None:
    topic, stage = await judged(cast(arguments="I refuse."))
    assert (topic.certainty, topic.doubts, topic.change) == ("low", ["a side could not be read"], 0.48)
    card = Scorecard.model_validate((await stage.record()).outcome)
    why = "Problem validity: the advocate wins, 7 : 4, certainty low (a side could not be read): +0.5"
    assert card.categories[0].reasons == [why]


# Languages


async def test_a_german_idea_is_argued_and_reported_in_german() -> None:
    idea = "Die Hälfte der Stadt gießt ihre Gärten mit Wasser aus der Leitung. Ein Tank kostet bei uns 90 Euro."
    argued = case("Ein Tank kostet bei uns 90 Euro.", "Er ist billig.", "Das steht da.")
    stage = on_stage(replying("Stimmt.", "Nein.", arguments=argued), {"idea": idea})
    card = await outcome_of(stage)
    assert card.headline() == "6.0 → 6.8 gesamt; problem +0.8, solution +0.8, market +0.8"
    assert [topic.name for topic in card.topics] == [
        "Ist das Problem echt?",
        "Passt die Lösung?",
        "Gibt es einen Markt?",
    ]
    assert card.categories[0].reasons == ["Ist das Problem echt?: Advocate gewinnt, 7 : 4, Gewissheit mittel: +0.8"]
    document = card.document(await stage.record(), await stage.turns())
    headings = [line for line in document.splitlines() if line.startswith("## ")]
    assert headings == [
        "## Punkte",
        "## Was als Nächstes zu prüfen ist",
        "## 1. Ist das Problem echt?: Advocate gewinnt, 7 : 4",
        "## 2. Passt die Lösung?: Advocate gewinnt, 7 : 4",
        "## 3. Gibt es einen Markt?: Advocate gewinnt, 7 : 4",
        "## Was zu bedenken ist",
        "## Verlauf",
    ]
