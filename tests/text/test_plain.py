"""Text that is shortened: at a word where there are words, and never to nothing."""

from __future__ import annotations

import pytest

from moot.text.markdown import in_title
from moot.text.plain import shortened_at_word

CHINESE = "我们应该使用缓存吗" * 30
"""Without a space, as many languages are written."""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("one two", "one two"),
        ("one two three four five", "one two three…"),
        ("one twothreefour", "one twothreefo…"),
        ("A" + CHINESE, "A" + CHINESE[:13] + "…"),
        ("A " + CHINESE, "A " + CHINESE[:12] + "…"),
    ],
)
def test_a_text_is_cut_at_a_word_where_that_leaves_most_of_it(text: str, shown: str) -> None:
    assert shortened_at_word(text, 15) == shown


def test_a_title_is_one_line_and_never_nothing_but_dots() -> None:
    assert in_title(CHINESE) == CHINESE[:119] + "…"
    assert in_title("Short\n*question*?") == r"Short \*question\*?"
