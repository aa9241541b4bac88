"""Watching a loaded pipeline's packets: the traced build in place of the plain one, for a while."""
