"""Loads, upgrades and opens pipelines: bundles, pins, links, releases, cards."""
