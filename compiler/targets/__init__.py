"""What a target allows, beside the host's XDP hook, which takes all that `check` accepts."""
