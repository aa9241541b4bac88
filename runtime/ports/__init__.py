"""Interfaces that a pipeline is attached to."""
