"""The pace of a provider: on a clock that jumps, and against a real socket server with limits of its own."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import aiohttp
import pytest
from badserver import BadServer, StreamFormat, said, whole
from calls import HELLO, REQUEST, client_of
from hypothesis import given
from hypothesis import strategies as st

from moot.errors import InvalidInput, ModelError, RateLimited, ReplyCut, ServerFault
from moot.llm.client import Client, Completion, Request
from moot.llm.pace import MOMENT, STAGGER, USUAL_SECONDS, Pace
from moot.players.model import retry_delay
from virtualtime import now, run


class Slow:
    """A client whose calls take seconds on the jumping clock; `faults` maps the number of a call to its error."""

    def __init__(self, seconds: float = 1.0, faults: Mapping[int, ModelError] | None = None) -> None:
        self._seconds = seconds
        self._faults = faults or {}
        self._numbers = iter(range(1, 1_000_000))
        self.starts: list[float] = []
        self.in_flight = self.most = 0

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        number = next(self._numbers)
        self.starts.append(now())
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        try:
            await asyncio.sleep(0 if number in self._faults else self._seconds)
        finally:
            self.in_flight -= 1
        if number in self._faults:
            raise self._faults[number]
        return HELLO


class Paced:
    """A client whose calls wait for their turn."""

    def __init__(self, client: Client, pace: Pace) -> None:
        self._client = client
        self._pace = pace

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        async with self._pace.turn():
            return await self._client.complete(request, on_text)


def ask(client: Client) -> Coroutine[Any, Any, Completion]:
    return client.complete(REQUEST, lambda text: None)


async def ask_often(client: Client, times: int) -> list[Completion | BaseException]:
    return await asyncio.gather(*(ask(client) for _ in range(times)), return_exceptions=True)


async def persist(client: Client, jitter: Callable[[], float]) -> Completion:
    """Ask as ModelPlayer does."""
    attempt = 1
    while True:
        try:
            return await ask(client)
        except ModelError as error:
            delay = retry_delay(error, attempt, jitter())
            if delay is None:
                raise
        await asyncio.sleep(delay)
        attempt += 1


# --- limits of our own ---


def test_calls_over_the_bound_wait_for_a_place_in_the_order_they_came() -> None:
    async def main() -> None:
        slow, order = Slow(), []
        paced = Paced(slow, Pace(max_concurrent=2))

        async def caller(number: int) -> None:
            await ask(paced)
            order.append(number)

        await asyncio.gather(*map(caller, range(5)))
        assert (slow.starts, slow.most, order) == ([0, 0, 1, 1, 2], 2, [0, 1, 2, 3, 4])

    run(main())


def test_requests_per_minute_are_spaced_evenly() -> None:
    async def main() -> None:
        slow = Slow(seconds=100)
        await ask_often(Paced(slow, Pace(requests_per_minute=6)), 4)
        assert slow.starts == [0, 10, 20, 30]

    run(main())


def test_without_limits_all_calls_start_at_once() -> None:
    async def main() -> None:
        slow = Slow()
        await ask_often(Paced(slow, Pace()), 100)
        assert (slow.most, now()) == (100, 1)

    run(main())


def test_all_clients_of_a_provider_share_its_pace() -> None:
    async def main() -> None:
        slow, pace = Slow(), Pace(max_concurrent=1)
        await asyncio.gather(ask(Paced(slow, pace)), ask(Paced(slow, pace)))
        assert slow.starts == [0, 1]

    run(main())


def test_the_wait_is_over_before_the_deadlines_of_the_client_begin() -> None:
    async def main() -> None:
        class Deadline(Slow):
            async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
                async with asyncio.timeout(1.5):
                    return await super().complete(request, on_text)

        assert await ask_often(Paced(Deadline(), Pace(max_concurrent=1)), 10) == [HELLO] * 10

    run(main())


@pytest.mark.parametrize("started", [0.5, 1.5], ids=["waiting", "in flight"])
def test_who_is_cancelled_frees_the_place(started: float) -> None:
    async def main() -> None:
        slow = Slow()
        paced = Paced(slow, Pace(max_concurrent=1))
        first, second, third = (asyncio.create_task(ask(paced)) for _ in range(3))
        await asyncio.sleep(started)
        second.cancel()
        await asyncio.wait([first, second, third])
        assert slow.starts == ([0, 1] if started < 1 else [0, 1, 1.5])
        assert (second.cancelled(), third.result()) == (True, HELLO)

    run(main())


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ((0, None), "max_concurrent is 0: it must be at least 1"),
        ((None, 0.0), "requests_per_minute is 0.0: it must be more than 0"),
        ((None, math.nan), "requests_per_minute is nan: it must be more than 0"),
    ],
)
def test_a_limit_that_lets_nothing_through_is_refused(limits: tuple[int | None, float | None], message: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        Pace(*limits)
    assert str(raised.value) == message


# --- when the provider complains ---


@pytest.mark.parametrize("error", [RateLimited("no", retry_after=7.0), ServerFault("no", retry_after=7.0)])
def test_a_refusal_is_raised_and_holds_everybody_back_for_as_long_as_it_says(error: ModelError) -> None:
    async def main() -> None:
        slow = Slow(faults={1: error})
        paced = Paced(slow, Pace())
        with pytest.raises(type(error)):
            await ask(paced)
        assert await ask_often(paced, 2) == [HELLO, HELLO]
        assert slow.starts == [0, 7, 8]

    run(main())


def test_without_a_time_the_pause_doubles_until_a_call_succeeds() -> None:
    async def main() -> None:
        slow = Slow(faults=dict.fromkeys((1, 2, 3, 5), RateLimited("no")))
        paced = Paced(slow, Pace())
        for _ in range(6):
            await ask_often(paced, 1)
        assert slow.starts == [0, 1, 3, 7, 8, 9]

    run(main())


@pytest.mark.parametrize(
    "error",
    [RateLimited("tomorrow", retry_after=86_400.0), ServerFault("500"), ReplyCut("cut")],
    ids=["for too long", "fault without a time", "cut"],
)
def test_other_errors_hold_nobody_back(error: ModelError) -> None:
    async def main() -> None:
        pace = Pace()
        slow = Slow(faults={1: error})
        assert await ask_often(Paced(slow, pace), 1) == [error]
        await ask_often(Paced(slow, pace), 50)
        assert (slow.most, pace.allowed) == (50, math.inf)

    run(main())


def test_a_refusal_halves_the_calls_at_once_and_every_third_success_gives_one_back() -> None:
    async def main() -> None:
        pace = Pace(max_concurrent=8)
        paced = Paced(Slow(faults={8: RateLimited("no", retry_after=1.0)}), pace)
        await ask_often(paced, 8)
        allowed = [pace.allowed]
        for _ in range(8):
            await ask_often(paced, 1)
            allowed.append(pace.allowed)
        assert allowed == [6, 6, 7, 7, 7, 8, 8, 8, 8]  # 4, and 7 of the 8 had succeeded after the refusal

    run(main())


def test_many_refusals_of_calls_that_were_sent_together_count_as_one() -> None:
    async def main() -> None:
        pace = Pace()
        await ask_often(Paced(Slow(faults=dict.fromkeys(range(1, 41), RateLimited("no", retry_after=5.0))), pace), 40)
        assert pace.allowed == 20

    run(main())


def test_an_unlimited_pace_recovers_quickly_to_what_it_was_and_slowly_beyond() -> None:
    async def main() -> None:
        pace = Pace()
        paced = Paced(Slow(faults=dict.fromkeys(range(1, 9), RateLimited("no", retry_after=1.0))), pace)
        await ask_often(paced, 8)
        allowed = {}
        for successes in range(1, 31):
            await ask_often(paced, 1)
            allowed[successes] = pace.allowed
        steps = [at for at in allowed if allowed[at] != allowed.get(at - 1, 4)]
        assert (steps, allowed[30]) == ([3, 6, 9, 12, 20, 29], 10)

    run(main())


def test_calls_held_back_start_one_after_the_other_so_that_a_second_refusal_stops_the_rest() -> None:
    async def main() -> None:
        refused = RateLimited("no", retry_after=1.0)
        slow = Slow(seconds=10, faults={**dict.fromkeys(range(1, 9), refused), 11: refused})
        paced = Paced(slow, Pace())
        await ask_often(paced, 8)
        await ask_often(paced, 4)
        second = 1 + 2 * STAGGER
        assert slow.starts[8:] == pytest.approx([1, 1 + STAGGER, second, 11 + STAGGER])

    run(main())


def test_the_pause_of_the_caller_and_of_the_pace_are_one_and_the_same() -> None:
    async def main() -> None:
        slow = Slow(faults={1: RateLimited("no", retry_after=10.0)})
        assert await persist(Paced(slow, Pace()), lambda: 0.0) == HELLO
        assert slow.starts == [0, 10]

    run(main())


# --- what a caller is told who has to wait ---


async def told(pace: Pace) -> tuple[str, str, float] | None:
    """A delay as readers are told of it."""
    delay = await pace.delay()
    return delay and (delay.error.code, str(delay.error), round(delay.seconds, 3))


@pytest.mark.parametrize(
    "error", [RateLimited("acme: slow down", retry_after=7.0), ServerFault("503", retry_after=7.0)]
)
def test_who_waits_for_a_refusal_of_another_is_told_its_words_and_when_it_is_over(error: ModelError) -> None:
    async def main() -> None:
        pace = Pace()
        assert await told(pace) is None
        error.partial = "what another debate has said"
        await ask_often(Paced(Slow(faults={1: error}), pace), 1)
        delay = await pace.delay()
        assert delay is not None
        assert (type(delay.error), str(delay.error), delay.error.partial) == (type(error), str(error), "")
        assert (delay.seconds, now()) == (7 - MOMENT, MOMENT)
        await pace.opened()
        assert (now(), await told(pace)) == (7, None)

    run(main())


def test_who_waits_for_a_place_is_told_by_what_calls_take_how_long_that_may_be() -> None:
    async def main() -> None:
        pace = Pace(max_concurrent=2, name="acme")
        full = ("rate_limited", "acme answers 2 calls, all that max_concurrent lets it at once")
        calls = [asyncio.create_task(ask(Paced(Slow(seconds=4), pace))) for _ in range(3)]
        await asyncio.sleep(0)
        assert await told(pace) == (*full, USUAL_SECONDS)  # the third call is before it
        await asyncio.wait(calls)
        calls = [asyncio.create_task(ask(Paced(Slow(seconds=4), pace))) for _ in range(2)]
        await asyncio.sleep(0)
        last = await told(pace)
        assert last is not None
        assert (last[:2], 2 < last[2] < 5) == (full, True)
        await asyncio.wait(calls)

    run(main())


def test_who_waits_for_the_next_minute_is_told_how_long_that_is_with_all_that_wait_already() -> None:
    async def main() -> None:
        pace = Pace(requests_per_minute=6, name="acme")
        calls = [asyncio.create_task(ask(Paced(Slow(), pace))) for _ in range(3)]
        await asyncio.sleep(0)
        said = "acme has had as many calls as requests_per_minute lets it"
        assert await told(pace) == ("rate_limited", said, 30 - MOMENT)
        await asyncio.wait(calls)

    run(main())


def test_a_wait_of_a_moment_is_not_worth_a_word() -> None:
    async def main() -> None:
        pace = Pace(max_concurrent=1)
        call = asyncio.create_task(ask(Paced(Slow(seconds=MOMENT / 2), pace)))
        await asyncio.sleep(0)
        assert (await pace.delay(), now(), call.done()) == (None, MOMENT / 2, True)

    run(main())


def test_who_is_slowed_down_by_an_earlier_refusal_is_told_that_one() -> None:
    async def main() -> None:
        pace = Pace()
        paced = Paced(Slow(seconds=5, faults={1: RateLimited("acme: slow down", retry_after=1.0)}), pace)
        await ask_often(paced, 1)
        await pace.opened()
        call = asyncio.create_task(ask(paced))
        await asyncio.sleep(0)
        said = await told(pace)
        assert said is not None
        assert said[:2] == ("rate_limited", "acme: slow down")
        await call

    run(main())


# --- any limits, any calls ---


class Plan(NamedTuple):
    """A call as hypothesis makes it up."""

    arrives: float
    takes: float
    ends: float | None
    """Seconds in a refusal; None for success."""
    cancelled_after: float | None


SECONDS = st.floats(0, 30)
PLANS = st.lists(
    st.builds(Plan, SECONDS, SECONDS, st.none() | st.none() | SECONDS, st.none() | st.none() | SECONDS), max_size=25
)


@dataclass
class Observer:
    """Plays the plans and notes what it sees; each call brings its number as its model."""

    plans: list[Plan]
    pace: Pace
    in_flight: int = 0
    pause_ends: float = -math.inf
    came: list[int] = field(default_factory=list)
    starts: list[tuple[float, int]] = field(default_factory=list)

    async def complete(self, request: Request, on_text: Callable[[str], None]) -> Completion:
        plan = self.plans[int(request.model)]
        assert now() >= self.pause_ends
        assert self.in_flight < self.pace.allowed
        self.starts.append((now(), int(request.model)))
        self.in_flight += 1
        try:
            await asyncio.sleep(plan.takes)
        finally:
            self.in_flight -= 1
        if plan.ends is not None:
            self.pause_ends = max(self.pause_ends, now() + plan.ends)
            raise RateLimited("no", retry_after=plan.ends)
        return HELLO

    async def caller(self, number: int) -> None:
        plan = self.plans[number]
        await asyncio.sleep(plan.arrives)
        self.came.append(number)
        try:
            async with asyncio.timeout(plan.cancelled_after):
                request = Request(model=str(number), messages=(), max_tokens=1, temperature=0)
                await Paced(self, self.pace).complete(request, lambda text: None)
        except (RateLimited, TimeoutError):
            pass


@given(PLANS, st.none() | st.integers(1, 4), st.none() | st.floats(0.5, 60))
def test_never_more_than_allowed_at_once_or_in_any_minute_and_first_come_is_first_served(
    plans: list[Plan], max_concurrent: int | None, requests_per_minute: float | None
) -> None:
    async def main() -> None:
        observer = Observer(plans, Pace(max_concurrent, requests_per_minute))
        async with asyncio.TaskGroup() as callers:
            for number in range(len(plans)):
                callers.create_task(observer.caller(number))
        times = [at for at, _ in observer.starts]
        for at in times:
            assert sum(at <= other < at + 59.999 for other in times) <= math.ceil(requests_per_minute or 1000)
        started = [number for _, number in observer.starts]
        assert started == [number for number in observer.came if number in started]
        assert all(plan.cancelled_after is not None or at in started for at, plan in enumerate(plans))
        assert observer.in_flight == 0

    run(main())


# --- 50 callers at once, against a server with limits ---


@dataclass
class Limited:
    """An answer of a server that takes so many requests at once, or in any second, and refuses the others."""

    at_once: float = math.inf
    per_second: float = math.inf
    seconds: float = 5.0
    busy: int = 0
    refused: int = 0
    starts: list[float] = field(default_factory=list)

    async def __call__(self, wire: StreamFormat) -> None:
        if self.busy >= self.at_once or sum(now() - start < 1 for start in self.starts) >= self.per_second:
            self.refused += 1
            refusal = {"error": {"message": "slow down"}}
            await wire.send(whole("429 Too Many Requests", refusal, "Retry-After: 1"))
            return
        self.starts.append(now())
        self.busy += 1
        await asyncio.sleep(self.seconds)
        self.busy -= 1
        await wire.send(said("Hello"))


class Storm(NamedTuple):
    succeeded: int
    refused: int


async def storm(server: Limited, pace: Pace | None) -> Storm:
    jitter = random.Random(1).random
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session, BadServer(*[server] * 500) as socket:
        client = client_of(session, socket.url)
        callers = (persist(Paced(client, pace) if pace else client, jitter) for _ in range(50))
        results = await asyncio.gather(*callers, return_exceptions=True)
    return Storm(results.count(HELLO), server.refused)


@pytest.mark.parametrize(
    ("at_once", "per_second", "seconds", "configured"),
    [
        (10, math.inf, 5.0, (10, None)),
        (3, math.inf, 5.0, (3, None)),
        (math.inf, 5, 0.3, (None, 290)),
    ],
    ids=["10 at once", "3 at once", "5 a second"],
)
def test_a_storm_of_50_callers_ends_well(
    at_once: float, per_second: float, seconds: float, configured: tuple[int | None, float | None]
) -> None:
    def outcome(pace: Pace | None) -> Storm:
        return run(storm(Limited(at_once, per_second, seconds), pace))

    alone, tamed = outcome(None), outcome(Pace())
    assert (alone.succeeded < 50, alone.refused > 150) == (True, True)
    assert (tamed.succeeded, tamed.refused <= 60) == (50, True)  # 40 to 47 of these are the 50 that came together
    assert outcome(Pace(*configured)) == Storm(50, 0)
