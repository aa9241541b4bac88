"""Rules on a network card: its maps, a run of its programs on the host, loading and attaching."""
