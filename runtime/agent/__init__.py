"""The agent: every pipeline of a network namespace, owned, watched over and restored."""
