"""Packets and rules that nobody wrote, for any pipeline, out of its own parse graph and rule
kinds."""
