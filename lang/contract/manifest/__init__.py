"""The manifest of a bundle."""
