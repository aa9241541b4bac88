"""What a pipeline means: the model carried out on packets."""
