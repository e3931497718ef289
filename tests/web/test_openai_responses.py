"""Debates as responses, asked for by the official client over a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI
from openai_clients import Theatre, asking, company

from moot.core.debate import Status
from moot.errors import Refused
from moot.llm.client import Request

ONE_ROUND = {"moot": {"max_rounds": 1, "depth": "quick"}}
ASKING = {"moot": {"checkpoints": True, "max_rounds": 3}}


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    theatre = Theatre(tmp_path_factory.mktemp("theatre"), company())
    theatre.start()
    yield theatre
    theatre.stop()


def stored(theatre: Theatre, debate_id: str) -> Any:
    return theatre.do(lambda app: app.load(debate_id))


def number_of_debates(theatre: Theatre) -> int:
    return len(theatre.do(lambda app: app.list(limit=100)))


def test_a_response_is_the_debate_as_reasoning_and_its_outcome_as_a_message(theatre: Theatre) -> None:
    with asking(theatre) as client:
        chat: Any = client.chat.completions.create(
            model="moot/duel", messages=[{"role": "user", "content": "Cats?"}], extra_body=ONE_ROUND
        )
        response: Any = client.responses.create(
            model="moot/duel", input="Cats?", extra_body=ONE_ROUND, temperature=0.1, max_output_tokens=16, store=False
        )
    debate_id = response.moot["debate"]
    assert (response.id, response.status, response.error) == (f"resp_{debate_id}_0", "completed", None)
    reasoning, message = response.output
    same = chat.choices[0].message.reasoning
    assert (reasoning.type, reasoning.summary[0].text.splitlines()[:3]) == ("reasoning", same.splitlines()[:3])
    assert message.content[0].text == response.output_text
    assert response.output_text == chat.choices[0].message.content.replace(chat.moot["debate"], debate_id)
    turns = stored(theatre, debate_id).turns
    assert response.usage.total_tokens == sum(turn.usage.input_tokens + turn.usage.output_tokens for turn in turns)
    assert response.moot == {
        "debate": debate_id,
        "status": "finished",
        "url": f"{theatre.url}/debates/{debate_id}",
    }


async def test_a_stream_of_a_response_says_the_same_piece_by_piece(theatre: Theatre) -> None:
    async with (
        AsyncOpenAI(base_url=f"{theatre.url}/v1", api_key="any") as client,
        client.responses.stream(model="moot/duel", input="Cats?", extra_body=ONE_ROUND) as stream,
    ):
        events = [event async for event in stream]
        final = await stream.get_final_response()
    kinds = [event.type for event in events]
    assert list(dict.fromkeys(kinds)) == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.reasoning_summary_part.added",
        "response.reasoning_summary_text.delta",
        "response.reasoning_summary_text.done",
        "response.reasoning_summary_part.done",
        "response.output_item.done",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    spoken = "".join(event.delta for event in events if event.type == "response.reasoning_summary_text.delta")
    reasoning: Any = final.output[0]
    assert kinds.count("response.reasoning_summary_text.delta") > 3
    assert reasoning.summary[0].text == spoken
    assert spoken.startswith("## Round 1\n\n### Debater A · argument\n\n")
    assert final.output_text.startswith("**Debater A (pro) wins, 7 : 4**")


def test_every_word_of_a_response_is_there_before_the_next_is_spoken(theatre: Theatre) -> None:
    theatre.baton.let(0)
    with asking(theatre) as client:
        stream = client.responses.create(model="moot/duel", input="Cats?", stream=True, extra_body=ONE_ROUND)
        next(stream), next(stream)
        theatre.baton.let(1)
        first = [next(stream) for _ in range(3)][-1]
        assert getattr(first, "delta", "") == "## Round 1\n\n### Debater A · argument\n\nReason "
        theatre.baton.let_all()
        assert list(stream)[-1].type == "response.completed"


def test_the_next_message_answers_the_response_that_it_names(theatre: Theatre) -> None:
    before = number_of_debates(theatre)
    with asking(theatre) as client:
        responses: list[Any] = [client.responses.create(model="moot/panel", input="Cats?", extra_body=ASKING)]
        for reply in ("continue", "continue", "approve"):
            last = responses[-1].id
            for count in ("0", "1", "0"):
                answer: Any = client.responses.create(
                    model="moot/panel",
                    input=reply,
                    previous_response_id=last,
                    extra_headers={"x-stainless-retry-count": count},
                )
            responses.append(answer)
    assert len({response.id for response in responses}) == 4
    assert [response.moot["status"] for response in responses] == ["waiting"] * 3 + ["finished"]
    assert number_of_debates(theatre) == before + 1
    turns = stored(theatre, responses[0].moot["debate"]).turns
    assert [turn.data["action"] for turn in turns if turn.seat == "human"] == ["continue", "continue", "approve"]


def test_a_response_that_is_sent_back_names_its_debate_too(theatre: Theatre) -> None:
    with asking(theatre) as client:
        first: Any = client.responses.create(model="moot/panel", input="Cats?", extra_body=ASKING)
        items: list[Any] = [{"role": "user", "content": "Cats?"}, *first.output, {"role": "user", "content": "end"}]
        second: Any = client.responses.create(model="moot/panel", input=items)
    assert second.moot["debate"] == first.moot["debate"]


def test_the_outcome_of_a_response_can_be_had_as_json(theatre: Theatre) -> None:
    with asking(theatre) as client:
        response: Any = client.responses.create(
            model="moot/duel", input="Cats?", text={"format": {"type": "json_object"}}, extra_body=ONE_ROUND
        )
    assert json.loads(response.output_text) == stored(theatre, response.moot["debate"]).record.outcome
    assert response.text.format.type == "json_object"


def test_what_no_debate_can_do_is_refused_before_one_is_paid_for(theatre: Theatre) -> None:
    before = number_of_debates(theatre)
    schema = {"format": {"type": "json_schema", "name": "x", "schema": {}}}
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"text": schema}, "text.format: 'json_schema' cannot be promised"),
        ({"tool_choice": "required"}, "tool_choice: a debate calls no tools"),
        ({"tool_choice": {"type": "web_search"}}, "tool_choice: a debate calls no tools"),
        ({"background": True}, "background: not known here; stream the answer"),
        ({"conversation": "conv_1"}, "conversation: not known here"),
        ({"previous_response_id": "resp_68af"}, "previous_response_id: 'resp_68af' is no answer of ours"),
        ({"input": []}, "input"),
        ({"input": [{"role": "user", "content": 5}]}, "input.0.content"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "'input_image' cannot be debated"),
    )
    with asking(theatre) as client:
        for more, message in refused:
            with pytest.raises(openai.BadRequestError) as caught:
                client.responses.create(model="moot/duel", input="Cats?", extra_body=more)
            assert message in str(caught.value), more
        with pytest.raises(openai.NotFoundError):
            client.responses.create(model="moot/duel", input="?", previous_response_id="resp_DEB-none2345_0")
        with pytest.raises(openai.NotFoundError, match="there is no GET /v1/responses/resp_1 here; there are GET"):
            client.responses.retrieve("resp_1")
    assert number_of_debates(theatre) == before


def broken(request: Request) -> str:
    raise Refused("the model says no")


def test_a_response_of_a_debate_that_fails_says_so(tmp_path: Path) -> None:
    theatre = Theatre(tmp_path, broken)
    theatre.start()
    with asking(theatre) as client:
        with pytest.raises(openai.InternalServerError, match=r"failed: .*the model says no"):
            client.responses.create(model="moot/duel", input="Cats?")
        last: Any = list(client.responses.create(model="moot/duel", input="Dogs?", stream=True))[-1]
    assert (last.type, last.response.status, last.response.error.code) == (
        "response.failed",
        "failed",
        "server_error",
    )
    assert "the model says no" in last.response.error.message
    assert {record.status for record in theatre.do(lambda app: app.list(limit=9))} == {Status.FAILED}
    theatre.stop()
