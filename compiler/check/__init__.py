"""From a syntax tree to the model: every limit of the language is reported here."""
