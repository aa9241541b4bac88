"""The runtime: a bundle to a loaded pipeline, and requests to its rules."""
