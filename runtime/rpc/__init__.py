"""The wire: control.proto, what is generated of it, and what gRPC needs to be told."""
