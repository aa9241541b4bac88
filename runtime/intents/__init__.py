"""Intents: traffic described by its headers, and what is to become of it, for a while."""
