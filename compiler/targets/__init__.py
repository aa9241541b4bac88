"""What a target does in a way of its own: how it edits packets, and the C around its programs."""
