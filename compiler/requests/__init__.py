"""Rules and requests: what both planes understand of them. The runtime may import this room."""
