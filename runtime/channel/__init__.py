"""A gRPC client by libnghttp2, without threads of its own: who waits for an answer reads it."""
