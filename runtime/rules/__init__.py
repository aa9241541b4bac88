"""A loaded pipeline's rules: as octets, in maps, and changed by transactions."""
