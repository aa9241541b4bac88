"""How an edge becomes one of a fleet: a token for a certificate, renewed, and where the edge is."""
