"""A panel votes at the end, and others are asked alone before it: nobody reads either, and the record says both."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from moot.core.debate import JsonObject, Status
from moot.core.trust import Trust, VoteResult
from moot.formats.panel.decision import Decision
from moot.formats.panel.format import PANEL
from moot.llm.client import Request
from stage import ANALYSIS, CLEAR, FAST, SAFE, SYNTHESIS, Panelists, Stage

OPTIONS = ["Redis", "Postgres", "no cache"]
THREE: JsonObject = {**ANALYSIS, "perspectives": [FAST, CLEAR, SAFE], "options": OPTIONS}
NORMAL = {"max_rounds": 1, "checkpoints": False, "depth": "normal"}


def panel(
    votes: Mapping[str, str], alone: str = "Redis", chosen: str = "Redis", analysis: JsonObject = THREE
) -> Callable[[Request], str]:
    """Each perspective votes for an option first, those who are asked alone for another, and the record for a third."""
    others = Panelists(analysis=analysis, synthesis={**SYNTHESIS, "chosen": chosen})

    def reply(request: Request) -> str:
        if request.schema is None or request.schema.name != "choice":
            return others(request)
        asked = request.messages[-1].content.rpartition("</turn>")[2]
        voter = next((name for name in votes if f"You are {name}. " in asked), "")
        wanted = votes.get(voter, alone)
        letters = {line[3:]: line[0] for line in asked.splitlines() if line[1:3] == ": "}
        rest = [letter for option, letter in letters.items() if option != wanted]
        return json.dumps({"reason": "I say so.", "choice": [letters[wanted], *rest] if voter else letters[wanted]})

    return reply


async def played(replies: Any, **settings: Any) -> tuple[Stage, Decision]:
    stage = Stage(replies, format=PANEL, settings={**NORMAL, **settings})
    ending = await stage.run()
    assert ending.status is Status.FINISHED, ending.error
    return stage, Decision.model_validate(ending.outcome)


def voted(outcome: Decision) -> VoteResult:
    assert outcome.trust
    assert outcome.trust.vote
    return outcome.trust.vote


ALL = dict.fromkeys((FAST, CLEAR, SAFE), "Redis")
SPLIT = {FAST: "Redis", CLEAR: "Postgres", SAFE: "Postgres"}


async def test_before_the_first_round_some_are_asked_alone_and_at_the_end_the_perspectives_vote() -> None:
    stage, outcome = await played(panel(ALL))
    kinds = [kind for _, kind, _ in await stage.order()]
    assert kinds[:8] == ["analysis", *["ballot"] * 5, "summary", "opening"]
    assert kinds[-4:] == [*["vote"] * 3, "synthesis"]
    assert (outcome.chosen, voted(outcome).winner) == ("Redis", "Redis")
    assert outcome.trust_text().startswith(
        "Trust: Low; the perspectives voted Redis (3), Postgres (0), no cache (0) by plurality; "
        "5 independent answers: Redis (5), Postgres (0), no cache (0). The debate cost 14 calls"
    )


async def test_nobody_reads_a_vote_or_a_ballot_and_no_other_prompt_changes_by_a_byte() -> None:
    on, _ = await played(panel(ALL))
    off, _ = await played(panel(ALL), ballots=0)
    others = [each for each in on.model.requests if "allot" not in each.messages[1].content.split("\n")[-1]]
    assert others == off.model.requests
    assert not any("I say so." in message.content for each in on.model.requests for message in each.messages)


async def test_every_perspective_reads_the_options_in_an_order_of_its_own_and_under_letters() -> None:
    stage, _ = await played(panel(ALL))
    votes = [
        each.messages[-1].content for each in stage.model.requests if "vote in secret" in each.messages[-1].content
    ]
    orders = [tuple(line for line in text.splitlines() if line[1:3] == ": ") for text in votes]
    assert len(orders) == 3
    assert len(set(orders)) > 1
    assert all(sorted(line[3:] for line in order) == sorted(OPTIONS) for order in orders)


async def test_a_record_against_the_vote_says_so_plainly_and_is_trusted_little() -> None:
    stage, outcome = await played(panel(SPLIT, alone="Postgres", chosen="A"))
    assert (outcome.chosen, voted(outcome).winner, voted(outcome).overturned) == ("Redis", "Postgres", True)
    summary = (
        "the perspectives voted Postgres (2), Redis (1), no cache (0) by plurality: the record overturned the vote"
    )
    assert voted(outcome).summary == summary
    assert (outcome.confidence, summary in outcome.reasons) == ("Low", True)
    said = "independent answers without a debate said another thing: 5 of 5 Postgres"
    assert said in outcome.reasons
    document = outcome.document(await stage.record(), await stage.turns())
    assert f"**Vote:** {summary}." in document
    assert "**Asked alone:** 5 independent answers: Postgres (5), Redis (0), no cache (0)." in document


async def test_a_tie_is_said_and_decides_nothing() -> None:
    _, outcome = await played(panel({FAST: "Redis", CLEAR: "Postgres", SAFE: "no cache"}))
    assert voted(outcome).winner is None
    assert voted(outcome).summary.endswith("by plurality: Postgres and Redis and no cache are level")
    assert voted(outcome).summary in outcome.reasons


async def test_a_rule_may_decide_in_the_moderator_s_place_who_is_told_what_has_won() -> None:
    stage, outcome = await played(panel(SPLIT, chosen="Postgres"), decision="borda")
    asked = stage.model.requests[-1].messages[-1].content
    assert "The perspectives have voted, and Postgres has won: that is the decision." in asked
    assert (outcome.chosen, voted(outcome).rule, voted(outcome).overturned) == ("Postgres", "borda", False)
    assert outcome.summary == "Postgres, decided by Borda count."
    assert outcome.lead.startswith(str(SYNTHESIS["recommendation"]))


async def test_where_a_rule_decides_a_record_for_anything_else_is_asked_for_again_and_never_published() -> None:
    stage, outcome = await played(panel(SPLIT, chosen="Redis"), decision="borda")
    written = [each for each in stage.model.requests if each.schema and each.schema.name == "synthesis"]
    assert len(written) == 2
    assert "Postgres has won the vote, which decides" in written[1].messages[-1].content
    assert (outcome.chosen, outcome.summary) == ("Postgres", "Postgres, decided by Borda count.")
    assert (outcome.fallback, voted(outcome).overturned) == (True, False)


async def test_a_rule_that_finds_no_winner_decides_nothing_which_is_said() -> None:
    _, outcome = await played(panel(SPLIT, chosen="Redis"), decision="unanimity")
    assert (outcome.chosen, voted(outcome).winner, outcome.confidence) == ("Redis", None, "Low")
    said = "the rule decides nothing, and the recommendation is the moderator's"
    assert any(said in reason for reason in outcome.reasons)


async def test_a_quick_panel_votes_only_where_a_rule_decides() -> None:
    stage, outcome = await played(panel(ALL), depth="quick")
    assert outcome.trust is None
    assert "voter" not in stage.new.seats
    stage, outcome = await played(panel(ALL), depth="quick", decision="unanimity")
    assert [kind for _, kind, _ in await stage.order()].count("vote") == 3
    assert voted(outcome).winner == "Redis"


async def test_without_options_nobody_is_asked_and_that_is_said() -> None:
    stage, outcome = await played(panel(ALL, analysis={**THREE, "options": ["only one"]}))
    assert not {"ballot", "vote"} & {kind for _, kind, _ in await stage.order()}
    assert "nobody voted: the moderator named no options to vote on" in outcome.reasons


async def test_a_vote_for_which_there_are_no_tokens_is_left_out_and_that_is_said() -> None:
    stage, outcome = await played(panel(ALL), max_check_output_tokens=400, ballots=1)
    assert [kind for _, kind, _ in await stage.order()].count("vote") == 0
    assert "the vote was left out: max_check_output_tokens leaves no room for it" in outcome.reasons


async def test_a_decision_for_something_else_is_none_of_the_options() -> None:
    _, outcome = await played(panel(ALL, chosen="other"))
    assert (outcome.chosen, voted(outcome).overturned) == ("other", True)
    trust: Trust | None = outcome.trust
    assert trust
    assert trust.poll
    assert trust.poll.relation == "overturned"


async def test_killed_at_any_event_it_is_the_same_panel() -> None:
    settings = {**NORMAL, "decision": "copeland"}
    whole = Stage(panel(SPLIT), format=PANEL, settings=settings)
    await whole.run()
    number = 1
    while True:
        stage = Stage(panel(SPLIT), format=PANEL, settings=settings)
        if not await stage.die_at_event(number):
            break
        await stage.run()
        assert await stage.order() == await whole.order()
        number += 97
    assert number > 100
