"""The compiler: a syntax tree to a checked model, to C, to a bundle."""
