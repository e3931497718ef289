"""Whether recommendations can be the same one, by their words."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from moot.examples.catalog import find
from moot.llm.recording import calls_of
from moot.trust.recommendations import cannot_tell, clearly_differ, differ
from strong_debates import FOLDER

OPTIONS = ("Redis", "PostgreSQL")
CACHES = (*OPTIONS, "no cache")
POOL = ("Close the pool", "Keep it open with shorter hours", "Rebuild it")
WEEK = ("Adopt it for all", "Pilot it in one department", "Stay with five days")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use Redis.", "Use PostgreSQL."),
        ("I stay with Redis.", "I recommend PostgreSQL."),
        ("Not Redis.", "Redis."),
        ("Use Redis.", "Never use Redis."),
        ("Redis einführen.", "Redis nicht einführen."),
        ("Use Redis with 9,000 keys.", "Use Redis with 90,000 keys."),
        ("Anything but Redis.", "Redis."),
        ("Choose anything but Redis", "Choose Redis"),
        ("Take everything except Redis.", "Take Redis."),
        ("Use any cache other than Redis.", "Use Redis as the cache."),
        ("Alles außer Redis.", "Redis."),
        ("Tout sauf Redis.", "Redis."),
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
        ("Use nothing but Redis.", "Use Redis."),
        ("Nichts als Redis.", "Redis."),
        ("Anything but Redis.", "No Redis."),
        ("Use Redis for any workload but keep PostgreSQL as it is.", "Use Redis and keep PostgreSQL as it is."),
    ],
)
def test_these_may_be_one(one: str, other: str) -> None:
    assert not differ(one, other, OPTIONS)
    assert not differ(other, one, OPTIONS)


def test_whoever_wants_anything_but_an_option_does_not_agree_with_who_wants_it() -> None:
    assert clearly_differ("I recommend anything but Redis.", "I recommend Redis.", OPTIONS)
    assert not clearly_differ("I recommend anything but Redis.", "I recommend PostgreSQL.", OPTIONS)


def test_without_options_no_word_in_common_is_no_agreement() -> None:
    assert differ("I stay with Redis.", "I recommend PostgreSQL.")
    assert not differ("Use Redis.", "Redis it is.")


@pytest.mark.parametrize(
    ("one", "other", "options"),
    [
        ("Use Redis as the cache in front of PostgreSQL.", "Put a Redis cache before the database.", CACHES),
        ("Adopt PostgreSQL unlogged tables as the cache.", "Cache in Postgres; no second system.", CACHES),
        (
            "Keep PostgreSQL and do not add Redis until p95 exceeds 100 ms.",
            "Stay with PostgreSQL and add Redis only when p95 exceeds 100 ms.",
            CACHES,
        ),
        ("Do not adopt GraphQL before spring.", "Adopt GraphQL in spring.", ()),
        ("Postpone the purchase by six months.", "Wait until autumn before we buy.", ()),
        (
            "Keep the pool open with shorter hours for two seasons.",
            "Shorten the opening hours and review after two summers.",
            POOL,
        ),
        ("Do not close the pool; shorten its hours.", "Keep the pool open with reduced hours.", POOL),
        (
            "Pilot the four-day week in one department for six months.",
            "Try it in one department first, with a review after half a year.",
            WEEK,
        ),
        ("Run a pilot in support only.", "Test it with the support team before deciding.", WEEK),
        ("Hire one senior engineer now.", "We should hire a senior engineer this quarter.", ()),
        ("Raise the price by 5%.", "A price increase of 5% from May.", ()),
        ("Rebuild the pool with county money.", "Rebuild it, paid for by the county.", POOL),
        (
            "Tempo 30 einführen und nach einem Jahr prüfen.",
            "Tempo 30 in der Schulstraße, mit Überprüfung nach zwölf Monaten.",
            ("Tempo 30", "Tempo 50"),
        ),
        ("Adopter GraphQL cette année.", "Adopter GraphQL dès cette année pour le mobile.", ()),
        ("ينبغي استخدام Redis للتخزين المؤقت", "نوصي باستخدام Redis كذاكرة مؤقتة", ("Redis", "PostgreSQL")),
        (
            "Move to Kubernetes gradually, service by service.",
            "Migrate to Kubernetes step by step, starting with the API.",
            ("Kubernetes", "Stay on VMs"),
        ),
        (
            "Stay on VMs this year; revisit Kubernetes in 2027.",
            "Keep the VMs for now and look at Kubernetes again next year.",
            ("Kubernetes", "Stay on VMs"),
        ),
        (
            "Use Rust for the parser and keep Go elsewhere.",
            "Only the parser in Rust; everything else stays in Go.",
            ("Rust", "Go"),
        ),
        ("Nobody should be fired; reduce hours instead.", "Reduce hours and fire nobody.", ()),
        ("Ship without the new onboarding on Monday.", "Ship on Monday, leave the new onboarding out.", ()),
        ("Allow home office three days a week.", "Three days of home office per week, no more.", ()),
        ("Buy no second bus; repair the old one.", "Repair the old bus and do not buy another.", ()),
        ("Buy 3 buses.", "Buy three buses for 1.2 million.", ()),
        ("Ship in 2 weeks.", "Ship in 14 days.", ()),
        ("No migration this year.", "Postpone the migration to next year.", ()),
        ("Do not use our own disks.", "Use S3.", ("S3", "our own disks")),
        ("Use a queue, no cron.", "Use a queue and drop cron.", ()),
        ("Keep the pool open until October.", "Close the pool in October.", POOL),
        ("Reject the merger.", "Do not approve the merger.", ()),
        ("Raise rents by 3% and cut fees.", "Cut fees and raise rents by 3%.", ()),
        ("Replace Redis with PostgreSQL.", "Use PostgreSQL and drop Redis.", CACHES),
        ("Stay on VMs rather than move to Kubernetes.", "Don't move to Kubernetes.", ("Kubernetes", "Stay on VMs")),
    ],
)
def test_who_agrees_in_other_words_is_believed(one: str, other: str, options: tuple[str, ...]) -> None:
    assert not clearly_differ(one, other, options)
    assert not clearly_differ(other, one, options)


@pytest.mark.parametrize(
    ("one", "other", "options"),
    [
        ("Use Redis.", "Use PostgreSQL.", CACHES),
        ("I stay with Redis.", "I recommend PostgreSQL.", CACHES),
        ("Use Redis.", "Do not use Redis.", CACHES),
        ("Close the pool.", "Keep it open with shorter hours.", POOL),
        (
            "Keep it as it is.",
            "Close it unless the loss is below 9.",
            ("Close it", "Keep it, with a cap", "Keep it as it is"),
        ),
        ("Rebuild it with county money.", "Close the pool this autumn.", POOL),
        ("Adopt it for all staff in May.", "Stay with five days.", WEEK),
        ("Redis einführen.", "Redis nicht einführen.", ("Redis", "Postgres")),
        ("Raise the price by 5%.", "Raise the price by 15%.", ()),
        ("Tempo 30 gilt ab Mai in der Schulstraße.", "Tempo 50 bleibt in der Schulstraße.", ("Tempo 30", "Tempo 50")),
        ("يجب أن نستخدم Redis للتخزين المؤقت", "لا يجب أن نستخدم Redis للتخزين المؤقت", ()),
        ("Adopter GraphQL cette année.", "Ne pas adopter GraphQL cette année.", ()),
        ("Cerrar la piscina este año.", "No cerrar la piscina este año.", ()),
        ("Chiudere la piscina.", "Non chiudere la piscina.", ()),
        ("Die Schule schließen.", "Die Schule nicht schließen.", ()),
        ("Move to Kubernetes.", "Stay on VMs.", ("Kubernetes", "Stay on VMs")),
        ("Use Rust for the backend.", "Use Go for the backend.", ("Rust", "Go")),
        ("Закрыть бассейн в мае.", "Не закрыть бассейн в мае.", ()),
        ("关闭游泳池", "不要关闭游泳池", ()),
        ("Ship on Monday.", "Never ship on Monday.", ()),
        ("Don’t close the pool.", "Close the pool.", POOL),
        ("Close the pool before winter.", "Do not close the pool before winter.", POOL),
        ("Refuse to close the pool.", "Close the pool.", POOL),
        ("Yes, close the pool.", "No, keep the pool.", POOL),
        ("Eine neue Brücke bauen.", "Keine neue Brücke bauen.", ("Neue Brücke bauen", "Alte Brücke reparieren")),
        ("Use Redis instead of PostgreSQL.", "Use PostgreSQL instead of Redis.", CACHES),
        ("Choose Redis over PostgreSQL.", "Choose PostgreSQL over Redis.", CACHES),
        ("Migrate from Redis to PostgreSQL.", "Migrate from PostgreSQL to Redis.", CACHES),
        ("Drop Redis and use PostgreSQL.", "Drop PostgreSQL and use Redis.", CACHES),
        ("Redis statt PostgreSQL.", "PostgreSQL statt Redis.", CACHES),
        ("Approve the merger.", "Reject the merger.", ()),
        ("Raise taxes by 5%.", "Cut taxes by 5%.", ()),
        ("Allow phones in class.", "Ban phones in class.", ()),
        ("Tempo 30 ablehnen.", "Tempo 30 einführen.", ()),
        ("Wait until 2027.", "Wait until 2030.", ()),
    ],
)
def test_nobody_can_mean_both_whatever_the_language(one: str, other: str, options: tuple[str, ...]) -> None:
    assert clearly_differ(one, other, options)
    assert clearly_differ(other, one, options)


def test_where_a_not_may_be_overlooked_the_check_says_that_it_cannot_tell() -> None:
    topic = "Açık yüzme havuzunu bu sonbaharda kapatmalı mıyız, yoksa iki yıl daha açık mı tutmalıyız?"
    assert cannot_tell("Havuzu kapatalım.", "Havuzu kapatmayalım.", topic)
    assert not cannot_tell("Havuzu kapatalım.", "Havuzu kapatalım!", topic)
    assert not cannot_tell("Close the pool.", "Close the pool in May.", "Should the town close its pool?")
    assert not cannot_tell("Das Bad schließen.", "Das Bad im Mai schließen.", "Soll die Stadt das Bad schließen?")


@pytest.mark.parametrize("recording", [find("caching").recording, FOLDER / "panel-german.jsonl.gz"])
def test_sincere_agreements_of_a_large_model_are_believed(recording: Path) -> None:
    options: tuple[str, ...] = ()
    declared: dict[str, str] = {}
    agreed = 0
    for call in calls_of(recording):
        form = call.request.schema.name if call.request.schema else ""
        said = json.loads(call.ended().text) if form in ("analysis", "rebuttal") else {}
        options = tuple(said["options"]) if form == "analysis" else options
        if form == "rebuttal":
            (name,) = re.findall(r"^You are (.*?)\. You have heard", call.request.messages[-1].content, re.MULTILINE)
            declared[name] = said["recommendation"]
            others = [declared[other] for other in said["agrees_with"] if other in declared]
            assert not any(clearly_differ(declared[name], other, options) for other in others)
            agreed += len(others)
    assert agreed
