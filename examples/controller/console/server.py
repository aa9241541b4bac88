"""Answers for the console by HTTP: one page, its data as JSON, what changes by server-sent events.

    GET  /                    the page, and /page/… its parts: without data, for everybody
    POST /api/session         a token for a cookie; DELETE ends it
    GET  /api/live            the fleet, an edge, events: a snapshot, then what changes
    GET  /api/edge, /api/overlays, /api/history, /api/histogram, /api/graph

Nothing here changes anything at an edge. Every answer forbids scripts, styles and data of others.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

from aiohttp import web

from . import views, windows
from .access import COOKIE, LIFETIME, Access
from .collector import Collector, Edge
from .tables import Series

PAGE = Path(__file__).parent / "page"
#: Live streams at a time, of all who look; seconds that one may be too slow for a part.
MOST_LIVE, PATIENCE = 64, 20.0
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
HEADERS = {
    # `blob:` is the drawing that "PNG" makes of the graph, and files to be saved.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; object-src 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_log = logging.getLogger("controller.console")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _Bad(Exception):
    """The request says something that cannot be; why."""


class Console:
    """Answers; `listening.ConsoleServer` listens."""

    def __init__(self, collector: Collector, access: Access, period: float) -> None:
        self.collector, self.access, self.period = collector, access, period
        self._windows, self._watching = windows.Overlays(collector, period / 2), 0
        self._stopping = False
        self._files = {
            path.relative_to(PAGE).as_posix(): path.read_bytes()
            for path in PAGE.rglob("*") if path.suffix in TYPES
        }  # fmt: skip

    def application(self) -> web.Application:
        made = web.Application(middlewares=[self._guard], client_max_size=4096)
        made.on_response_prepare.append(_with_headers)
        made.on_shutdown.append(self._stop)
        made.router.add_get("/", self._page)
        made.router.add_get("/page/{path:.+}", self._page)
        made.router.add_post("/api/session", self._begin)
        made.router.add_delete("/api/session", self._end)
        made.router.add_get("/api/live", self._live, allow_head=False)
        for name in ("edge", "overlays", "history", "histogram", "graph"):
            made.router.add_get(f"/api/{name}", getattr(self, f"_{name}"))
        return made

    async def _stop(self, _: web.Application) -> None:
        self._stopping = True

    # ---- who may ------------------------------------------------------------------------------

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        busy = getattr(request.protocol, "busy", _ignore)  # that of `listening`
        busy(True)
        try:
            return await self._answer(request, handler)
        finally:
            busy(False)

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        asked = request.path
        if asked.startswith("/api/") and asked != "/api/session" and not self._may(request):
            return _refusal(HTTPStatus.UNAUTHORIZED, "a token or a certificate is needed")
        try:
            return await handler(request)
        except _Bad as bad:
            return _refusal(HTTPStatus.BAD_REQUEST, str(bad))
        except web.HTTPException as error:
            return _refusal(HTTPStatus(error.status), error.reason)
        except Exception:
            _log.exception("%r", asked)
            return _refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "the controller's log says why")

    def _may(self, request: web.Request) -> bool:
        transport = request.transport
        tls = transport.get_extra_info("ssl_object") if transport is not None else None
        authorization = request.headers.get("Authorization", "")
        return self.access.may_look(authorization, request.cookies.get(COOKIE, ""), tls)

    async def _begin(self, request: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(PATIENCE):
                content = await request.read()
            token = json.loads(content)["token"]
        except (ValueError, KeyError, TypeError, RecursionError, web.RequestPayloadError):
            raise _Bad('a JSON object with "token" is needed') from None
        except TimeoutError:
            raise web.HTTPRequestTimeout from None
        if not isinstance(token, str) or not self.access.by_token(token):
            await asyncio.sleep(0.5)
            return _refusal(HTTPStatus.FORBIDDEN, "this is not the token")
        answer = web.json_response({"lifetime": LIFETIME})
        answer.set_cookie(COOKIE, self.access.begin(), max_age=int(LIFETIME), httponly=True,
                          samesite="Strict", secure=request.secure, path="/api")  # fmt: skip
        return answer

    async def _end(self, request: web.Request) -> web.Response:
        self.access.end(request.cookies.get(COOKIE, ""))
        answer = web.json_response({})
        answer.del_cookie(COOKIE, path="/api")
        return answer

    # ---- the page -----------------------------------------------------------------------------

    async def _page(self, request: web.Request) -> web.Response:
        path = request.match_info.get("path", "index.html")
        content = self._files.get(path)
        if content is None:
            return _refusal(HTTPStatus.NOT_FOUND, "there is no such page")
        kind = TYPES[Path(path).suffix]
        return web.Response(body=content, content_type=kind, charset="utf-8")

    # ---- data ---------------------------------------------------------------------------------

    async def _edge(self, request: web.Request) -> web.Response:
        edge, when = self._named(request), _number(request, "t", 0.0)
        return await _json(views.edge_at, edge, when) if when else await _json(views.edge_now, edge)

    async def _overlays(self, request: web.Request) -> web.Response:
        asked = request.query
        window = windows.Window(
            asked.get("edge", ""), asked.get("state", ""), asked.get("text", "")[:100],
            asked.get("sort", "name"), asked.get("falling", "") == "1",
            int(_number(request, "first", 0)), int(_number(request, "count", 50)),
            _number(request, "t", 0.0),
        )  # fmt: skip
        return await _json(self._windows.window, window)

    async def _history(self, request: web.Request) -> web.Response:
        edge, now = self._named(request), self.collector.now()
        since, until = _number(request, "since", now - 300), _number(request, "until", now)
        return await _json(views.history, edge, _series(request), since, until)

    async def _histogram(self, request: web.Request) -> web.Response:
        edge, when = self._named(request), _number(request, "t", 0.0) or self.collector.now()
        ssid, minutes = int(_number(request, "ssid", 0)), int(_number(request, "minutes", 5))
        pipeline = request.query.get("pipeline", "")
        return await _json(views.histogram, edge, pipeline, ssid, when, max(1, min(minutes, 60)))

    async def _graph(self, request: web.Request) -> web.Response:
        edge = self._named(request)
        return await _json(views.graph, edge, request.query.get("pipeline", ""))

    def _named(self, request: web.Request) -> Edge:
        edge = self.collector.edge(request.query.get("edge", ""))
        if edge is None:
            raise web.HTTPNotFound(reason="there is no such edge")
        return edge

    # ---- what changes -------------------------------------------------------------------------

    async def _live(self, request: web.Request) -> web.StreamResponse:
        if self._watching >= MOST_LIVE:
            return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too many look at a time")
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        self._watching += 1
        try:
            with suppress(ConnectionError, TimeoutError):
                await answer.prepare(request)
                await self._follow(request, answer)
        finally:
            self._watching -= 1
        return answer

    async def _follow(self, request: web.Request, answer: web.StreamResponse) -> None:
        """Raises ConnectionError where who looked has gone, TimeoutError where they are too
        slow."""
        name, version, number, names = request.query.get("edge", ""), 0, 0, None
        hello = {"period": self.period, "memory": self.collector.memory}
        await _send(answer, "hello", hello)
        while not self._stopping and self._may(request):
            fleet = await asyncio.to_thread(views.fleet, self.collector, version)
            version = fleet["version"]
            if fleet["names"] == names:
                del fleet["names"]
            else:
                names = fleet["names"]
            await _send(answer, "fleet", fleet)
            edge = self.collector.edge(name)
            if edge is not None:
                await _send(answer, "edge", await asyncio.to_thread(views.edge_now, edge))
            if events := self.collector.events(number):
                number = events[-1].number
                await _send(answer, "events", [event._asdict() for event in events])
            await asyncio.sleep(self.period)


async def _send(answer: web.StreamResponse, event: str, data: Any) -> None:
    text = f"event: {event}\ndata: {_text(data)}\n\n"
    async with asyncio.timeout(PATIENCE):
        await answer.write(text.encode())


def _text(data: Any) -> str:
    """NaN and what is infinite, which agents may say, are not known: the rest is shown."""
    try:
        return json.dumps(data, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return json.dumps(_finite(data), separators=(",", ":"), allow_nan=False)


def _finite(data: Any) -> Any:
    match data:
        case float():
            return data if math.isfinite(data) else None
        case dict():
            return {key: _finite(value) for key, value in data.items()}
        case list() | tuple():
            return [_finite(value) for value in data]
    return data


def _ignore(_: bool) -> None:
    pass


async def _json(make: Callable[..., Any], *given: Any) -> web.Response:
    """Made beside the loop, so that others need not wait for it."""
    text = await asyncio.to_thread(lambda: _text(make(*given)))
    answer = web.Response(text=text, content_type="application/json")
    answer.enable_compression()
    return answer


def _refusal(status: HTTPStatus, title: str) -> web.Response:
    answer = web.json_response({"title": title}, status=status)
    if status is HTTPStatus.UNAUTHORIZED:
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


async def _with_headers(request: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
    response.headers["Server"] = "helio"


def _number(request: web.Request, name: str, default: float) -> float:
    text = request.query.get(name, "")
    try:
        found = float(text) if text else default
    except ValueError:
        found = float("nan")
    if not 0 <= found < 1e12:
        raise _Bad(f"`{name}` is no number from 0 on")
    return found


def _series(request: web.Request) -> list[Series]:
    try:
        asked = json.loads(request.query.get("series", "[]"))
        found = [Series(*map(str, each)) for each in asked]
    except (ValueError, TypeError, RecursionError):
        raise _Bad("`series` is no list of [pipeline, group, item, quantity]") from None
    if len(found) > views.MOST_SERIES:
        raise _Bad(f"more than {views.MOST_SERIES} series at once")
    return found
