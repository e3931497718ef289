"""The JSON API of what can be looked at more closely: sources, how a turn was made, two debates side by side."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query

from moot.reading.comparison import Comparison, ComparisonView, comparison_view
from moot.reading.inspection import Inspection, inspection
from moot.reading.sources import SourcesView, SourceWithText, source_with_text, sources_view
from moot.web.api import API_ROUTES, DebateId, Serving

looks = APIRouter(**API_ROUTES)


@looks.get("/debates/{debate_id}/sources")
async def list_sources(debate_id: DebateId, server: Serving) -> SourcesView:
    """The sources of a debate: which carried its decision, what is quoted of them, and which citations lead nowhere."""
    return await asyncio.to_thread(sources_view, await server.app.read(debate_id))


@looks.get("/debates/{debate_id}/sources/{tag}")
async def show_source(
    debate_id: DebateId, tag: Annotated[str, Path(pattern="^[Ss][0-9]{1,3}$")], server: Serving
) -> SourceWithText:
    """One source with its text."""
    return await asyncio.to_thread(source_with_text, await server.app.read(debate_id), tag)


@looks.get("/debates/{debate_id}/turns/{position}")
async def inspect_turn(
    debate_id: DebateId,
    position: Annotated[int, Path(ge=0, le=100_000)],
    server: Serving,
) -> Inspection:
    """How a turn was made: model, prompt, tokens, cost, attempts, and what code found in it."""
    return await asyncio.to_thread(inspection, await server.app.read(debate_id), server.app.prompts, position)


@looks.get("/compare")
async def compare_debates(
    server: Serving,
    a: Annotated[str, Query(max_length=40, description="the id of a debate")],
    b: Annotated[str, Query(max_length=40, description="the id of another one")],
) -> ComparisonView:
    """Two debates side by side: setup, outcomes, trust, cost, and the claims made in both or in one alone."""
    both = Comparison(await server.app.read(a), await server.app.read(b))
    return await asyncio.to_thread(comparison_view, both)
