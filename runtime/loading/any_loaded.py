"""Loads and opens pipelines wherever they run, on the host or on a card."""

from __future__ import annotations

from ..edge.config import Config
from .bundle import Bundle
from .card import LoadedCard
from .loader import Content, Loaded
from .releases import on_card, pick

AnyLoaded = Loaded | LoadedCard


def load(bundle: Bundle, config: Config, name: str, content: Content | None = None) -> AnyLoaded:
    """On the card if the bundle is for one. Raises `Refused` with nothing left of it."""
    if bundle.manifest.target == "host":
        return Loaded.load(bundle, config, name, content=content)
    return LoadedCard.load(bundle, config, name, content)


def open_loaded(name: str = "") -> AnyLoaded:
    """Wherever it runs; without a name, the only one. Raises `Refused`."""
    name = pick(name)
    return LoadedCard.open(name) if on_card(name) else Loaded.open(name)
