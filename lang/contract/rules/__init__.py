"""Rules: what requests make of them, as text, YAML, CSV, columns and bytes."""
