"""A loaded pipeline's rules: as bytes, in maps, and changed by transactions."""
