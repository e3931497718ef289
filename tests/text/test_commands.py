from __future__ import annotations

import pytest

from moot.text.commands import words


@pytest.mark.parametrize(
    ("command", "system", "parted"),
    [
        ("gh issue create --title {title}", "posix", ["gh", "issue", "create", "--title", "{title}"]),
        (r"./a\ b 'c d' # e", "posix", ["./a b", "c d", "#", "e"]),
        (r"C:\tools\notify.exe --to ops", "nt", [r"C:\tools\notify.exe", "--to", "ops"]),
        (r'"C:\Program Files\gh\gh.exe" issue', "nt", [r"C:\Program Files\gh\gh.exe", "issue"]),
        (r"\\server\share\search.exe", "nt", [r"\\server\share\search.exe"]),
    ],
)
def test_a_command_keeps_the_words_its_system_means(command: str, system: str, parted: list[str]) -> None:
    assert words(command, system) == parted


@pytest.mark.parametrize("system", ["posix", "nt"])
def test_a_quote_that_is_not_closed_is_refused(system: str) -> None:
    with pytest.raises(ValueError, match="No closing quotation"):
        words("gh 'issue", system)
