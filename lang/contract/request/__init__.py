"""Requests of information elements as text: their tree and parsers."""
