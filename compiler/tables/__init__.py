"""How rule kinds and states lie in maps: keys, records, masks; on the host and on a card."""
