"""What a spread may ask for."""

from __future__ import annotations

import pytest
from helioc.compiler.driver import lower_pipeline
from helioc.compiler.manifest import manifest_of
from helioc.lang.contract.request.request_parser import parse_request
from helioc.lang.contract.rules.rulebook import RuleBook
from helioc.lang.text.diagnostics import Refused
from helioc.lang.text.source import Source
from linx_world import linx


@pytest.fixture(scope="module")
def book() -> RuleBook:
    manifest = manifest_of(linx(), lower_pipeline(linx()))
    return RuleBook(manifest, {"LAN1": 1}, {1: 1})


@pytest.mark.parametrize("length", ["u16, ", ""])
def test_a_loss_is_per_mille(book: RuleBook, length: str) -> None:
    """1,001 would be a bound that nothing exceeds, and was taken without a word."""

    def plan(loss: int) -> None:
        spread = f"LBR 9 [(tos, 184), (max_loss, {length}{loss}), FAR 1]"
        text = f"create FAR 1 [(action, DROP)], {spread}"
        book.plan(parse_request(Source("request", text)))

    plan(1000)
    for loss in (1001, 65535):
        with pytest.raises(Refused) as refused:
            plan(loss)
        (found,) = refused.value.diagnostics
        assert (found.code, found.help) == ("H0416", "the largest is 1000")
        assert found.title == f"{loss} does not fit `max_loss`, which is per mille"
