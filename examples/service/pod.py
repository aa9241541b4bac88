"""What runs in a pod: an HTTP server that says which pod it is, and who it thinks has asked.

    pod.py NAME ADDRESS PORT

`GET /N` has N bytes in place of that; to a POST it says how many bytes came, too. Connections stay
open (HTTP/1.1).
"""

from __future__ import annotations

import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Pod(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(bytes(int(self.path[1:] or 0)) or self._said())

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self._answer(b"%d %b" % (len(self.rfile.read(size)), self._said()))

    def _said(self) -> bytes:
        return f"{sys.argv[1]} {self.client_address[0]}\n".encode()

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET


if __name__ == "__main__":
    with Server((sys.argv[2], int(sys.argv[3])), Pod) as server:
        sys.stdout.write("listening\n")
        sys.stdout.flush()
        server.serve_forever()
