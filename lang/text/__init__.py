"""Sources, spans, diagnostics, and what every command does alike."""
