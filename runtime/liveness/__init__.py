"""Probes overlays, reports their quality, and keeps packets from dead ones.

A layer over the rules: requested rules stay as they are, in the rule book, the journal and every
listing. Only the records that programs read exclude a spread's members that lead to a dead
overlay.
"""
