"""Overlays that are probed: which of them work, how well, and what packets are spared that do not.

A layer over the rules: what was asked for stays as it is, in the rule book, the journal and every
listing. Only in the records that packets read a spread leaves out the members that lead to a dead
overlay.
"""
