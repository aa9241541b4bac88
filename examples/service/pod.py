"""What runs in a pod: an HTTP server that says which pod it is, and who it thinks has asked.

    pod.py NAME ADDRESS PORT

`GET /N` has N bytes in place of that. Connections stay open (HTTP/1.1).
"""

from __future__ import annotations

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Pod(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        size = int(self.path[1:] or 0)
        said = f"{sys.argv[1]} {self.client_address[0]}\n".encode()
        body = bytes(size) or said
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    with ThreadingHTTPServer((sys.argv[2], int(sys.argv[3])), Pod) as server:
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        server.serve_forever()
