"""A bundle becomes a loaded pipeline: files, pins, ports, links."""
