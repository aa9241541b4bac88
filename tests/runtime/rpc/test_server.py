"""The server where what it needs is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from helioc.lang.text.diagnostics import Refused
from helioc.runtime.http2 import nghttp2
from helioc.runtime.rpc.server import Server


def test_without_nghttp2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def library() -> None:
        raise OSError("cannot open shared object file")

    monkeypatch.setattr(nghttp2, "library", library)
    with pytest.raises(Refused, match=r"H0795.*libnghttp2\.so\.14") as error:
        Server(cast(Any, None), tmp_path / "socket")
    assert "apt-get install libnghttp2-14" in error.value.diagnostics[0].help
