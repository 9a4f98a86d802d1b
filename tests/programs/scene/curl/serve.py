# SPDX-License-Identifier: Apache-2.0
"""serve.py COMMAND…: answers on a free port of loopback as long as the command runs; $PORT names it."""
import http.server
import os
import subprocess
import sys
import threading


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, text):
        body = text.encode()
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(f"you asked for {self.path}\n")

    def do_POST(self):
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.answer(f"you sent {text}\n")

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # a client that hangs up


server = Server(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["PORT"] = str(server.server_address[1])
sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
