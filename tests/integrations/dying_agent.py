"""The careful agent of the examples, answered once, in a process that kills itself between two nodes.

    python dying_agent.py EXAMPLES THREAD PHASE

It dies when the turns of a node are stored, but LangGraph has not yet saved that the debate has come to PHASE.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from moot.app import build
from moot.settings import load

EXAMPLES, THREAD, PHASE = sys.argv[1:]
sys.path.append(EXAMPLES)
from careful import careful_agent  # noqa: E402


class Dying(AsyncSqliteSaver):
    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if checkpoint["channel_values"].get("phase") == PHASE:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().aput(config, checkpoint, metadata, new_versions)


async def run() -> None:
    config: Any = {"configurable": {"thread_id": THREAD}}
    async with build(load()) as app, Dying.from_conn_string("careful.db") as saver:
        graph = careful_agent(app).compile(checkpointer=saver)
        guidance = Command(resume={"action": "guide", "text": "Mind the cost."})
        await graph.ainvoke(guidance, config, durability="sync")


asyncio.run(run())
