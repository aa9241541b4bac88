"""Events that packets raise: their records out of the kernel's ring, kept for a while, and their
watchers."""
