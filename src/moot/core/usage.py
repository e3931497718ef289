"""What turns took: tokens, calls and money."""

from __future__ import annotations

from moot.core.value import value


@value(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one turn and what they cost; `estimated` when the server reported none."""

    input_tokens: int = 0
    cached_tokens: int = 0
    cache_written_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    calls: int = 0
    estimated: bool = False
    cost: float | None = None
    """US dollars; None when a price is unknown."""

    def __add__(self, other: Usage) -> Usage:
        if other is NO_USAGE:
            return self
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_written_tokens=self.cache_written_tokens + other.cache_written_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            calls=self.calls + other.calls,
            estimated=self.estimated or other.estimated,
            cost=_add_costs(self, other),
        )


NO_USAGE = Usage()


def _add_costs(one: Usage, other: Usage) -> float | None:
    """What is unknown stays unknown in the sum; what made no call cost nothing."""
    costs = [usage.cost for usage in (one, other) if usage.calls]
    return None if not costs or None in costs else sum(cost or 0.0 for cost in costs)
