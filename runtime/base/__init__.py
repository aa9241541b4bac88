"""Paths, errors and small means that several rooms of the runtime share."""
