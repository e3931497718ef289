"""The SQL files are read into what each database understands."""

from __future__ import annotations

import pytest

from moot.errors import SchemaTooNew
from moot.store.sql import Dialect, Query, migrations, numbered, queries


@pytest.mark.parametrize(
    ("sql", "translated"),
    [
        ("SELECT 1", Query("SELECT 1")),
        ("SELECT :b, :a, :b", Query("SELECT $1, $2, $1", ("b", "a"))),
        ("SELECT :debate_id::text", Query("SELECT $1::text", ("debate_id",))),
        ("SELECT now()::date", Query("SELECT now()::date")),
        ("SELECT ':a', 'it''s :b', :c", Query("SELECT ':a', 'it''s :b', $1", ("c",))),
        ("SELECT :a -- not :b\n, :c", Query("SELECT $1 -- not :b\n, $2", ("a", "c"))),
        ("SELECT :a /* not :b,\n nor :d */, :c", Query("SELECT $1 /* not :b,\n nor :d */, $2", ("a", "c"))),
    ],
)
def test_names_become_numbers_outside_of_strings_comments_and_casts(sql: str, translated: Query) -> None:
    assert numbered(sql) == translated


def test_arguments_follow_the_numbers() -> None:
    assert numbered("SELECT :b, :a, :b").arguments({"a": 1, "b": "two", "unused": None}) == ("two", 1)


def test_both_databases_have_the_same_queries() -> None:
    assert queries("sqlite").keys() == queries("postgres").keys()


def test_only_postgres_reads_what_is_meant_for_it() -> None:
    assert "/*postgres FOR SHARE */" in queries("sqlite")["insert_turn"].sql
    assert "/*" not in queries("postgres")["insert_turn"].sql
    assert "FOR SHARE" in queries("postgres")["insert_turn"].sql


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_migrations_are_numbered_without_a_gap(dialect: Dialect) -> None:
    numbers = [migration.version for migration in migrations(dialect, 0)]
    assert numbers == list(range(1, len(numbers) + 1))


def test_a_database_that_is_up_to_date_misses_no_migration() -> None:
    newest = migrations("sqlite", 0)[-1].version
    assert migrations("sqlite", newest) == ()


def test_a_database_from_the_future_is_refused() -> None:
    with pytest.raises(SchemaTooNew, match=r"schema version 999, made by a newer moot.*Upgrade moot"):
        migrations("sqlite", 999)
