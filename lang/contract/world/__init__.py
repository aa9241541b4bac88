"""The host around a pipeline: ports, addresses, neighbours."""
