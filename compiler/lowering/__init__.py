"""What `lower.py` stands on: the parser, look-ups, statements and rewriting as lines of C."""
