"""Runs another build of a loaded pipeline beside it, on frames of live traffic, and compares."""
