"""The claim ledger: what code keeps of a scribe's notes, and how every claim ended."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest

from moot.core.claims import Claim, ClaimLink, How, Ledger, Status
from moot.core.debate import Turn
from moot.trust.claims import (
    MAX_CLAIMS,
    Made,
    Notes,
    by_code,
    carries,
    cited,
    ledger,
    of_forms,
    open_claims,
    points,
    settle,
    stands,
)

STRONG = Path(__file__).parent.parent / "strong"


def said(position: int, seat: str, content: str) -> Turn:
    return Turn(position=position, seat=seat, kind="argument", round=position // 2 + 1, content=content)


def noted(quote: str, *answers: tuple[How, str], text: str = "") -> dict[str, object]:
    return {"quote": quote, "text": text, "answers": [{"how": how, "claim": to} for how, to in answers]}


def notes(*noted: dict[str, object]) -> Notes:
    return Notes.model_validate({"note": "What it turns on.", "claims": list(noted)})


SPEECHES = [
    said(0, "a", "The tunnel pays for itself. It saves an hour a day. It was promised by the council."),
    said(1, "b", "It pays nothing back in ten years. Only the commuters save an hour. The bridge is old too."),
    said(2, "a", "Ten years is the wrong horizon here. I was wrong about the promise. The bridge is indeed old."),
    said(3, "b", "Nobody lives for thirty years in a plan. The harbour would be closed meanwhile."),
]


def statuses(found: Ledger) -> list[Status | None]:
    return [claim.status for claim in found.claims]


def test_each_claim_ends_as_its_answers_say() -> None:
    found = ledger(
        [
            notes(
                noted("The tunnel pays for itself"),  # C1: attacked, and the attack is attacked with the last word
                noted("It saves an hour a day"),  # C2: attacked, and its side spoke again without a reply
                noted("It was promised by the council"),  # C3: its own side takes it back
                noted("It pays nothing back in ten years", ("attacks", "C1")),  # C4
                noted("Only the commuters save an hour", ("attacks", "C2")),  # C5: nobody replied
                noted("The bridge is old too"),  # C6: the other side grants it
                noted("Ten years is the wrong horizon here", ("attacks", "C4")),  # C7
                noted("I was wrong about the promise", ("withdraws", "C3")),  # C8
                noted("The bridge is indeed old", ("concedes", "C6")),  # C9
                noted("Nobody lives for thirty years in a plan", ("attacks", "C7")),  # C10: nobody could reply
                noted("The harbour would be closed meanwhile"),  # C11
            )
        ],
        SPEECHES,
    )
    assert statuses(found) == [
        "contested",
        "dropped",
        "withdrawn",
        "contested",
        "unanswered",
        "conceded",
        "contested",
        "gives way",
        "gives way",
        "untested",
        "untested",
    ]
    assert [claim.id for claim in open_claims(found, "a")] == ["C5", "C10", "C11"]


def test_a_claim_stands_when_every_attack_on_it_fell() -> None:
    speeches = [
        said(0, "a", "The tunnel pays for itself."),
        said(1, "b", "It never pays for itself, says the audit."),
        said(2, "a", "The audit says that in its footnote only."),
        said(3, "b", "I take back what I read in the audit."),
    ]
    found = ledger(
        [
            notes(
                noted("The tunnel pays for itself"),
                noted("It never pays for itself, says the audit", ("attacks", "C1")),
                noted("The audit says that in its footnote only", ("attacks", "C2")),
                noted("I take back what I read in the audit", ("withdraws", "C2")),
            )
        ],
        speeches,
    )
    assert statuses(found) == ["standing", "withdrawn", "unanswered", "gives way"]


def test_words_that_nobody_said_are_no_claim_and_what_answers_them_answers_nothing() -> None:
    found = ledger(
        [
            notes(
                noted("The tunnel costs nine billion"),
                noted("It pays nothing back in ten years", ("attacks", "C1"), ("attacks", "C9"), ("supports", "C3")),
                noted("The tunnel pays for itself", ("attacks", "C2")),
                noted("an hour"),
            )
        ],
        SPEECHES,
    )
    assert [(claim.id, claim.turn, claim.links) for claim in found.claims] == [
        ("C1", 0, []),
        ("C2", 1, [ClaimLink(how="supports", to="C1")]),
    ]
    assert (found.quotes_left_out, found.links_left_out) == (2, 3)
    assert found.left_out == (
        "Left out of what the scribe noted: 2 whose words nobody said, 3 answers that fit no earlier claim."
    )
    assert (
        Ledger(links_left_out=2).left_out == "Left out of what the scribe noted: 2 answers that fit no earlier claim."
    )
    assert not Ledger().left_out


def test_nobody_concedes_to_oneself_and_nobody_withdraws_for_another() -> None:
    found = ledger(
        [
            notes(
                noted("The tunnel pays for itself"),
                noted("It pays nothing back in ten years", ("withdraws", "C1")),
                noted("Ten years is the wrong horizon here", ("concedes", "C1"), ("attacks", "C1")),
            )
        ],
        SPEECHES,
    )
    assert [claim.links for claim in found.claims] == [[], [], []]
    assert found.links_left_out == 3


def test_the_same_words_noted_twice_are_one_claim_with_the_answers_of_both() -> None:
    found = ledger(
        [
            notes(noted("The tunnel pays for itself"), noted("It saves an hour a day")),
            notes(
                noted("It pays nothing back in ten years", ("attacks", "C1")),
                noted("It pays nothing back in ten years", ("attacks", "C2"), ("attacks", "C1")),
            ),
        ],
        SPEECHES,
    )
    assert [link.to for link in found.claims[-1].links] == ["C1", "C2"]
    assert len(found.claims) == 3


@pytest.mark.parametrize("form", [{}, [], "C1", {"claims": "none"}, {"claims": [3, {"answers": [{"claim": "x"}]}]}])
def test_notes_in_no_known_form_are_read_as_far_as_they_go(form: object) -> None:
    found = Notes.model_validate({"note": "n", **(form if isinstance(form, dict) else {"claims": form})})
    assert ledger([found], SPEECHES).claims == []


def test_without_notes_each_speech_begins_with_its_claim_and_nothing_is_said_of_how_it_ended() -> None:
    found = by_code(SPEECHES)
    assert found.by_code
    assert [(claim.text, claim.status, claim.links) for claim in found.claims[:2]] == [
        ("The tunnel pays for itself.", None, []),
        ("It pays nothing back in ten years.", None, []),
    ]


@pytest.mark.parametrize("name", ["panel-redis", "duel-rust"])
def test_the_ledger_of_a_strong_debate_noted_by_hand_ends_as_read_by_hand(name: str) -> None:
    debate = orjson.loads((STRONG / f"claims-{name}.json").read_bytes())
    found = ledger([Notes.model_validate(debate["notes"])], [Turn(**speech) for speech in debate["speeches"]])
    by_text = {claim.text: claim.status for claim in found.claims}
    read = [claim["text"] for claim in debate["notes"]["claims"]]
    assert {text: by_text.get(text) for text in read} == dict(zip(read, debate["statuses"], strict=True))
    assert (found.quotes_left_out, found.links_left_out) == (0, 0)


def claim(id: str, seat: str, status: Status, *links: ClaimLink) -> Claim:
    return Claim(id=id, turn=0, seat=seat, text=id, links=list(links), status=status)


def test_what_judgings_name_is_counted_by_judging_and_what_does_not_exist_apart() -> None:
    known = Ledger(claims=[claim("C1", "a", "standing"), claim("C4", "b", "dropped")])
    found, unknown = cited([["C4", "c1"], ["C4", "C4"], ["4", "C99"], ["nothing"]], known)
    assert [(each.claim.id, each.judgings) for each in found] == [("C4", 3), ("C1", 1)]
    assert unknown == 2


@pytest.mark.parametrize(
    ("seat", "status", "carried"),
    [
        ("a", "standing", True),
        ("a", "conceded", True),
        ("a", "dropped", False),
        ("a", "withdrawn", False),
        ("b", "dropped", True),
        ("b", "withdrawn", True),
        ("b", "conceded", False),
        ("b", "standing", False),
    ],
)
def test_a_verdict_can_rest_on_what_stands_of_the_winner_and_on_what_fell_of_the_other(
    seat: str, status: Status, carried: bool
) -> None:
    named = claim("C1", seat, status)
    assert carries("a", named) == carried
    assert stands(named) == (status not in ("dropped", "withdrawn"))


def test_the_map_has_a_statement_for_each_claim_with_its_status() -> None:
    links = (ClaimLink(how="attacks", to="C1"), ClaimLink(how="concedes", to="C1"))
    one, two = points(Ledger(claims=[claim("C1", "a", "contested"), claim("C2", "b", "untested", *links)]))
    assert (one.key, one.tags, one.claim) == ("C1", ("contested",), True)
    assert (two.attacks, two.supports) == (("C1",), ())


# How far a scribe may err: the shares of wrong statuses that its missed and misdirected links cause


def random_debate(rng: random.Random) -> tuple[list[Claim], list[Turn]]:
    """Ten speeches of three claims, of which most attack something that the other side has said."""
    turns = [said(position, "ab"[position % 2], "") for position in range(10)]
    made: list[Claim] = []
    for turn in turns:
        for _ in range(3):
            kind = rng.random()
            how: How = "attacks" if kind < 0.6 else "concedes" if kind < 0.68 else "withdraws"
            new = Claim(id=f"C{len(made) + 1}", turn=turn.position, seat=turn.seat, text="")
            targets = possible(new, how, made)
            new.links = [ClaimLink(how=how, to=rng.choice(targets).id)] if targets and kind < 0.72 else []
            made.append(new)
    return made, turns


def possible(claim: Claim, how: How, made: Sequence[Claim]) -> list[Claim]:
    earlier = (each for each in made if each.turn < claim.turn)
    return [each for each in earlier if (each.seat == claim.seat) == (how == "withdraws")]


def spoiled(made: Sequence[Claim], rng: random.Random, missed: float, misdirected: float) -> list[Claim]:
    def link(claim: Claim, link: ClaimLink) -> ClaimLink:
        if rng.random() >= misdirected:
            return link
        return ClaimLink(how=link.how, to=rng.choice(possible(claim, link.how, made)).id)

    return [
        each.model_copy(update={"links": [link(each, one) for one in each.links if rng.random() >= missed]})
        for each in made
    ]


@pytest.mark.parametrize(
    ("missed", "misdirected", "wrong"), [(0.1, 0, 0.057), (0.2, 0, 0.107), (0.1, 0.1, 0.114), (0.3, 0.2, 0.237)]
)
def test_a_scribe_that_errs_spoils_as_many_statuses_as_expected(
    missed: float, misdirected: float, wrong: float
) -> None:
    rng, differ, number = random.Random(1), 0, 0
    for _ in range(200):
        made, turns = random_debate(rng)
        seen = spoiled(made, rng, missed, misdirected)
        settle(made, turns)
        settle(seen, turns)
        differ += sum(one.status != other.status for one, other in zip(made, seen, strict=True))
        number += len(made)
    assert differ / number == pytest.approx(wrong, abs=0.015)


def test_claims_beyond_the_most_that_a_ledger_holds_are_counted() -> None:
    speech = said(0, "a", " ".join(f"Point number {number} is this." for number in range(MAX_CLAIMS + 5)))
    everything = [{"quote": f"Point number {number} is this", "text": "x"} for number in range(MAX_CLAIMS + 5)]
    notes = [Notes.model_validate({"note": "So.", "claims": part}) for part in (everything[:40], everything[40:])]
    found = ledger(notes, [speech])
    assert (len(found.claims), found.claims_left_out) == (MAX_CLAIMS, 5)
    made = (Made(f"{number}", speech, "x", None) for number in range(MAX_CLAIMS + 2))
    assert of_forms(made).claims_left_out == 2


def test_a_scribe_that_notes_everything_anew_in_each_round_leaves_room_for_new_claims() -> None:
    speeches = [said(at, "ab"[at % 2], f"Point number {at} is this.") for at in range(20)]
    rounds = [notes(*(noted(f"Point number {at} is this") for at in range(last))) for last in range(2, 22, 2)]
    found = ledger(rounds, speeches)
    assert [claim.turn for claim in found.claims] == list(range(20))
    assert (found.claims_left_out, found.quotes_left_out) == (0, 0)
