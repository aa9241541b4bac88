"""Traces of packets: their schema, filters and text."""
