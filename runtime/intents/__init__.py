"""Intents: actions for traffic that is described by its headers, for a limited time."""
