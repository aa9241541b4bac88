"""Keeps flows from members of spreads whose paths are out of what the spreads ask for.

A layer over the rules, as dead overlays are (`liveness`): rules and weights stay as they were
written, in the rule book, the journal and every listing.
"""
