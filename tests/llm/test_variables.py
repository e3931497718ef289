"""Variables that begin like a provider's and do nothing: which of them are mistakes, and what was meant."""

from __future__ import annotations

import pytest

from moot.llm.models import known_providers
from moot.llm.variables import Unread, unread
from moot.settings import ProviderSettings

GROUPS = {"debater", "judge"}
OPENAI_ELSEWHERE = {"openai": ProviderSettings(base_url="http://gpu/v1")}


def told(environ: dict[str, str], own: dict[str, ProviderSettings] | None = None) -> list[Unread]:
    return list(unread(environ, known_providers(own or {}).values(), GROUPS))


@pytest.mark.parametrize(
    ("variable", "why"),
    [
        ("DEEPSEEK_MODEL_JUGE", "has no effect, did you mean DEEPSEEK_MODEL_JUDGE?"),
        ("DEEPSEEK_MODEL_JUDGE", "has no effect without DEEPSEEK_API_KEY: set that, or unset this"),
        ("DEEPSEEK_API_KY", "has no effect, did you mean DEEPSEEK_API_KEY?"),
        ("OPENAI_KEY", "has no effect, did you mean OPENAI_API_KEY?"),
        ("OPENAI_API_BASE", "has no effect, did you mean OPENAI_BASE_URL?"),
        ("OLLAMA_BASE_URL", "has no effect, did you mean OLLAMA_HOST?"),
        ("LMSTUDIO_HOST", "has no effect, did you mean LMSTUDIO_BASE_URL?"),
        ("DEEPSEK_API_KEY", "has no effect, did you mean DEEPSEEK_API_KEY?"),
        ("OPEN_AI_API_KEY", "has no effect, did you mean OPENAI_API_KEY?"),
        ("ANTROPIC_API_KEY", "has no effect, did you mean ANTHROPIC_API_KEY?"),
        ("MISTRALAI_API_KEY", "has no effect, did you mean MISTRAL_API_KEY?"),
    ],
)
def test_a_misspelt_variable_of_a_provider_is_named_with_the_one_that_was_meant(variable: str, why: str) -> None:
    assert told({variable: "x"}) == [Unread(variable, why, is_mistake=True)]


@pytest.mark.parametrize(
    ("variable", "why"),
    [
        ("OPENAI_MODEL", "has no effect: MOOT_MODEL=openai:… is the model of every seat"),
        ("OPENAI_MODEL_NAME", "has no effect; known: OPENAI_MODEL_DEBATER, OPENAI_MODEL_JUDGE"),
        ("OLLAMA_API_KEY", "has no effect: name it as key_env under providers.ollama of moot.yaml"),
        ("OPENAI_BASE_URL", "has no effect: moot.yaml names another under providers.openai"),
        ("GOOGLE_API_KEY", "has no effect: if it is a key to this provider, name it GEMINI_API_KEY"),
        ("CLAUDE_API_KEY", "has no effect: if it is a key to this provider, name it ANTHROPIC_API_KEY"),
    ],
)
def test_what_another_program_may_read_is_told_and_no_mistake(variable: str, why: str) -> None:
    assert told({variable: "x"}, OPENAI_ELSEWHERE) == [Unread(variable, why, is_mistake=False)]


@pytest.mark.parametrize(
    "environ",
    [
        {"DEEPSEEK_API_KEY": "k", "DEEPSEEK_MODEL_JUDGE": "x", "DEEPSEEK_BASE_URL": "http://x"},
        {"OLLAMA_HOST": "gpu-1", "OLLAMA_MODEL_JUDGE": "x", "OLLAMA_BASE_URL": "http://gpu-1:11434"},
        {"OPENAI_ORGANIZATION": "x", "OPENAI_API_TYPE": "x", "OLLAMA_MODELS": "x", "VLLM_HOST_IP": "x"},
        {"OPENAI_API_KEY": "k", "OPENAI_API_KEY_2": "x"},
        {"DEEPSEEK_MODEL_JUGE": ""},
        {
            "GROK_API_KEY": "of xAI",
            "ZAI_API_KEY": "of Z.ai",
            "COHERE_API_KEY": "x",
            "DEEPL_API_KEY": "x",
            "X_API_KEY": "x",
        },
        {"DEEPGRAM_API_KEY": "x", "PINECONE_API_KEY": "x", "OPENWEATHER_API_KEY": "x", "MINIMAX_API_KEY": "x"},
        {"DEEPSEEK_API_KEY": "k", "DEEPSEK_API_KEY": "k"},
    ],
)
def test_what_is_read_or_certainly_meant_for_others_is_passed_over(environ: dict[str, str]) -> None:
    assert told(environ) == []
