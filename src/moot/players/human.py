"""A person in a seat: the answer they have given, or the sign that they have not yet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from moot.core.debate import HumanReply, Step
from moot.core.engine import HumanNeeded, PlayerReply
from moot.core.script import Debate
from moot.core.turn_writer import TurnWriter


class HumanPlayer:
    def __init__(self, said: Callable[[str], Awaitable[Sequence[HumanReply]]]) -> None:
        self._said = said

    async def play(self, debate: Debate[Any], step: Step, voice: TurnWriter) -> PlayerReply:
        for said in await self._said(debate.id):
            if said.position == voice.position:
                return PlayerReply(said.text, {"action": said.action} | ({"who": said.who} if said.who else {}))
        raise HumanNeeded
