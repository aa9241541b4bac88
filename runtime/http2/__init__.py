"""HTTP/2 by libnghttp2, and gRPC in it: what server and client have in common."""
