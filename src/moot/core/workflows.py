"""What an issue made of a decision is handed to, as the settings name it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Self

from pydantic import BaseModel, Field, field_validator, model_validator

from moot.core.webhooks import Address
from moot.text.commands import words

_EXAMPLE = "gh issue create --title {title} --body-file -"
TITLE_OPTIONS = ("--title", "--subject", "--summary", "--name")
"""Where a title may stand in a command: no program runs what follows one of these, but for those that make one line of
all their words and hand it to a shell."""
_SHELLS = {"ssh", "autossh", "rsh", "mosh", "tmux", "screen", "powershell", "pwsh", "cmd", "wsl"}
_JOINING = _SHELLS | {"watch", "at", "parallel"}


class WorkflowSettings(BaseModel, extra="forbid", hide_input_in_errors=True):
    """Where issues go: exactly one of file, command and webhook."""

    file: Path | None = Field(None, description="a folder in which each issue becomes a file of its own")
    command: str | None = Field(None, description=f"gets the issue on standard input, as in: {_EXAMPLE}")
    webhook: Address | None = Field(None, description="an http or https address that gets the issue as JSON")
    secret_env: str | None = Field(None, description="the environment variable with the key that signs webhooks")
    attempts: int = Field(3, ge=1, le=10)

    @field_validator("file")
    @classmethod
    def _begins_at_home(cls, file: Path | None) -> Path | None:
        return file and file.expanduser()

    @field_validator("command")
    @classmethod
    def _can_be_split(cls, command: str | None) -> str | None:
        try:
            parts = None if command is None else words(command)
        except ValueError:
            raise ValueError(f"has a quote that is not closed; write it as for a shell: {_EXAMPLE}") from None
        if parts is not None and ("".join(parts[:1]) == "" or "\0" in "".join(parts)):
            raise ValueError(f"names no program; write one with its arguments: {_EXAMPLE}")
        joining = _JOINING & {Path(word).name.lower().removesuffix(".exe") for word in parts or ()}
        for before, word in pairwise(["", *(parts or ())]):
            is_title = word == "{title}" and before in TITLE_OPTIONS and not joining
            is_safe = is_title or (before and word == "{debate}") or not ("{title}" in word or "{debate}" in word)
            if not is_safe:  # a shell would run what a topic says
                raise ValueError(
                    f"has {word!r} where it could be run; write {{title}} after {' or '.join(TITLE_OPTIONS)}, or let a "
                    f"script read MOOT_TITLE and MOOT_DEBATE: {_EXAMPLE}"
                )
        return command

    @model_validator(mode="after")
    def _goes_to_one_place(self) -> Self:
        named = [name for name in ("file", "command", "webhook") if getattr(self, name) is not None]
        if len(named) != 1:
            raise ValueError(f"write exactly one of file, command and webhook, not {' and '.join(named) or 'none'}")
        if self.secret_env is not None and self.webhook is None:
            raise ValueError("secret_env signs webhooks only; leave it out, or write webhook")
        return self
