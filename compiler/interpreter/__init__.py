"""What `interpret.py` stands on: packets, expressions, matching and rewriting on octets."""
