"""Whether recommendations can be the same one, by their words."""

from __future__ import annotations

import pytest

from moot.trust.recommendations import differ

OPTIONS = ("Redis", "PostgreSQL")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use Redis.", "Use PostgreSQL."),
        ("I stay with Redis.", "I recommend PostgreSQL."),
        ("Not Redis.", "Redis."),
        ("Use Redis.", "Never use Redis."),
        ("Redis einführen.", "Redis nicht einführen."),
        ("Use Redis with 9,000 keys.", "Use Redis with 90,000 keys."),
    ],
)
def test_these_are_two_recommendations(one: str, other: str) -> None:
    assert differ(one, other, OPTIONS)
    assert differ(other, one, OPTIONS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Redis.", "Use Redis. It is fast enough."),
        ("Use Redis, not PostgreSQL.", "Use Redis rather than PostgreSQL."),
        ("Go with Postgres now.", "Adopt PostgreSQL as the cache, and review it in 30 days."),
        ("PostgreSQL first; add Redis at 5,000 requests.", "PostgreSQL now, Redis when it takes over 50 ms."),
        ("Use Redis but do not keep sessions there.", "Use Redis and keep its limits elsewhere for 5 minutes."),
    ],
)
def test_these_may_be_one(one: str, other: str) -> None:
    assert not differ(one, other, OPTIONS)
    assert not differ(other, one, OPTIONS)


def test_without_options_no_word_in_common_is_no_agreement() -> None:
    assert differ("I stay with Redis.", "I recommend PostgreSQL.")
    assert not differ("Use Redis.", "Redis it is.")
