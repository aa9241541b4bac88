"""Where the roles of a pipeline that nobody wrote are attached, and what their packets begin with.
The draws are its own: what else a seed makes stays the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import get_args

from chance import Chance
from helioc.compiler.check.program import check
from helioc.compiler.model.statements import Unreachable
from helioc.compiler.tc_limits import refusals
from helioc.lang.syntax.parser import parse
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source

_COPY = r"^\s*(copy \{|mirror )"


def attached(text: str, roles: Sequence[str], seed: str) -> str:
    """The pipeline with some of its roles at tc, or all; where it makes copies, all or none (which
    is compiled for tc). One that says a receive queue is at XDP, unless a role needs no link header
    without it; where packets leave, none is sent back. A role has packets without a link header
    where nothing asks for one."""
    chance = Chance(f"attached {seed}")
    if made := _without_link(re.sub(r"^\s*queue .*\n", "", text, flags=re.M), roles, chance):
        return made
    if re.search(r"^\s*queue ", text, re.M):
        return text
    return _at_points(text, roles, chance) if chance.maybe(0.8) else text


def _at_points(text: str, roles: Sequence[str], chance: Chance) -> str:
    points = ["tc.ingress"]
    if chance.maybe(0.6):
        points = ["tc.ingress", "tc.egress", "tc.egress"]
        text = re.sub(r"\bsend back\b", "pass", text)
        text = re.sub(rf"\breply icmp( ({'|'.join(get_args(Unreachable))}))?\b", "drop", text)
    if not re.search(_COPY, text, re.M):
        points += ["xdp"]
    return _said(text, roles, [f"{role} at {chance.one(points)}" for role in roles])


def _without_link(text: str, roles: Sequence[str], chance: Chance) -> str:
    """With such a role; empty where the pipeline is not for any. Without `bridge`, which needs the
    link header, where that is all."""
    texts = [text]
    if not re.search(_COPY, text, re.M):
        texts.append(re.sub(r"\bbridge [\w.]+", "drop", text))
    for written, first in product(texts, chance.shuffled(list(roles))):
        said = [f"{r} at tc.ingress{' link ip' * (r == first)}" for r in roles]
        made = _said(written, roles, said)
        try:
            pipeline = check(parse(Source("random.hp", made)))
        except Refused:
            continue
        if not refusals(pipeline):
            return made
    return ""


def _said(text: str, roles: Sequence[str], said: list[str]) -> str:
    return text.replace(f"  ports {', '.join(roles)}\n", f"  ports {', '.join(said)}\n", 1)
