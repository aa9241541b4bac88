"""Errors of sessions."""

from __future__ import annotations

from collections.abc import Collection

from ...lang.text.diagnostics import Diagnostic, did_you_mean


def unknown(ssid: int) -> Diagnostic:
    return Diagnostic("H0840", f"there is no session with the SSID {ssid}", (),
                      "`helioctl stamp list` shows those that there are")  # fmt: skip


def taken(what: str, whose: str) -> Diagnostic:
    return Diagnostic("H0841", f"{what} is taken: {whose}", (),
                      "take another one, or `helioctl stamp destroy` that session first"
                      )  # fmt: skip


def answers_taken(ssid: int, source: str, port: int, pipeline: str) -> Diagnostic:
    title = (f"answers of the SSID {ssid} to {source}, port {port}, are "
             f"those of a session of `{pipeline}`")  # fmt: skip
    return Diagnostic("H0841", title, (), "take another SSID, or another `--source-port`")


def rule_there(ssid: int, rule: str) -> Diagnostic:
    return Diagnostic("H0841", f"the SSID {ssid} is taken: {rule} collects its answers", (),
                      "take another SSID, or delete that rule: the session makes one of its own"
                      )  # fmt: skip


def bad(what: str, help_: str) -> Diagnostic:
    return Diagnostic("H0842", what, (), help_)


def authenticated() -> Diagnostic:
    return Diagnostic("H0843", "test packets are not authenticated", (),
                      "leave `authenticated` out: neither the reflector nor the collector, which "
                      "run in XDP, compute an HMAC (RFC 8762 section 4.4)")  # fmt: skip


def too_many(most: int) -> Diagnostic:
    return Diagnostic("H0844", f"there are {most:,} sessions already", (),
                      "`helioctl stamp destroy` some")  # fmt: skip


def too_fast(rate: float, most: int) -> Diagnostic:
    title = f"the sessions that are started would send {rate:,.0f} packets a second together"
    return Diagnostic("H0844", title, (), f"at most {most:,}: stop some, or take longer intervals")


def no_collector(pipeline: str, lacks: str) -> Diagnostic:
    return Diagnostic("H0845", f"the pipeline `{pipeline}` does not collect answers of STAMP: it "
                      f"has no {lacks}", (), "load `stamp`, or a pipeline with its rules and its "
                      "event")  # fmt: skip


def no_way(address: str, why: str) -> Diagnostic:
    return Diagnostic("H0846", f"there is no way to {address}: {why}", (),
                      "add a route, or name the `source`")  # fmt: skip


def no_address(address: str, have: Collection[str]) -> Diagnostic:
    return Diagnostic(
        "H0846",
        f"the host does not have the address {address}",
        (),
        did_you_mean(address, have) or "answers to it would not come here",
    )


def not_sent(why: str) -> Diagnostic:
    return Diagnostic("H0847", f"test packets cannot be sent: {why}", (),
                      "run `heliod` as root, or with CAP_NET_RAW")  # fmt: skip


def rule_gone(ssid: int) -> Diagnostic:
    return Diagnostic("H0848", f"the rule COLLECTOR of session {ssid} was deleted by somebody else",
                      (), f"`helioctl stamp destroy {ssid}`, and create it again")  # fmt: skip
