"""Code that reads and writes headers of a packet: their fields, groups and arrays."""
