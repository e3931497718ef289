"""Two debates side by side: what differs in their making, and which claims both have."""

from __future__ import annotations

from typing import Any

from moot.app import App
from moot.app.rejudging import rejudge
from moot.core.claims import Claim
from moot.reading.comparison import Comparison, Piece, SharedClaimView, comparison_view, marked, matched
from moot.testing import ScriptedModel, scripted_app
from stage import sensible


def claims(*texts: str) -> list[Claim]:
    return [Claim(id=f"C{at}", turn=at, seat="a", text=text) for at, text in enumerate(texts, 1)]


def test_claims_are_one_when_made_of_nearly_the_same_words_and_never_when_they_say_the_opposite() -> None:
    a = claims(
        "Latency of the cache itself does not decide.",
        "A logged table read from the replica takes reads off the primary.",
        "The load test needs 7,400 requests a second.",
        "Redis is safe.",
    )
    b = claims(
        "Redis is not safe.",
        "The latency of the cache does not decide.",
        "The load test needs 9,000 requests a second.",
        "A pooler in front of the primary must be part of the test.",
    )
    found = matched(a, b)
    assert [(each.a.id, each.b.id) for each in found.both] == [("C1", "C2")]
    assert [claim.id for claim in found.only_a] == ["C2", "C3", "C4"]
    assert [claim.id for claim in found.only_b] == ["C1", "C3", "C4"]


def test_a_claim_has_one_partner_the_likest() -> None:
    found = matched(
        claims("Cats sleep a lot by day."), claims("Cats sleep a lot by day, too.", "Cats sleep a lot by day.")
    )
    assert [(each.a.id, each.b.id) for each in found.both] == [("C1", "C2")]


def test_only_what_differs_is_marked() -> None:
    assert marked("Switch above 70% CPU over 5 minutes.", "Switch above 65% CPU over any 5 minutes.") == (
        (Piece("Switch above ", False), Piece("70% ", True), Piece("CPU over ", False), Piece("5 minutes.", False)),
        (
            Piece("Switch above ", False),
            Piece("65% ", True),
            Piece("CPU over ", False),
            Piece("any ", True),
            Piece("5 minutes.", False),
        ),
    )


def test_two_texts_that_share_little_are_not_marked_word_by_word() -> None:
    a, b = "Keep the table, and test it by August.", "Buy a managed server now; nothing else will do."
    assert marked(a, b) == ((Piece(a, False),), (Piece(b, False),))


async def duel(app: App, **settings: Any) -> str:
    record = await app.create("duel", "Cats?", {"max_rounds": 1, **settings})
    await app.run(record.id, lambda event: None)
    return record.id


async def test_a_rerun_differs_in_what_was_chosen_anew() -> None:
    app = scripted_app(ScriptedModel(sensible))
    one, other = await duel(app), await duel(app, depth="careful", model="scripted:other")
    both = Comparison(await app.read(one), await app.read(other))
    assert both.relation == "two debates of one question"
    assert set(both.different) >= {"models", "depth"}
    assert "format" not in both.different
    view = comparison_view(both)
    assert (view.a.debate.id, view.b.debate.id) == (one, other)
    assert [pair.name for pair in view.taken] == ["rounds", "time", "calls", "tokens", "cost", "ended"]


async def test_a_debate_judged_again_says_whence_it_is() -> None:
    app = scripted_app(ScriptedModel(sensible))
    one = await duel(app)
    again = await rejudge(app, one, judgings=2)
    await app.run(again.id, lambda event: None)
    both = Comparison(await app.read(one), await app.read(again.id))
    assert both.relation == f"{again.id} was {again.origin}"
    assert {"judgings"} <= set(both.different) <= {"judgings", "max check output tokens", "max runtime seconds"}


def test_the_claims_of_the_same_speeches_are_all_in_both() -> None:
    said = claims("Cats sleep a lot.", "Dogs are loyal.", "Cats sleep a lot.")
    assert matched(said, said).both == [SharedClaimView(a=each, b=each) for each in said]
