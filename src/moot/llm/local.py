"""Models that run inside this process: llama.cpp's server from the `xllamacpp` wheel, on a private loopback port.

Speaks to no model itself; it says where the server listens, and the OpenAI client does the rest.
"""

from __future__ import annotations

import ctypes
import logging
import os
import secrets
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from moot.errors import Unreachable
from moot.llm.weights import find_weights, missing_runtime

if TYPE_CHECKING:
    import xllamacpp

CONTEXT_TOKENS = 8192
_PROMPT_CACHE_MIB = 256  # llama.cpp would take up to 8 GiB of memory


@dataclass(frozen=True, slots=True)
class LocalServer:
    base_url: str
    api_key: str
    """Made for this process, so that no other user of the machine can talk to the server."""


class LocalModels:
    """The local models of one process, each loaded when first asked for and kept until the process ends."""

    def __init__(self) -> None:
        self._servers: dict[Path, LocalServer] = {}
        self._loading = threading.Lock()

    def start(self, model: str) -> LocalServer:
        """Load a model by its name or the path of its file, once. Blocks for about a second: call it in a thread."""
        with self._loading:
            weights = find_weights(model)
            if weights not in self._servers:
                self._servers[weights] = _serve(weights)
            return self._servers[weights]


def leave(code: int) -> NoReturn:
    """End a process that has used a local model, without taking the interpreter down first.

    llama.cpp's threads run on meanwhile, and once in a hundred times or so the process then dies of it.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _serve(weights: Path) -> LocalServer:
    try:
        import xllamacpp
    except ImportError:
        raise Unreachable(missing_runtime()) from None
    key = secrets.token_urlsafe()
    try:
        server = xllamacpp.Server(_parameters(weights, key))
    except RuntimeError as error:
        raise Unreachable(f"cannot load the model file '{weights}': {error}") from None
    # One reference too many, on purpose: its destructor hangs now and then, and then the process would not end.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
    return LocalServer(f"{server.listening_address}/v1", key)


def _parameters(weights: Path, key: str) -> xllamacpp.CommonParams:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.n_ctx = CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.cache_ram_mib = _PROMPT_CACHE_MIB
    # Its threads wait for each other by spinning: with one per core, any other work slows it tenfold.
    parameters.cpuparams.n_threads = max(1, (os.cpu_count() or 1) // 2)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [key]
    parameters.model_alias = {weights.stem}
    parameters.ui = parameters.endpoint_slots = parameters.endpoint_metrics = False
    parameters.verbosity = -1
    return parameters
