"""Packet edits carried out: pushes, pops, assignments, the way out. Frames are moved as `head.py`
says, or a class of the target's own."""
