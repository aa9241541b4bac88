"""Calls about sessions of STAMP (docs/stamp.md)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from ..rpc import control_pb2 as pb
from .calls import Calls


class StampCalls(Calls):
    """Of the pipeline of this name; empty: of the only one."""

    pipeline: str

    def init_stamp(
        self, source_port: int = 0, source4: str = "", source6: str = "", interface: str = ""
    ) -> pb.StampSetup:
        """What sessions have from now on that do not say it themselves."""
        setup = pb.StampSetup(source_port=source_port, source4=source4, source6=source6,
                              interface=interface)  # fmt: skip
        request = pb.InitStampRequest(pipeline=self.pipeline, setup=setup)
        reply: pb.StampSetup = self._call("InitStamp", request)
        return reply

    def reset_stamp(self) -> int:
        """Destroy all sessions. Returns how many there were."""
        sessions: int = self._call("ResetStamp", pb.ResetStampRequest(
            pipeline=self.pipeline
        )).sessions  # fmt: skip
        return sessions

    def create_stamp_session(self, ssid: int, reflector: str, **others: Any) -> pb.StampSession:
        """`others`: as `pb.StampParameters` has them, `mode="STATEFUL"`."""
        asked = pb.StampParameters(ssid=ssid, reflector=reflector, **others)
        request = pb.CreateStampSessionRequest(pipeline=self.pipeline, parameters=asked)
        reply: pb.StampSession = self._call("CreateStampSession", request)
        return reply

    def start_stamp_session(self, ssid: int, duration: float | None = None) -> pb.StampSession:
        """For so many seconds; without any until it is stopped."""
        reply: pb.StampSession = self._call("StartStampSession", pb.StartStampSessionRequest(
            pipeline=self.pipeline, ssid=ssid, duration=duration
        ))  # fmt: skip
        return reply

    def stop_stamp_session(self, ssid: int) -> pb.StampSession:
        return self._of("StopStampSession", ssid)

    def destroy_stamp_session(self, ssid: int) -> pb.StampSession:
        """Returns what it was."""
        return self._of("DestroyStampSession", ssid)

    def _of(self, method: str, ssid: int) -> pb.StampSession:
        request = pb.StampSessionRequest(pipeline=self.pipeline, ssid=ssid)
        reply: pb.StampSession = self._call(method, request)
        return reply

    def stamp_sessions(self, *ssids: int) -> pb.ListStampSessionsReply:
        """These, or all, by SSID."""
        reply: pb.ListStampSessionsReply = self._call("ListStampSessions", self._sessions(ssids))
        return reply

    def stamp_results(self, ssid: int, most: int = 0) -> list[pb.StampResult]:
        """The oldest that nobody took (0: all), which the agent keeps no longer."""
        request = pb.StampResultsRequest(pipeline=self.pipeline, ssid=ssid, most=most)
        return list(self._call("GetStampSessionResults", request).results)

    def stamp_results_counter(self, ssid: int) -> pb.StampResultsCounter:
        request = pb.StampSessionRequest(pipeline=self.pipeline, ssid=ssid)
        reply: pb.StampResultsCounter = self._call("GetStampSessionResultsCounter", request)
        return reply

    def watch_stamp_results(self, *ssids: int) -> Generator[pb.StampResults, None, None]:
        """Results as they come, until this is closed."""
        yield from self._parts("WatchStampResults", self._sessions(ssids))

    def _sessions(self, ssids: tuple[int, ...]) -> pb.StampSessionsRequest:
        return pb.StampSessionsRequest(pipeline=self.pipeline, ssids=ssids)
