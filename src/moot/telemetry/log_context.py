"""What is being worked on wherever a line is logged: the debate, its run, the step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import MappingProxyType
from typing import TypeAlias

About: TypeAlias = Mapping[str, str | int | float | None]

_here: ContextVar[About] = ContextVar("here", default=MappingProxyType({}))


def here() -> About:
    return _here.get()


@contextmanager
def within(**about: str | int) -> Iterator[None]:
    """Say what the block is about, for this task and those it starts."""
    before = _here.set({**_here.get(), **about})
    try:
        yield
    finally:
        with suppress(ValueError):  # the block was thrown away unfinished, and there is nothing here to take back
            _here.reset(before)
