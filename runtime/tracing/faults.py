"""What can go wrong with watching packets: one function for each code, H085x."""

from __future__ import annotations

from ...lang.text.diagnostics import Diagnostic


def no_traced_build(name: str) -> Diagnostic:
    return Diagnostic(
        "H0850", f"the pipeline `{name}` was loaded without a traced build", (),
        "compile it without `--no-trace`, and load it again",
    )  # fmt: skip


def traced_already(name: str) -> Diagnostic:
    return Diagnostic(
        "H0851", f"the packets of `{name}` are being traced already", (),
        "one trace at a time: end the other one first",
    )  # fmt: skip


def bad_traced_build(name: str, why: str) -> Diagnostic:
    return Diagnostic(
        "H0852", f"the traced build of `{name}` cannot be used: {why}", (),
        "compile it with the helioc of this release, and load it again",
    )  # fmt: skip


def no_such_port(name: str, port: str, help_: str) -> Diagnostic:
    return Diagnostic("H0853", f"the pipeline `{name}` has no port `{port}`", (), help_)


def bad_sample(text: str) -> Diagnostic:
    return Diagnostic("H0854", f"`--sample {text}` cannot be understood", (),
                      "1/100 is one packet of a hundred")  # fmt: skip


def another_in_place(name: str, port: str) -> Diagnostic:
    return Diagnostic(
        "H0858", f"at the port `{port}` another program is in the place of `{name}`'s own", (),
        "is it being upgraded? try again; or unload the pipeline and load it again",
    )  # fmt: skip
