"""What a reader should know before trusting an outcome, computed from the seats and the turns."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from moot.core.record import short_model
from moot.core.script import Debate
from moot.core.trust import BALLOT, Trust


def about_models(debate: Debate[Any], judge: str, judged: Mapping[str, str]) -> Iterator[str]:
    """Whether the judge may favour its own kind; `judged` maps seats to their titles."""
    say, models = debate.language, {seat: _models_of(debate, seat) for seat in (judge, *judged)}
    if len(every := set().union(*models.values())) == 1:
        yield say("one model, {model}, spoke in every seat", model=short_model(every.pop()))
        return
    for family in sorted({model_family(model) for model in models[judge]}):
        kin = [title for seat, title in judged.items() if family in map(model_family, models[seat])]
        if kin:
            values = {"name": judge, "family": family, "kin": say(" and ").join(kin)}
            yield say("the {name} is of the same model family ({family}) as {kin}", **values)


def untold(caveats: Iterable[str], trust: Trust | None) -> list[str]:
    """Those that are no part of a reason for the trust: what is said there is not said twice."""
    return [each for each in caveats if not any(each in reason for reason in (trust.reasons if trust else ()))]


def only_model(debate: Debate[Any]) -> str:
    """The one model that spoke in every seat, whoever was asked beside the debate; empty when there were several."""
    beside = debate.checks & {BALLOT}
    spoke = {turn.model for turn in debate.transcript if turn.model and turn.kind not in beside}
    spoke = spoke or {seat.model for seat in debate.seats.values()}
    return short_model(spoke.pop()) if len(spoke) == 1 else ""


def _models_of(debate: Debate[Any], seat: str) -> set[str]:
    """Those that spoke there; a fork may have begun with another than it has now."""
    spoken = {turn.model for turn in debate.transcript if turn.seat == seat and turn.model}
    return spoken or {debate.seats[seat].model}


def about_turns(debate: Debate[Any], judged: Mapping[str, str], beside: Collection[str] = ()) -> Iterator[str]:
    """Whether every side had its say; `judged` maps seats to their titles, turns of the kinds `beside` are no say."""
    say = debate.language
    spoken = {seat: [turn for turn in debate.of_seat(seat) if turn.kind not in beside] for seat in judged}
    most = max(len(turns) for turns in spoken.values())
    if not most:
        yield say("nobody spoke: there was nothing to judge")
    for seat, turns in spoken.items():
        if len(turns) < most:
            values = {"name": judged[seat], "times": say.count(len(turns), "once", "{n} times"), "most": most}
            yield say("{name} spoke {times}, others {most}: the last round was cut short", **values)
        cut = sum("truncated" in turn.marks for turn in turns)
        if cut:
            values = {"cut": cut, "times": len(turns), "name": judged[seat]}
            yield say("{cut} of {times} speeches of {name} ran into the output cap", **values)


def model_family(model: str) -> str:
    """`ollama:llama3.3:70b` → llama, `openrouter:anthropic/claude-x` → claude."""
    name = re.sub(r"^(https?://[^#]*#|[^:/#]+:)", "", model.lower())
    match = re.search(r"[a-z]+", name.rsplit("/", 1)[-1])
    return match[0] if match else name
