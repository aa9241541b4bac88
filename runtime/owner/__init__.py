"""The one writer of a loaded pipeline."""
