"""The tokens with which chat templates tell who speaks, as text that is only read. Pure.

A server puts messages into its model's template and reads the whole: a token that stands in a message would end it and
begin another, as anybody's. What is read here keeps its length and its look, but for the first character of each token.
"""

from __future__ import annotations

import re

_IN_ANGLES = "|".join(
    (
        "s|bos|eos|pad|unk|mask|sep|cls|sop|eop|think|tool_call|tool_response|function_call|BOS_TOKEN|EOS_TOKEN",
        r"role|(?:start|end|begin|beginning)_of_\w{1,20}|image_soft_token|im_\w{1,20}|seed:\w{1,40}|longcat_\w{1,40}",
        "_(?:user|bot|assistant|system|observation|start|end|pad|unk)",
        r"(?:unused|reserved_|reserved_token_|extra_id_|special_token_?|SPECIAL_)\d{1,5}",
    )
)
_IN_BRACKETS = (
    "INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|IMG|IMG_BREAK|IMG_END|AUDIO|BEGIN_AUDIO"
    "|PREFIX|SUFFIX|MIDDLE|THINK|ARGS|CALL_ID|gMASK|sMASK|CLS|SEP|MASK|PAD|UNK|BOS|EOS"
)
_TOKEN = re.compile(
    rf"<(?=[|｜][^\s<>|｜]{{1,60}}[|｜]?>|[^\s<>|｜]{{1,60}}[|｜]>|/?(?:{_IN_ANGLES})>|</?SYS>>)"
    rf"|\[(?=/?(?:{_IN_BRACKETS})\]|\|[^\s\[\]|]{{1,60}}\|\]|e~\[)"
    r"|\](?=~!?[a-z][\[\]])",
    re.IGNORECASE,
)
"""Of Qwen, Llama, Mistral, Gemma, DeepSeek, Phi, Command R, GLM, EXAONE, Granite, Seed, MiniMax,
LongCat, Ling, TeleChat, SmolVLM and those that took theirs over."""
_LOOKALIKES = {"<": "‹", "[": "⁅", "]": "⁆"}


def without_chat_tokens(text: str) -> str:
    return _TOKEN.sub(lambda opening: _LOOKALIKES[opening[0]], text)
