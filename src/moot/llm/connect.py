"""From a model's name to a client that speaks to it, and which model to take when nobody says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import aiohttp
from pydantic import JsonValue

from moot.errors import InvalidInput, ModelError
from moot.llm.client import Client, Connection, Timeouts
from moot.llm.local import BUILT_IN_MODEL, LocalModels, find_weights
from moot.llm.openai_api import OpenAIClient, new_session
from moot.llm.prices import Priced, Prices
from moot.llm.providers import BUILT_IN, ModelName, Provider, parse_name
from moot.settings import Price, ProviderSettings

LOCAL_SAMPLING: Mapping[str, JsonValue] = {"repeat_penalty": 1.1, "dry_multiplier": 0.8}
"""Small models circle in their own words without this."""
PROBE = Timeouts(connect=2)


class Choice(NamedTuple):
    """A model, and why it was taken."""

    name: str
    why: str


class Models:
    """All model servers of one process; keys and addresses are read from the environment when first needed."""

    def __init__(
        self,
        environ: Mapping[str, str],
        own: Mapping[str, ProviderSettings] | None = None,
        clients: Mapping[str, Client] | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        """`clients` are the caller's own, by the provider name under which models then use them."""
        self._environ = environ
        self._own_clients = clients or {}
        self._clients: dict[str, Client] = {}
        self.providers = known_providers(own or {}) | {name: Provider(name, "") for name in self._own_clients}
        self.prices = Prices(self.providers, prices or {})
        self._local = LocalModels()
        self._session: aiohttp.ClientSession | None = None

    async def connect(self, name: str) -> Connection:
        parsed = parse_name(name, self.providers)
        key = str(parsed) if parsed.provider == "local" else parsed.provider
        if key not in self._clients:
            client = self._own_clients.get(parsed.provider) or await self._open(parsed)
            self._clients[key] = Priced(client, parsed.provider, self.prices)
        return Connection(self._clients[key], parsed.model)

    def check(self, name: str) -> None:
        """Raises InvalidInput when no call could ever be made under this name."""
        self._provider(parse_name(name, self.providers))

    async def default(self) -> Choice:
        """What there is: a key in the environment, a running Ollama, else the built-in model."""
        for provider in self.providers.values():
            if provider.default_model and self._key(provider):
                return Choice(f"{provider.name}:{provider.default_model}", f"{provider.key_env} is set")
        for provider in self.providers.values():
            if provider.local and (models := await self.reachable(provider)):
                chat = [model for model in models if "embed" not in model]
                if chat:
                    return Choice(f"{provider.name}:{chat[0]}", f"{provider.name} is running")
        return Choice(BUILT_IN_MODEL, "nothing else is configured")

    async def reachable(self, provider: Provider) -> tuple[str, ...] | None:
        """The provider's models; None when it cannot be asked."""
        try:
            return await self._client(provider, PROBE).list_models()
        except ModelError:
            return None

    def group_default(self, group: str) -> Choice | None:
        """A provider's own variable for a group of seats, such as DEEPSEEK_MODEL_JUDGE."""
        for provider in self.providers.values():
            variable = f"{provider.name.upper()}_MODEL_{group.upper()}"
            if self._key(provider) and (model := self._environ.get(variable)):
                return Choice(f"{provider.name}:{model}", f"{variable} is set")
        return None

    def configured(self, provider: Provider) -> bool:
        return provider.local or provider.key_env is None or bool(self._key(provider))

    def local_state(self) -> str:
        """Whether the built-in model is there."""
        try:
            find_weights(parse_name(BUILT_IN_MODEL, self.providers).model)
        except ModelError as error:
            return str(error)
        return "ready"

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _open(self, name: ModelName) -> OpenAIClient:
        if name.provider == "local":
            server = await asyncio.to_thread(self._local.start, name.model)
            provider = Provider(str(name), server.base_url, extra_body=LOCAL_SAMPLING)
            return self._client(provider, Timeouts(), server.api_key)
        return self._client(self._provider(name), Timeouts())

    def _provider(self, name: ModelName) -> Provider:
        provider = self.providers.get(name.provider, Provider(name.provider, name.provider))
        if provider.key_env and not self._key(provider):
            raise InvalidInput(f"{provider.name} needs a key: set {provider.key_env}, or choose another --model")
        return provider

    def _client(self, provider: Provider, timeouts: Timeouts, key: str | None = None) -> OpenAIClient:
        if self._session is None:
            self._session = new_session()
        return OpenAIClient(
            session=self._session,
            base_url=self.address(provider),
            api_key=key or self._key(provider),
            name=provider.name,
            key_hint=provider.key_env or "its key",
            timeouts=timeouts,
            json_mode=provider.json_mode,
            max_tokens_field=provider.max_tokens_field,
            extra_body=provider.extra_body,
        )

    def address(self, provider: Provider) -> str:
        url = (provider.url_env and self._environ.get(provider.url_env)) or provider.base_url
        return (url if "://" in url else f"http://{url}").rstrip("/") + provider.path

    def _key(self, provider: Provider) -> str | None:
        return self._environ.get(provider.key_env) if provider.key_env else None


def known_providers(own: Mapping[str, ProviderSettings]) -> dict[str, Provider]:
    providers = {provider.name: provider for provider in BUILT_IN}
    for name, chosen in own.items():
        known = providers.get(name)
        if known is None and chosen.base_url is None:
            raise InvalidInput(f"provider {name!r} in the settings needs a base_url")
        known = known or Provider(name, "")
        if chosen.base_url:
            known = replace(known, base_url=chosen.base_url, url_env=None)
        providers[name] = replace(known, key_env=chosen.key_env or known.key_env)
    return providers
