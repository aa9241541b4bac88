"""Whole files in another language, which get one message and not one a line."""

from __future__ import annotations

import re

from ..text.diagnostics import Diagnostic, Label
from ..text.source import Source, Span

_OURS = re.compile(r"^[ \t]*pipeline\s+\w+\s*\{", re.MULTILINE)
#: The same of files that have headers and constants only.
_DECLARES = re.compile(r"^[ \t]*(?:(?:link\s+)?header|const|import)\b", re.MULTILINE)

#: By language: how a line begins that no file of ours has.
_PROGRAMS = {
    "P4-16": r"""\#include\s*[<"][\w/.]+\.p4[>"] | typedef\s+bit\s*< | (?:control|parser)\s+\w+\s*\(
        | header\s+\w+\s*\{\s*bit\s*< | const\s+bit\s*<""",
    "C": r"""\#include\s*[<"][\w/.]+\.h(?:pp)?[>"] | SEC\s*\(
        | (?:static\s+)?(?:(?:__always_)?inline\s+)?
          (?:int|void|struct|unsigned|__u\d+)\s+\**\w+\s*[({;=]""",
    "Rust": r"""\#!?\[\w+ | (?:pub\s+)?(?:unsafe\s+)?fn\s+\w+\s*[(<] | use\s+\w+(?:::|;)
        | (?:pub\s+)?(?:impl|mod|trait|enum)\s+\w+[^\n]*[{;] | pub\s+struct\s""",
    "Go": r"""package\s+\w+\s*$ | func\s+(?:\(\w+\s+\*?\w+\)\s*)?\w+\s*\( | import\s*\(\s*$
        | type\s+\w+\s+struct\b""",
    "Python": r"""(?:async\s+)?def\s+\w+\s*\([^\n]*:\s*$ | from\s+[\w.]+\s+import\s
        | import\s+\w+\s+as\s | class\s+\w+[^\n{]*:\s*$ | if\s+__name__\b | print\s*\(
        | (?:for|while|with|try|if|elif|else)\b[^\n{}]*:\s*$""",
    "Lua": r"""local\s+(?:function\s+)?\w+\s*[=(] | function\s+[\w.:]+\s*\([^)]*\)\s*$""",
    "nftables": r"""table\s+(?:inet|ip6?|arp|bridge|netdev)\s+\w+\s*\{
        | (?:add|flush)\s+(?:table|chain|rule|ruleset)\b""",
    "Cisco IOS": r"""access-list\s+\d+\s | ip\s+access-list\s""",
    "SQL": r"""(?i:select\s[^\n]*\sfrom\s | insert\s+into\s | create\s+table\s)""",
    "shell": r"""\#!\s*/\S+
        | (?:iptables|tc|bpftool|ip)\s+(?:-\w|addr|link|route|qdisc|filter|prog)\b""",
}
#: The same of the first line that is neither empty nor a comment.
_OTHERS = {
    "JSON": r"""[{\[]\s*[{\[]?\s*["]""",
    "YAML": r"""---\s*$ | [\w-]+:(?:\s*$|\s+[\w\[{"']) | -\s+[\w"{\[]""",
    "requests": r"(?:create|update|delete|replace)\s+[A-Za-z]\w*\s*[\w\[:]",
}


def _begins(lines: dict[str, str], front: str) -> re.Pattern[str]:
    """One group for each of these languages, in their order."""
    groups = "|".join(f"({line})" for line in lines.values())
    return re.compile(f"{front}(?:{groups})", re.MULTILINE | re.VERBOSE)


_PROGRAM = _begins(_PROGRAMS, r"^[ \t]*")
_OTHER = _begins(_OTHERS, r"\A(?:[ \t]*(?:(?:\#|//)[^\n]*)?\n)*")


def foreign_file(source: Source) -> Diagnostic | None:
    """What to say of a file that is none of ours, at the first line that shows it."""
    text = source.text
    if _OURS.search(text):
        return None
    if found := _PROGRAM.search(text):
        return _another_language(_where(source, found), [*_PROGRAMS][(found.lastindex or 1) - 1])
    if (found := _OTHER.search(text)) and not _DECLARES.search(text):
        return _no_program(_where(source, found), [*_OTHERS][(found.lastindex or 1) - 1])
    return None


def _where(source: Source, found: re.Match[str]) -> Span:
    """What shows it, up to the end of its line."""
    start, end = found.span(found.lastindex or 0)
    return source.span(start, start + len(found.string[start:end].partition("\n")[0].rstrip()))


# ---- errors ---------------------------------------------------------------------------------


def _another_language(where: Span, language: str) -> Diagnostic:
    labels = (Label(where, f"this is {language}"),)
    return Diagnostic(
        "H0447",
        f"this is a program in {language}, and none in Helio",
        labels,
        "write it as headers, `pipeline NAME {…}` and stages: docs/coming-from.md has ten programs "
        "in P4-16, in C and in Helio side by side",
    )


_READ_BY = {
    "JSON": "a bundle's manifest is written by `helioc compile NAME.hp`",
    "YAML": "packet tests beside it are run by `helioc test NAME.hp`, the edge's YAML is read by "
    "`helioctl load --config`",
    "requests": "a file of requests is for `helioctl push`, or `helioc replay --rules`",
}


def _no_program(where: Span, what: str) -> Diagnostic:
    labels = (Label(where, f"this is {what}"),)
    hint = f"a pipeline is a file `NAME.hp`; {_READ_BY[what]}"
    return Diagnostic("H0447", f"this file has {what}, and no pipeline", labels, hint)
