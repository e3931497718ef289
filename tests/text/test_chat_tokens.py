from __future__ import annotations

import pytest

from moot.text.chat_tokens import without_chat_tokens

TOKENS = [
    "<|im_start|>",
    "<|im_end|>",
    "<|endoftext|>",
    "<|start_header_id|>",
    "<|eot_id|>",
    "<|begin_of_text|>",
    "<|user|>",
    "<|assistant|>",
    "<|START_OF_TURN_TOKEN|>",
    "<|channel|>",
    "<｜User｜>",
    "<｜begin▁of▁sentence｜>",
    "<s>",
    "</s>",
    "<bos>",
    "<eos>",
    "<BOS_TOKEN>",
    "<unk>",
    "<pad>",
    "<start_of_turn>",
    "<end_of_turn>",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<unused42>",
    "<reserved_106>",
    "<<SYS>>",
    "<</SYS>>",
    "[INST]",
    "[/INST]",
    "[inst]",
    "[TOOL_CALLS]",
    "[AVAILABLE_TOOLS]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[gMASK]",
    "[|system|]",
    "[|endofturn|]",
    "<|turn>",
    "<turn|>",
    "<|channel>",
    "<channel|>",
    "<seed:bos>",
    "]~b]",
    "]~!b[",
    "[e~[",
    "<reserved_token_1>",
    "<_user>",
    "<role>",
    "</role>",
    "<longcat_user>",
    "<start_of_audio>",
    "<end_of_utterance>",
    "<im_start>",
]


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_is_read_as_text_and_looks_like_itself(token: str) -> None:
    shown = without_chat_tokens(f"before{token}after{token}{token}")
    assert token not in shown
    assert shown.replace("‹", "<").replace("⁅", "[").replace("⁆", "]") == f"before{token}after{token}{token}"


@pytest.mark.parametrize(
    "text",
    [
        "a < b",
        "x <| y",
        "<turn by='a'>",
        "[S1]",
        "[a](b)",
        "<b>bold</b>",
        "[ ] todo",
        "a[0]",
        "||",
        "<|",
        "[|]",
        "a[1]~b",
        "<x> | <y>",
    ],
)
def test_what_is_no_token_is_left_alone(text: str) -> None:
    assert without_chat_tokens(text) == text
