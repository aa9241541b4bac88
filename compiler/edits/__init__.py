"""Packet edits carried out for XDP and the card: pushes, pops, assignments, the way out."""
