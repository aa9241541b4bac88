"""Packet tests of a pipeline: reading them, running them, saying what differs."""
