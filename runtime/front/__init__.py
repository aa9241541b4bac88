"""A gRPC server by libnghttp2: what arrives at it is bounded by source, and is handed from thread to
thread as seldom as can be."""
