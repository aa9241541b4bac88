"""Parsers that ANTLR generated from lang/Helio.g4 and lang/Request.g4; never edited."""
