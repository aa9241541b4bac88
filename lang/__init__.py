"""The language: text to a syntax tree, and everything said about it to a user."""
