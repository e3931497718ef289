"""A model server for measurements: speaks the chat-completions dialect on loopback and costs almost nothing.

    python bench/model_server.py --ttft-us 50000 --gap-us 20000 --tokens 150     # prints the address it listens at

    POST /v1/chat/completions       a reply, streamed as one chunk per token of five letters, or whole
    POST /control?ttft_us=&gap_us=&tokens=&json_tokens=      set any of these, zero the counters
    GET  /stats                     what was asked and sent, and the server's own CPU seconds

Token k of a reply leaves at arrival + ttft + k * gap, however late the one before it was. The same request gets the
same reply. It knows nothing of moot, and takes no two requests at once on one connection.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import resource
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from heapq import heappop, heappush, heapreplace
from random import Random
from time import monotonic
from typing import Any, cast
from urllib.parse import parse_qsl

import orjson
import uvloop

VOCABULARY = (
    "cost risk data team code test plan time load user case fact goal rule side view base gain loss rate fail safe "
    "fast slow deep wide hard easy real fair best most less more then thus when once both each such only also even "
    "must will need make take give hold show seem find keep move turn lead draw meet stay rise fall work "
)
LETTERS = 5
MAX_TOKENS = 8192
VERDICT = '{"summary":"%s","score_a":7,"score_b":6,"no_new_substantive_arguments":false}'
MODELS = b'{"object":"list","data":[{"id":"mock","object":"model"}]}'
STREAM = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
COMMON: dict[str, Any] = {
    "id": "chatcmpl-0000000000000000",
    "object": "chat.completion.chunk",
    "created": 1700000000,
    "model": "mock",
    "system_fingerprint": "fp_mock",
}


@dataclass(frozen=True, slots=True)
class Pace:
    """Microseconds to the first token and between tokens, and how many of them a reply has."""

    ttft_us: int = 0
    gap_us: int = 0
    tokens: int = 150
    json_tokens: int = 40


@dataclass(slots=True)
class Stats:
    requests: int = 0
    replies: int = 0
    tokens: int = 0
    connections: int = 0
    aborted: int = 0
    prompt_chars: int = 0
    active: int = 0
    peak_active: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(description="A model server for measurements.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    for name, value in asdict(Pace()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=value)
    options = vars(parser.parse_args())
    uvloop.run(serve(options.pop("port"), Pace(**options)))


async def serve(port: int, pace: Pace) -> None:
    loop = asyncio.get_running_loop()
    model = Model(loop, pace)
    server = await loop.create_server(lambda: Connection(model), "127.0.0.1", port, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


class Model:
    """All replies under way, in the order their next tokens are due, and one timer for them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, pace: Pace) -> None:
        self.pace = pace
        self.stats = Stats()
        self._loop = loop
        self._due: list[tuple[float, int, Stream]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf

    def set_pace(self, query: str) -> None:
        self.pace = replace(self.pace, **{name: int(value) for name, value in parse_qsl(query)})
        self.stats = Stats(active=self.stats.active, peak_active=self.stats.active)

    def start(self, stream: Stream) -> None:
        self.stats.active += 1
        self.stats.peak_active = max(self.stats.peak_active, self.stats.active)
        now = monotonic()
        due: float | None = stream.next_due()
        if due is not None and due <= now:
            due = stream.send(now)
        if due is not None:
            heappush(self._due, (due, id(stream), stream))
            self._set_timer()

    def ended(self, whole: bool) -> None:
        self.stats.active -= 1
        self.stats.replies += whole
        self.stats.aborted += not whole

    def _set_timer(self) -> None:
        if not self._due or self._timer_at <= (at := self._due[0][0]):
            return
        if self._timer:
            self._timer.cancel()
        self._timer_at = at
        self._timer = self._loop.call_later(max(0, math.ceil((at - monotonic()) * 1000)) / 1000, self._tick)

    def _tick(self) -> None:
        """Send every token that is due by now."""
        self._timer, self._timer_at = None, math.inf
        now, due = monotonic(), self._due
        while due and due[0][0] <= now:
            stream = due[0][2]
            if (again := stream.send(now)) is None:
                heappop(due)
            else:
                heapreplace(due, (again, id(stream), stream))
        self._set_timer()


class Stream:
    """One reply on its way out, in chunks that were encoded before."""

    __slots__ = ("_chunks", "_end", "_first", "_gap", "_model", "_sent", "_transport")

    def __init__(self, model: Model, transport: asyncio.Transport, chunks: Sequence[bytes], end: bytes) -> None:
        self._model = model
        self._transport = transport
        self._chunks = chunks
        self._end = end
        self._gap = model.pace.gap_us / 1e6
        self._first = monotonic() + model.pace.ttft_us / 1e6
        self._sent = 0

    def next_due(self) -> float:
        return self._first + self._sent * self._gap

    def send(self, now: float) -> float | None:
        """Send the tokens that are due, at least one; tells when the next is, if there is one."""
        if self._transport.is_closing():
            self._model.ended(whole=False)
            return None
        begin, total = self._sent, len(self._chunks)
        until = min(total, begin + 1 + int((now - self.next_due()) / self._gap)) if self._gap else total
        self._sent = until
        self._model.stats.tokens += until - begin
        if begin and until - begin == 1 and until < total:
            self._transport.write(self._chunks[begin])
            return self.next_due()
        head = b"" if begin else STREAM + ROLE
        tail = self._end if until == total else b""
        self._transport.write(b"".join((head, *self._chunks[begin:until], tail)))
        if until < total:
            return self.next_due()
        self._model.ended(whole=True)
        return None


class Connection(asyncio.Protocol):
    def __init__(self, model: Model) -> None:
        self._model = model
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._model.stats.connections += 1

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(b"\r\n\r\n")
        if not found or len(rest) < (length := content_length(head)):
            return
        self._received = rest[length:]
        method, target, _ = head.split(b" ", 2)
        path, _, query = target.decode().partition("?")
        if path == "/control":
            self._model.set_pace(query)
            self._answer(b"{}")
        elif path == "/stats":
            self._answer(orjson.dumps({**asdict(self._model.stats), "server_cpu_s": cpu_seconds()}))
        elif method == b"POST":
            self._complete(rest[:length])
        else:
            self._answer(MODELS)

    def _complete(self, body: bytes) -> None:
        request, pace, stats = orjson.loads(body), self._model.pace, self._model.stats
        prompt = sum(len(message["content"]) for message in request["messages"])
        stats.requests += 1
        stats.prompt_chars += prompt
        if "response_format" in request:
            words, chunks = verdict(pace.json_tokens)
        else:
            most = request.get("max_tokens") or request.get("max_completion_tokens") or MAX_TOKENS
            words, chunks = prose(zlib.crc32(body), max(1, min(pace.tokens, most, MAX_TOKENS)))
        usage = usage_of(prompt, len(chunks))
        if request.get("stream"):
            wanted = (request.get("stream_options") or {}).get("include_usage")
            end = FINISH + (event({"choices": [], "usage": usage}) if wanted else b"") + DONE
            self._model.start(Stream(self._model, self._transport, chunks, end))
        else:
            wait = (pace.ttft_us + (len(chunks) - 1) * pace.gap_us) / 1e6
            asyncio.get_running_loop().call_later(wait, self._answer_whole, "".join(words), usage)

    def _answer_whole(self, text: str, usage: dict[str, int]) -> None:
        self._model.stats.replies += 1
        self._model.stats.tokens += usage["completion_tokens"]
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        self._answer(orjson.dumps({**COMMON, "object": "chat.completion", "choices": [choice], "usage": usage}))

    def _answer(self, body: bytes) -> None:
        head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + body)


def content_length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.split(b"\r\n", 1)[0]) if found else 0


def prose(seed: int, tokens: int) -> tuple[Sequence[str], Sequence[bytes]]:
    """Words and their chunks, from a place in the common text that depends on the request."""
    begin = seed % len(WORDS)
    return TEXT[begin : begin + tokens], CHUNKS[begin : begin + tokens]


def verdict(tokens: int) -> tuple[Sequence[str], Sequence[bytes]]:
    """A ballot of so many tokens, or as few as it can have."""
    room = max(LETTERS, tokens * LETTERS - len(VERDICT) + len("%s"))
    text = VERDICT % "".join(TEXT)[:room]
    words = [text[at : at + LETTERS] for at in range(0, len(text), LETTERS)]
    return words, [content(word) for word in words]


def usage_of(prompt_chars: int, tokens: int) -> dict[str, int]:
    prompt = prompt_chars // LETTERS
    return {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens}


def content(text: str) -> bytes:
    return event({"choices": [choice({"content": text})]})


def choice(delta: dict[str, str], finish_reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def event(fields: dict[str, Any]) -> bytes:
    return frame(b"data: " + orjson.dumps({**COMMON, **fields}) + b"\n\n")


def frame(data: bytes) -> bytes:
    """A chunk of HTTP's chunked encoding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


WORDS = [VOCABULARY[at : at + LETTERS] for at in range(0, len(VOCABULARY), LETTERS)]
TEXT = Random(0).choices(WORDS, k=MAX_TOKENS + len(WORDS))
_ENCODED = {word: content(word) for word in WORDS}
CHUNKS = [_ENCODED[word] for word in TEXT]
ROLE = event({"choices": [choice({"role": "assistant", "content": ""})]})
FINISH = event({"choices": [choice({}, "stop")]})
DONE = frame(b"data: [DONE]\n\n") + b"0\r\n\r\n"

if __name__ == "__main__":
    main()
