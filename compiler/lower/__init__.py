"""From the model to what the templates turn into C."""
