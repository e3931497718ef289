"""What is wrong with a set-up is found, each with what to do; what would have no effect is refused everywhere."""

from __future__ import annotations

import json
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from in_process import moot
from model_server import PATIENCE, ModelServer
from moot.llm import models
from moot.llm.client import Timeouts
from program import run

DEBATE_ID = re.compile(r"DEB-\w{8}")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as server:
        yield server


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        ((401, "no such key"), "deepseek refused the key: check DEEPSEEK_API_KEY"),
        ((402, "Insufficient Balance"), "deepseek is out of credit: Insufficient Balance"),
        ((404, "no such model"), "deepseek has no model 'deepseek-chat'"),
    ],
)
def test_a_model_that_refuses_to_speak_is_named_with_the_reason(
    server: ModelServer, refusal: tuple[int, str], said: str
) -> None:
    server.refusal = refusal
    ran = run("doctor", env={"DEEPSEEK_API_KEY": "sk-0123456789", "DEEPSEEK_BASE_URL": server.url})
    assert ran.code == 1
    (place,) = [number for number, line in enumerate(ran.out.splitlines()) if line.startswith("✗ model deepseek:")]
    assert said in ran.out.splitlines()[place + 1]


def test_a_provider_that_is_slow_is_not_said_to_be_away(
    server: ModelServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "PROBE", Timeouts(connect=1e-6))  # what a list of models may take elsewhere
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-0123456789")
    monkeypatch.setenv("DEEPSEEK_BASE_URL", server.url)
    ran = moot(capsys, "doctor")
    assert (ran.code, f"✓ deepseek at {server.url}\n" in ran.out) == (0, True), ran.out


def test_a_model_whose_server_is_not_there_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    ran = run("doctor", env={"MOOT_MODEL": f"{url}#x"})
    assert ran.code == 1
    assert f"✗ model {url}#x (MOOT_MODEL or moot.yaml)\n    cannot reach {url}" in ran.out


@pytest.mark.parametrize("chosen", ["model: {}", "model_judge: {}", "models: {{judge: {}}}", "judges: [{}]"])
def test_models_that_only_a_format_s_settings_name_are_called_too(
    server: ModelServer, tmp_path: Path, chosen: str
) -> None:
    config = tmp_path / "own.yaml"
    lab = "providers: {lab: {base_url: 'http://127.0.0.1:9/v1'}}"
    config.write_text(f"{lab}\nformats: {{duel: {{{chosen.format('lab:x')}}}}}\n")
    ran = run("doctor", env={"MOOT_MODEL": server.model, "MOOT_CONFIG": str(config)})
    assert (ran.code, "✗ model lab:x (formats.duel)" in ran.out) == (1, True), ran.out


def test_models_are_called_side_by_side(server: ModelServer) -> None:
    both = threading.Barrier(2)

    def reply(asked: dict[str, object]) -> str:
        both.wait(PATIENCE)  # which no model would pass that is called alone
        return "ready"

    server.replies = reply
    ran = run("doctor", env={"MOOT_MODEL": server.model, "MOOT_MODELS": json.dumps({"judge": f"{server.url}#other"})})
    assert (ran.code, ran.out.count(f"✓ model {server.url}#")) == (0, 2), ran.out


def test_a_built_in_model_that_was_not_fetched_is_not_said_to_be_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(models, "built_in_weights", lambda: None)
    monkeypatch.setenv("MOOT_MODEL", "local:smollm2")
    ran = moot(capsys, "doctor")
    assert "✓ model local:smollm2 (MOOT_MODEL or moot.yaml): not there yet, fetched when first used (94 MB)" in ran.out


def test_the_built_in_model_is_not_loaded(server: ModelServer) -> None:
    ran = run("doctor", env={"MOOT_MODEL": "local:smollm2"})
    assert (ran.code, "✓ model local:smollm2 (MOOT_MODEL or moot.yaml)" in ran.out) == (0, True)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("formats: {dule: {max_rounds: 2}}", "settings: formats.dule: there is no such format, did you mean duel?"),
        ("models: {jugde: openai:gpt}", "settings: models.jugde: no format has such a seat, did you mean judge?"),
        ("formats: {duel: {max_round: 2}}", "duel settings: max_round: not known, did you mean max_rounds?"),
        ("providers: {opnai: {max_concurrent: 2}}", "no provider is named 'opnai', did you mean openai?"),
        ("formats: {duel: {model: 'local:smolm2'}}", "no local model is named 'smolm2', did you mean smollm2?"),
        ("prompts: nowhere", "there is no"),
        ("prices: {opnai:gpt: {input: 1, output: 1}}", "settings: prices: no provider in 'opnai:gpt', did you mean"),
        ("port: 1\nport: 2", "own.yaml: line 2: 'port' stands here a second time"),
        ("formats:\n  duel: {depth: quick}\n  duel: {max_rounds: 2}", "own.yaml: line 3: 'duel' stands here a second"),
        ("retrieval: {embeder: ollama}", "retrieval.embeder: not known, did you mean embedder?"),
    ],
)
def test_names_in_the_settings_that_nothing_has_are_refused_and_found(
    server: ModelServer, tmp_path: Path, settings: str, said: str
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text(f"{settings}\n")
    env = {"MOOT_MODEL": server.model, "MOOT_CONFIG": str(config)}
    found, refused = run("doctor", env=env), run("debate", "Cats?", "--format", "duel", env=env)
    assert (found.code, said in found.out) == (1, True), found.out
    assert (refused.code, said in refused.err) == (2, True), refused.err


def test_a_wrong_setting_of_another_format_is_refused_too(tmp_path: Path, server: ModelServer) -> None:
    env = {"MOOT_MODEL": server.model}
    assert run("debate", "Cats?", "--format", "duel", "--quick", env=env).code == 0
    (tmp_path / "moot.yaml").write_text("formats: {panel: {max_round: 2}}\n")
    (debate_id,) = DEBATE_ID.findall(run("debate", "--list", env=env).out)
    said = (2, "moot: panel settings: max_round: not known, did you mean max_rounds?\n")
    for words in (
        ("debate", "Cats?", "--format", "duel"),
        ("debate", "Cats?", "--format", "duel", "--estimate"),
        ("fork", debate_id, "--at", "1"),
    ):
        ran = run(*words, env=env)
        assert (ran.code, ran.err) == said, ran
    told = run("doctor", env=env).out
    assert told.count("✗ settings of panel\n    panel settings: max_round: not known, did you mean max_rounds?\n") == 1


def test_a_misspelt_variable_is_named_with_the_one_that_was_meant() -> None:
    for words in (["doctor"], ["debate", "--list"]):
        ran = run(*words, env={"MOOT_MODLE": "x"})
        said = "the variable MOOT_MODLE is no setting, did you mean MOOT_MODEL?"
        assert (ran.code, said in ran.out + ran.err) == (1 if words == ["doctor"] else 2, True)


def test_every_misspelt_variable_is_named_at_once() -> None:
    told = run("doctor", env={"MOOT_MODLE": "x", "MOOT_ZZZ": "x"}).out
    assert "the variable MOOT_MODLE is no setting, did you mean MOOT_MODEL?" in told
    assert "the variable MOOT_ZZZ is no setting; unset it" in told


def test_a_misspelt_variable_of_a_provider_fails_and_one_of_another_program_is_told(server: ModelServer) -> None:
    env = {"MOOT_MODEL": server.model, "DEEPSEEK_MODEL_JUGE": "x"}
    ran = run("doctor", env=env)
    said = "✗ variable DEEPSEEK_MODEL_JUGE\n    has no effect, did you mean DEEPSEEK_MODEL_JUDGE?\n"
    assert (ran.code, said in ran.out) == (1, True), ran.out
    ran = run("doctor", env={"MOOT_MODEL": server.model, "OPENAI_MODEL": "x"})
    said = "✓ variable OPENAI_MODEL\n    has no effect: MOOT_MODEL=openai:… is the model of every seat\n"
    assert (ran.code, said in ran.out) == (0, True), ran.out


def test_what_the_settings_give_to_others_is_no_variable_without_effect(server: ModelServer, tmp_path: Path) -> None:
    config = tmp_path / "own.yaml"
    config.write_text(
        "research:\n"
        "  web: {command: nonesuch, tools: [search], env: [GOOGLE_API_KEY]}\n"
        "  docs: {url: 'http://127.0.0.1:9/mcp', tools: [search], key_env: OPENAPI_API_KEY}\n"
        "webhooks: [{url: 'https://chat.example/x', secret_env: MISTRALS_API_KEY}]\n"
        "workflow: {webhook: 'https://chat.example/x', secret_env: CLAUDE_API_KEY}\n"
    )
    own = ("GOOGLE", "OPENAPI", "MISTRALS", "CLAUDE")
    env = {"MOOT_MODEL": server.model, "MOOT_CONFIG": str(config), **{f"{name}_API_KEY": "x" for name in own}}
    ran = run("doctor", env={**env, "DEEPSEK_API_KEY": "x"})
    assert re.findall("variable (.*)", ran.out) == ["DEEPSEK_API_KEY"], ran.out


@pytest.mark.parametrize(
    ("settings", "what", "said"),
    [
        (
            "webhooks: [{url: 'https://chat.example/x', secret_env: NO_KEY}]",
            "webhook chat.example [0-9a-f]{6}",
            "NO_KEY is not set; it should hold the key that signs the webhook",
        ),
        (
            "workflow: {webhook: 'https://chat.example/x', secret_env: BAD_KEY}",
            "workflow chat.example [0-9a-f]{6}",
            "BAD_KEY holds no key: .*",
        ),
        (
            "workflow: {command: 'nonesuch --title {title}'}",
            "workflow nonesuch",
            "there is no such program: install it, or name another",
        ),
        (
            "workflow: {file: own.yaml/issues}",
            "issues go to own.yaml/issues",
            "it cannot be written to: name another folder",
        ),
        (
            "judges: ['lab:x']\nproviders: {lab: {base_url: 'http://127.0.0.1:9/v1'}}",
            r"model lab:x \(MOOT_JUDGES or moot.yaml\)",
            "cannot reach http://127.0.0.1:9.*",
        ),
    ],
)
def test_what_would_fail_only_when_a_debate_is_over_is_told(
    server: ModelServer, tmp_path: Path, settings: str, what: str, said: str
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text(f"{settings}\n")
    ran = run("doctor", env={"MOOT_MODEL": server.model, "MOOT_CONFIG": str(config), "BAD_KEY": "whsec_?"})
    assert (ran.code, len(re.findall(f"✗ {what}\n    {said}\n", ran.out))) == (1, 1), ran.out


def test_certificates_that_are_not_there_are_told() -> None:
    ran = run("doctor", env={"SSL_CERT_FILE": "/nowhere/company.pem"})
    said = "✗ certificates /nowhere/company.pem\n    SSL_CERT_FILE names no file; name one, or unset it\n"
    assert (ran.code, said in ran.out) == (1, True), ran.out


def test_a_file_that_holds_no_certificates_and_a_folder_that_is_not_there_are_told(tmp_path: Path) -> None:
    (tmp_path / "company.pem").write_text("not yet")
    ran = run("doctor", env={"SSL_CERT_FILE": f"{tmp_path}/company.pem", "SSL_CERT_DIR": "/nowhere"})
    said = f"✗ certificates {tmp_path}/company.pem\n    SSL_CERT_FILE names a file that holds no certificates in PEM"
    assert (ran.code, said in ran.out) == (1, True), ran.out
    assert "✗ certificates /nowhere\n    SSL_CERT_DIR names no folder; name one, or unset it\n" in ran.out


def test_a_server_that_would_not_start_without_a_token_is_told() -> None:
    ran = run("doctor", env={"MOOT_HOST": "0.0.0.0", "MOOT_MODEL": "local:smollm2"})
    said = "✗ pages at http://0.0.0.0:8321\n    listening on 0.0.0.0 lets others in: set MOOT_TOKEN"
    assert (ran.code, said in ran.out) == (1, True), ran.out


def test_a_lease_that_ends_before_its_heartbeat_is_told() -> None:
    ran = run("doctor", env={"MOOT_LEASE_SECONDS": "5", "MOOT_MODEL": "local:smollm2"})
    said = "✗ a lease of 5 s, a heartbeat each 10 s\n    others take over runs that live: set heartbeat_seconds to"
    assert (ran.code, said in ran.out) == (1, True), ran.out


def test_a_prompt_file_with_a_wrong_name_is_told_the_right_one(tmp_path: Path) -> None:
    for name in ("dule/argument.md", "duel/argumnt.md", "duel/zzzzzzzz.md"):
        (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / name).write_text("Speak.")
    told = run("doctor", env={"MOOT_PROMPTS": "own", "MOOT_MODEL": "local:smollm2"}).out
    assert told.count("no format has such a prompt, did you mean duel/argument.md?") == 2, told
    assert told.count("no format has such a prompt, so it is never used") == 1


def test_a_folder_of_prompts_that_is_not_there_is_told_once() -> None:
    ran = run("doctor", env={"MOOT_PROMPTS": "nowhere"})
    assert (ran.code, ran.out.count("nowhere")) == (1, 1), ran.out


def test_a_file_under_another_name_is_not_passed_over(tmp_path: Path) -> None:
    (tmp_path / "moot.yml").write_text("model: openai:gpt\n")
    ran = run("debate", "--list")
    assert (ran.code, ran.err) == (2, f"moot: {tmp_path}/moot.yml is not read: rename it to moot.yaml\n")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("nowhere", path)])
def test_settings_that_are_no_file_are_not_passed_over(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "moot.yaml")
    ran = run("debate", "--list")
    assert (ran.code, ran.err) == (2, f"moot: {tmp_path}/moot.yaml is no file, or a link to none: remove it\n")


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = run("doctor", env={"MOOT_PORT": str(port), "MOOT_MODEL": "local:smollm2"})
    assert f"✓ pages at http://127.0.0.1:{port}: in use, perhaps by moot serve already" in ran.out


def test_an_address_that_is_none_is_told_although_nothing_names_its_server(server: ModelServer) -> None:
    """Every debate would look there for a model first."""
    said = "✗ variable OLLAMA_HOST\n    the address of ollama cannot be used; write one such as http://gpu-1:8000/v1\n"
    for chosen in ({}, {"MOOT_MODEL": server.model}):
        ran = run("doctor", env={"OLLAMA_HOST": "gpu-1:port", **chosen})
        assert (ran.code, said in ran.out) == (1, True), ran.out


def test_a_server_that_a_variable_names_and_that_is_away_is_told_before_the_built_in_model_takes_its_place(
    server: ModelServer,
) -> None:
    away = {"VLLM_BASE_URL": "http://127.0.0.1:9"}
    ran = run("doctor", env=away)
    assert (ran.code, "✗ vllm at http://127.0.0.1:9/v1\n    cannot reach" in ran.out) == (1, True), ran.out
    assert run("doctor", env={**away, "MOOT_MODEL": server.model}).code == 0


def test_servers_of_one_s_own_are_called_and_said_to_wait_for_a_key_or_to_be_chosen(
    server: ModelServer, tmp_path: Path
) -> None:
    config = tmp_path / "own.yaml"
    config.write_text(
        f"providers: {{lab: {{base_url: '{server.url}'}}, attic: {{base_url: 'http://127.0.0.1:9/v1'}}, "
        "vault: {base_url: 'https://vault.example/v1', key_env: NO_KEY}}\n"
    )
    ran = run("doctor", env={"MOOT_CONFIG": str(config)})
    assert f"✓ lab at {server.url}: used once it is chosen: MOOT_MODEL=lab:MODEL\n" in ran.out, ran.out
    assert "✗ attic at http://127.0.0.1:9/v1\n    cannot reach http://127.0.0.1:9/v1" in ran.out, ran.out
    assert "✓ providers.vault\n    NO_KEY is not set, so no debate can use it\n" in ran.out, ran.out
