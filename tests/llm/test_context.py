"""A debate that has outgrown its model: once more without the earlier turns, and that is said."""

from __future__ import annotations

from moot.core.debate import Status
from moot.core.prompts import LEFT_OUT, Message, shortened
from moot.errors import ContextTooSmall
from moot.llm.client import Request
from stage import Stage, sensible


def turn(text: str) -> str:
    return f'<turn by="A" round="1">\n{text}\n</turn>'


def test_the_older_half_of_the_turns_is_left_out() -> None:
    said = "\n\n".join([*map(turn, "abcd"), "Now you.", "Answer."])
    short = "\n\n".join([LEFT_OUT, *map(turn, "cd"), "Now you.", "Answer."])
    rules = Message("system", turn("an example"))
    assert shortened((rules, Message("user", said))) == (rules, Message("user", short))


def test_turns_alike_are_told_apart() -> None:
    assert shortened((Message("user", f"{turn('a')}\n\n{turn('a')}"),)) == (
        Message("user", f"{LEFT_OUT}\n\n{turn('a')}"),
    )


def test_a_seat_s_own_turns_are_left_out_too_and_the_roles_still_alternate() -> None:
    messages = (
        Message("user", "Begin."),
        Message("assistant", "one"),
        Message("user", turn("two") + "\n\nGo on."),
        Message("assistant", "three"),
        Message("user", turn("four") + "\n\nGo on."),
    )
    assert shortened(messages) == (
        messages[0],
        Message("assistant", LEFT_OUT),
        Message("user", f"{LEFT_OUT}\n\nGo on."),
        *messages[3:],
    )


def test_a_prompt_without_turns_stays_as_it_is() -> None:
    messages = (Message("system", "Rules."), Message("user", "Begin."), Message("user", turn("only one")))
    assert shortened(messages) == messages


async def test_a_prompt_that_does_not_fit_is_sent_once_more_without_its_earlier_turns() -> None:
    def reply(request: Request) -> str:
        if sum(message.content.count("<turn by=") for message in request.messages) > 3:
            raise ContextTooSmall("too long")
        return sensible(request)

    stage = Stage(reply, settings={"max_rounds": 3})
    assert (await stage.run()).status == Status.FINISHED
    assert [turn.marks for turn in await stage.turns()] == [(), (), (), (), *[("without:early_turns",)] * 3]
    assert [LEFT_OUT in request.messages[-1].content for request in stage.model.requests] == [
        False, False, False, False, False, True, False, True, False, True,
    ]  # fmt: skip
    assert stage.slept == []


async def test_a_prompt_that_does_not_fit_then_either_ends_the_debate_and_says_so() -> None:
    def reply(request: Request) -> str:
        if any("<turn by=" in message.content for message in request.messages):
            raise ContextTooSmall("it is too long for m")
        return sensible(request)

    stage = Stage(reply, settings={"max_rounds": 3})
    ending = await stage.run()
    assert (ending.status, len(await stage.turns())) == (Status.FAILED, 1)
    assert "it is too long for m" in str(ending.error)
