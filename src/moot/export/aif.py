"""The claims of a debate in the Argument Interchange Format, as the JSON that AIF tools exchange.

A claim is an I-node, and the words in which it was made an L-node. What supports another is an RA-node between them,
what attacks it a CA-node, and what concedes or withdraws it an MA-node, which AIF has for rephrasing what was said.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

import orjson

from moot.core.claims import How, Ledger
from moot.core.debate import JsonObject
from moot.core.record import iso
from moot.errors import InvalidInput
from moot.reading.debate import Reading

NODES: Mapping[How, tuple[str, str]] = {
    "supports": ("RA", "Default Inference"),
    "attacks": ("CA", "Default Conflict"),
    "concedes": ("MA", "Concession"),
    "withdraws": ("MA", "Retraction"),
}


def aif(reading: Reading) -> str:
    """The whole graph; every node of a claim bears its status."""
    if reading.ledger is None:
        raise InvalidInput(f"nobody noted the claims of {reading.record.id}; as argdown it has its speeches")
    return orjson.dumps(_graph(reading, reading.ledger), option=orjson.OPT_INDENT_2).decode()


def _graph(reading: Reading, ledger: Ledger) -> dict[str, list[JsonObject]]:
    nodes: list[JsonObject] = []
    edges: list[JsonObject] = []
    locutions: list[JsonObject] = []
    times = {turn.position: iso(turn.finished_at) for turn in reading.turns}
    spare, numbers = count(1), count(1)

    def edge(start: str, end: str) -> None:
        edges.append({"edgeID": str(next(numbers)), "fromID": start, "toID": end, "formEdgeID": None})

    for claim in ledger.claims:
        said, at = f"L{claim.id}", times.get(claim.turn, "")
        who = reading.titles.get(claim.seat, claim.seat)
        ends = {"status": claim.status} if claim.status else {}
        nodes.append({"nodeID": claim.id, "text": claim.text, "type": "I", **ends})
        nodes.append({"nodeID": said, "text": f"{who}: {claim.quote}", "type": "L"})
        nodes.append({"nodeID": f"Y{claim.id}", "text": "Asserting", "type": "YA"})
        edge(said, f"Y{claim.id}")
        edge(f"Y{claim.id}", claim.id)
        locutions.append({"nodeID": said, "personID": claim.seat, "timestamp": at, "start": None})
        for link in claim.links:
            kind, text = NODES[link.how]
            between = f"{kind}{next(spare)}"
            nodes.append({"nodeID": between, "text": text, "type": kind})
            edge(claim.id, between)
            edge(between, link.to)
    return {"nodes": nodes, "edges": edges, "locutions": locutions}
