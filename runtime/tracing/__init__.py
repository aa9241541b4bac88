"""Traces a loaded pipeline's packets by its traced build, which replaces the plain one
as long as that lasts."""
