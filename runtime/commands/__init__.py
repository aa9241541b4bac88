"""The commands of `helioctl`. Each imports what it needs when it runs."""
