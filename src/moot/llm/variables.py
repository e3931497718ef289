"""Variables of the environment that begin like a provider's, and that nothing here reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from moot.errors import nearest
from moot.llm.providers import BUILT_IN, Provider

KEYS = ("API_KEY", "API_TOKEN", "KEY", "TOKEN")
ADDRESSES = ("BASE_URL", "API_BASE", "API_URL", "ENDPOINT", "HOST", "URL")
"""How other programs end theirs."""
OTHER_NAMES = {"GOOGLE": "GEMINI", "CLAUDE": "ANTHROPIC"}
"""How a provider is called by others in the name of its key's variable, which may be a key to something else."""
LONG_NAME = 6
"""A shorter one differs little from somebody else's, as GROQ from GROK and XAI from ZAI."""
NEARLY = 0.85
"""How much two names have in common of which one is the other misspelt."""


class Unread(NamedTuple):
    variable: str
    why: str
    is_mistake: bool
    """Another one was meant, or is missing; else it may well be another program's."""


def unread(environ: Mapping[str, str], providers: Collection[Provider], groups: Collection[str]) -> Iterator[Unread]:
    """Those of each provider, and why they have no effect; `groups` are those of the seats that choose a model."""
    read = {name for each in providers for name in _read(each)}
    given = sorted(variable for variable, value in environ.items() if value and variable not in read)
    for provider in providers:
        start = f"{provider.name.upper()}_"
        for variable in (each for each in given if each.startswith(start)):
            if found := _why(start, variable.removeprefix(start), provider, environ, {each.upper() for each in groups}):
                yield Unread(variable, *found)
    keys = {each.name.upper(): each.key_env for each in providers if each.key_env}
    for variable in given:
        also = keys.get(OTHER_NAMES.get(variable.removesuffix("_API_KEY"), ""))
        if also and variable.endswith("_API_KEY") and not environ.get(also):
            yield Unread(variable, f"has no effect: if it is a key to this provider, name it {also}", is_mistake=False)
        if (meant := _misspelt_key(variable, keys)) and not environ.get(meant):
            yield Unread(variable, f"has no effect, did you mean {meant}?", is_mistake=True)


def _misspelt_key(variable: str, keys: Mapping[str, str]) -> str | None:
    """The key that is meant by one whose provider's name is nearly another's."""
    name, ending, rest = variable.upper().partition("_API_KEY")
    near = get_close_matches(name, [each for each in keys if len(each) >= LONG_NAME], 1, NEARLY)
    return keys[near[0]] if near and near[0] != name and ending and not rest else None


def _why(
    start: str, ending: str, provider: Provider, environ: Mapping[str, str], groups: Collection[str]
) -> tuple[str, bool] | None:
    """What is to be said, and whether it is a mistake; nothing of what is of no concern."""
    if ending == "MODEL":
        return f"has no effect: MOOT_MODEL={provider.name}:… is the model of every seat", False
    if ending.startswith("MODEL_"):
        return _why_no_model(start, ending.removeprefix("MODEL_"), provider, environ, groups)
    if any(start + ending in _read(usual) for usual in BUILT_IN):
        return f"has no effect: moot.yaml names another under providers.{provider.name}", False
    key, ours = _key(provider), {name.removeprefix(start): name for name in _read(provider)}
    if ending in KEYS and not key:
        return f"has no effect: name it as key_env under providers.{provider.name} of moot.yaml", False
    elsewhere = {**dict.fromkeys(KEYS, key), **dict.fromkeys(ADDRESSES, provider.url_env)}
    meant = elsewhere.get(ending) or ours.get(nearest(ending, ours) or "")
    return (f"has no effect, did you mean {meant}?", True) if meant and not environ.get(meant) else None


def _why_no_model(
    start: str, group: str, provider: Provider, environ: Mapping[str, str], groups: Collection[str]
) -> tuple[str, bool] | None:
    if group in groups:
        lacking = provider.key_env and not environ.get(provider.key_env)
        return (f"has no effect without {provider.key_env}: set that, or unset this", True) if lacking else None
    if near := nearest(group, groups):
        return f"has no effect, did you mean {start}MODEL_{near}?", True
    return f"has no effect; known: {', '.join(f'{start}MODEL_{each}' for each in sorted(groups))}", False


def _read(provider: Provider) -> set[str]:
    return {name for name in (_key(provider), provider.url_env) if name}


def _key(provider: Provider) -> str | None:
    return provider.key_env or provider.own_key_env
