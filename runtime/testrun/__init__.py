"""A pipeline that is loaded for itself, to try packets on it."""
