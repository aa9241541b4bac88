"""The API server: lists of objects, and what changes from then on.

A thread a resource lists it and watches from there: it goes on from the last version that it has
seen (bookmarks move that on where nothing changes), and lists again where the server has forgotten
that (410 Gone). While the server is away nothing is said but that; objects stay what they were.
What it finds goes to an inbox.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from ..base import logs
from ..base.errors import refused
from . import errors
from .objects import Key, Unreadable, key_of, node_of, service_of, slice_of

#: Seconds: a watch ends by itself after so many (and up to twice as many), and the next one begins;
#: what is silent for longer than a bookmark takes is dead; pauses before another attempt.
_WATCH, _SILENCE, _CONNECT, _LIST = 240, 150.0, 5.0, 60.0
_LEAST, _MOST = 0.2, 10.0
_NOT_OURS = "!service.kubernetes.io/service-proxy-name,!service.kubernetes.io/headless"
_GONE, _FORBIDDEN = 410, (401, 403)
#: Refusals that say nothing of the version that was asked for.
_LATER = (*_FORBIDDEN, 429, 500, 503)
_log = logging.getLogger("services")


class Listed(NamedTuple):
    """All objects of a resource, by their names; None of one that has nothing for us."""

    resource: str
    objects: Mapping[Key, Any]


class Changed(NamedTuple):
    """One came, changed, or went (None). `at`: when it was read, by the monotonic clock."""

    resource: str
    key: Key
    object: Any
    at: float


class Fares(NamedTuple):
    """Whether the server answers."""

    resource: str
    answers: bool


class Resource(NamedTuple):
    """`ask`: the client's method; `said`: arguments that it always has."""

    name: str
    ask: Callable[..., Any]
    read: Callable[[Any], Any]
    said: Mapping[str, str]


def resources(kubeconfig: Path | None, context: str, node: str) -> list[Resource]:
    """By kubeconfig, or by the service account of this pod. Raises `Refused`."""
    try:
        from kubernetes import client, config  # an extra, which may not be there
    except ImportError:
        raise refused(errors.no_library()) from None
    try:
        settings = client.Configuration()
        if kubeconfig is None:
            config.load_incluster_config(client_configuration=settings)
        else:
            config.load_kube_config(str(kubeconfig), context or None, settings)
    except (config.ConfigException, OSError, ValueError, KeyError, TypeError) as error:
        raise refused(errors.no_configuration(str(error))) from None
    settings.retries = False
    core = client.CoreV1Api(client.ApiClient(settings))
    found = client.DiscoveryV1Api(client.ApiClient(settings))
    only = {"label_selector": _NOT_OURS}
    return [
        Resource("Service", core.list_service_for_all_namespaces, service_of, only),
        Resource("EndpointSlice", found.list_endpoint_slice_for_all_namespaces, slice_of, only),
        Resource("Node", core.list_node, node_of, {"field_selector": f"metadata.name={node}"}),
    ]


class _Expired(Exception):
    """The server has forgotten the version that a watch was to begin from."""


class _Refusal(Exception):
    """The server said no, with this status of HTTP."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(f"{status} {why}")
        self.status = status


class Reflector:
    """Lists and watches one resource until it is stopped."""

    def __init__(self, resource: Resource, inbox: SimpleQueue[Any]) -> None:
        self.resource, self._inbox = resource, inbox
        self.lists = self.watches = self.failures = 0
        self._stopping = threading.Event()
        self._answers: bool | None = None
        self._version = ""
        self._thread = threading.Thread(target=self._run, name=resource.name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Does not wait: a watch that is silent may take long to see it."""
        self._stopping.set()

    def _run(self) -> None:
        pause = _LEAST
        while not self._stopping.is_set():
            try:
                if not self._version:
                    self._list()
                self._watch()
                pause = _LEAST
            except _Expired:
                _log.info("%s: the API server has forgotten the last version: all are listed again",
                          self.resource.name)  # fmt: skip
                self._version = ""
            except Exception as error:  # the client library raises many kinds
                pause = _LEAST if self._answers else pause
                self._failed(error)
                self._stopping.wait(pause * random.uniform(0.5, 1))
                pause = min(2 * pause, _MOST)

    def _failed(self, error: Exception) -> None:
        self.failures += 1
        if getattr(error, "status", None) not in (None, *_LATER):
            self._version = ""  # it does not know what we ask for: perhaps it has lost its state
        self._say(False, error)

    def _say(self, answers: bool, error: Exception | None = None) -> None:
        """What changes of whether it answers; that of a refusal with what to do."""
        if answers == self._answers:
            return
        self._answers = answers
        name, status = self.resource.name, getattr(error, "status", None)
        if answers:
            _log.info("%s: the API server answers", name)
        elif status in _FORBIDDEN:
            logs.say(_log, errors.forbidden(name, _said(error)))
        else:
            _log.warning("%s: no answer of the API server: %s; rules stay as they are", name,
                         _said(error))  # fmt: skip
        self._inbox.put(Fares(name, answers))

    # ---- calls ------------------------------------------------------------------------------

    def _ask(self, timeout: float, **said: Any) -> Any:
        return self.resource.ask(
            **self.resource.said, **said, _preload_content=False,
            _request_timeout=(_CONNECT, timeout),
        )  # fmt: skip

    def _list(self) -> None:
        answer = self._ask(_LIST)
        try:
            _check(answer)
            found = json.loads(answer.data)
        finally:
            answer.release_conn()
        self.lists += 1
        objects = {key_of(each): self._read(each) for each in found.get("items") or ()}
        self._version = str(found["metadata"]["resourceVersion"])
        self._inbox.put(Listed(self.resource.name, objects))
        self._say(True)

    def _watch(self) -> None:
        answer = self._ask(
            _SILENCE, watch=True, allow_watch_bookmarks=True, resource_version=self._version,
            timeout_seconds=int(_WATCH * random.uniform(1, 2)),
        )  # fmt: skip
        try:
            _check(answer)
            self.watches += 1
            self._say(True)
            for line in _lines(answer):
                if self._stopping.is_set():
                    return
                self._take(json.loads(line))
        finally:
            answer.close()

    def _take(self, event: Mapping[str, Any]) -> None:
        kind, found = event["type"], event["object"]
        if kind == "ERROR":
            if found.get("code") == _GONE:
                raise _Expired
            raise ValueError(found.get("message") or "the API server ended the watch")
        if kind != "BOOKMARK":
            made = None if kind == "DELETED" else self._read(found)
            self._inbox.put(Changed(self.resource.name, key_of(found), made, time.monotonic()))
        self._version = str(found["metadata"]["resourceVersion"])

    def _read(self, found: Any) -> Any:
        try:
            return self.resource.read(found)
        except Unreadable as error:
            name = str(key_of(found)).lstrip("/")
            logs.say(_log, errors.unreadable(self.resource.name, name, str(error)))
            return None


def _check(answer: Any) -> None:
    """Raise what the server says in the place of an answer."""
    if answer.status == _GONE:
        raise _Expired
    if answer.status != 200:
        said = answer.data
        with suppress(ValueError):
            said = json.loads(said).get("message", said)
        raise _Refusal(int(answer.status), str(said))


def _lines(answer: Any) -> Iterator[bytes]:
    """Each as soon as it has come whole."""
    rest = b""
    for part in answer.stream(None, decode_content=False):
        *whole, rest = (rest + part).split(b"\n")
        yield from (line for line in whole if line.strip())


def _said(error: Exception | None) -> str:
    """The first line of an error; of one without a text its kind."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
