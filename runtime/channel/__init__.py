"""A gRPC client by libnghttp2, without threads of its own: a thread that waits for an answer reads
it."""
