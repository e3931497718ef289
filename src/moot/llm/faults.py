"""What a server's refusal means: HTTP status, headers and body in, one of our errors out.

Knows no network. Messages still hold the server's own words here; the client takes keys and control
characters out of them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from moot.errors import ContextTooSmall, ModelError, RateLimited, Refused, ServerFault, UnknownModel, WrongKey

_NO_SUCH_MODEL = re.compile(
    r"model_not_found|(unknown|invalid|no such|not a valid) model|model\b.{0,200}(not exist|not found|not available)",
    re.IGNORECASE | re.DOTALL,
)
_WRONG_KEY = re.compile(r"api key not valid|(incorrect|invalid) api key", re.IGNORECASE)
"""As Gemini and xAI say it with a 400."""
_NO_CREDIT = re.compile(
    r"credit balance is too low"  # Anthropic, with a 400
    r"|(any|no|insufficient|not enough|out of) credits?\b",  # xAI, with a 403
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size"  # codes of OpenAI and llama.cpp
    r"|maximum (context|prompt) length"  # OpenAI, DeepSeek, vLLM, Mistral, OpenRouter; xAI
    r"|exceeds? the (available |model's |maximum )?context"  # llama.cpp, Ollama
    r"|prompt is too long"  # Anthropic, Ollama
    r"|input token count .{0,40}exceeds"  # Gemini
    r"|context length of only|context (window|size) (is )?exceeded"  # LM Studio
    r"|`inputs` tokens \+ `max_new_tokens` must be",  # Together
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that is not a reply."""

    status: int
    headers: Mapping[str, str]
    """Case-insensitive, as aiohttp gives them."""
    body: bytes

    @property
    def words(self) -> str:
        try:
            return words(orjson.loads(self.body))
        except orjson.JSONDecodeError:
            return self.body.decode(errors="replace")

    @property
    def complaint(self) -> str:
        """What it is about: its words, and the parameter it names beside them."""
        try:
            param = _error(orjson.loads(self.body)).get("param")
        except (orjson.JSONDecodeError, AttributeError):
            param = None
        return f"{self.words} {param or ''}"

    @property
    def too_long(self) -> bool:
        return self.status in (400, 413, 422, 500) and bool(_TOO_LONG.search(self.body.decode(errors="replace")))


def fault(
    refusal: Refusal, *, name: str, key_hint: str, has_key: bool, model: str, model_hint: str, now: float
) -> ModelError:
    """The error to raise; `now` is seconds since the epoch, for a Retry-After that is a date."""
    status, said = refusal.status, refusal.words
    if status == 402 or b"insufficient_quota" in refusal.body or (status in (400, 403) and _NO_CREDIT.search(said)):
        return Refused(f"{name} is out of credit: {said}")
    if status in (401, 403) or (status == 400 and _WRONG_KEY.search(said)):
        # With a 403 the key may be right, and the country wrong.
        also = f" (it says: {said})" if status == 403 and said.strip() else ""
        return WrongKey(f"{name} {'refused the' if has_key else 'wants a'} key: check {key_hint}{also}")
    if refusal.too_long:
        return _does_not_fit(name, said)
    if status == 404 or (status in (400, 422) and _NO_SUCH_MODEL.search(said)):
        return UnknownModel(f"{name} has no model {model!r}; {model_hint}")
    if status in (408, 429):
        return RateLimited(f"{name} has too many requests: {said}", retry_after=retry_after(refusal.headers, now))
    if status >= 500:
        return ServerFault(f"{name} failed ({status}): {said}", retry_after=retry_after(refusal.headers, now))
    if 300 <= status < 400:
        target = refusal.headers.get("Location", "elsewhere")
        return Refused(f"{name} redirects, which is not followed; give its real address: {target}")
    return Refused(f"{name} refused the request ({status}): {said}")


def reported(name: str, body: Any) -> ModelError:
    """The error to raise for one that came inside a stream."""
    said = words(body)
    return _does_not_fit(name, said) if _TOO_LONG.search(said) else ServerFault(f"{name} reported an error: {said}")


def words(body: Any) -> str:
    """The server's own message within an error body, whichever of the usual shapes it has."""
    error = _error(body)
    if isinstance(error, dict):
        error = error.get("message") or error.get("detail") or error.get("code") or error
    return error if isinstance(error, str) else json.dumps(error, ensure_ascii=False)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds a server asks us to wait, if it says so in a way that can be understood."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    value = headers.get("Retry-After")
    if (seconds := _number(value)) is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value or "").timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _error(body: Any) -> Any:
    if isinstance(body, list) and len(body) == 1:  # as Gemini sends it
        body = body[0]
    return body.get("error") or body if isinstance(body, dict) else body


def _does_not_fit(name: str, said: str) -> ContextTooSmall:
    return ContextTooSmall(f"the prompt is longer than {name}'s model can read; take one with a larger context: {said}")


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
