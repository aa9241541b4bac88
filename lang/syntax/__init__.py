"""Text of a `.hp` file to its tree, and back."""
