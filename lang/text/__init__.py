"""Sources, spans, diagnostics, errors, YAML, and files written whole."""
