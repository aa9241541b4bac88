"""A gRPC server by libnghttp2: what arrives is bounded by source, and seldom handed to a thread."""
