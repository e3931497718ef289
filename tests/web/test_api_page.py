"""The page about the API says what the API's own document says."""

from __future__ import annotations

from typing import Any

from live import serving, simple_app

from moot.web.pages.api_page import Field, Operation, operations

DOCUMENT: dict[str, Any] = {
    "paths": {
        "/api/debates/{id}/rating": {
            "post": {
                "summary": "Rate",
                "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Rating"}}}},
                "responses": {"204": {"description": "kept"}},
            }
        }
    },
    "components": {
        "schemas": {
            "Rating": {
                "required": ["stars"],
                "properties": {
                    "stars": {"type": "integer", "description": "1 to 5"},
                    "why": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                    "tags": {"type": "array", "items": {"enum": ["fair", "short"]}},
                },
            }
        }
    },
}


def test_a_call_has_its_fields_wherever_they_stand() -> None:
    (found,) = operations(DOCUMENT)
    assert found == Operation(
        "POST",
        "/api/debates/{id}/rating",
        "Rate",
        "",
        (
            Field("id", "path", "string", True, ""),
            Field("stars", "body", "integer", True, "1 to 5"),
            Field("why", "body", "string or null", False, ""),
            Field("tags", "body", "list of fair or short", False, ""),
        ),
        (("204", "kept"),),
    )
    assert found.id == "post-api-debates-id-rating"


async def test_every_call_of_the_server_is_on_the_page() -> None:
    async with serving(simple_app()) as live:
        document = (await live.get("/api/openapi.json")).body
        page = (await live.get("/docs")).body
    for path, calls in document["paths"].items():
        assert f"<code>{path}</code>" in page
        for call in calls.values():
            assert call.get("description") or call["summary"]
    assert "<script src" not in page
