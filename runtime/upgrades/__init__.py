"""Upgrades: how a new build differs from a running one, and what of it can be taken over."""
