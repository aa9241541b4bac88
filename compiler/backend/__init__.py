"""C to an object, and what a bundle holds."""
