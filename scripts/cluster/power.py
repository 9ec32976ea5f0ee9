"""power: a Redfish BMC for the nodes of the cluster, by which Wattle turns idle nodes off and on like servers.

Usage    serve(host, port, certificate, key, login, nodes)
Nodes    by name: is_on() and turn(on). A node that is turned off loses its processes at once, as after a power cut: its
         agent has agreed before, and the node is empty
Serves   /redfish/v1/Systems and /redfish/v1/Systems/NODE with basic authentication, and ComputerSystem.Reset of a system
         with the types On and GracefulShutdown. No power reading: no node has a meter
Errors   as in Redfish: 401, 404, 400 with a message
Threads  one per connection; they end with the process
"""
import base64
import hmac
import http.server
import json
import ssl
import threading

ROOT = "/redfish/v1/Systems"
RESET = "/Actions/ComputerSystem.Reset"
TYPES = {"On": True, "GracefulShutdown": False}
MOST_BYTES = 4096
ASLEEP_W = 6  # the power of a BMC of a server that is off


class Bmc(http.server.BaseHTTPRequestHandler):
    nodes, login = {}, ""
    timeout = 10  # seconds that a peer may stay silent

    def do_GET(self):
        if not self.allowed():
            return None
        if self.path == ROOT:
            return self.answer(200, {"Members": [{"@odata.id": f"{ROOT}/{name}"} for name in self.nodes]})
        name = self.path.removeprefix(f"{ROOT}/")
        if name not in self.nodes:
            return self.fail(404, f"{self.path} does not exist")
        return self.answer(200, {"Id": name, "PowerState": self.state(self.nodes[name]), "Actions": {"#ComputerSystem.Reset": {
            "target": self.path + RESET, "ResetType@Redfish.AllowableValues": list(TYPES)}}})

    @staticmethod
    def state(node):
        on, wanted = node.is_on(), node.wanted()
        return ("On" if on else "PoweringOn") if wanted else ("PoweringOff" if on else "Off")

    def do_POST(self):
        if not self.allowed():
            return None
        name = self.path.removeprefix(f"{ROOT}/").removesuffix(RESET)
        if self.path != f"{ROOT}/{name}{RESET}" or name not in self.nodes:
            return self.fail(404, f"{self.path} does not exist")
        try:
            wanted = TYPES[json.loads(self.rfile.read(min(max(int(self.headers["Content-Length"]), 0), MOST_BYTES)))["ResetType"]]
        except (TypeError, ValueError, KeyError):
            return self.fail(400, f"ResetType must be one of {', '.join(TYPES)}")
        self.nodes[name].turn(wanted)
        return self.answer(204)

    def allowed(self):
        expected = "Basic " + base64.b64encode(self.login.encode()).decode()
        if hmac.compare_digest(self.headers.get("Authorization", "").encode(), expected.encode()):
            return True
        self.fail(401, "wrong user or password")
        return False

    def fail(self, status, why):
        self.answer(status, {"error": {"message": why}})

    def answer(self, status, document=None):
        body = json.dumps(document).encode() if document else b""
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Suppresses the access log, because the controller logs each call."""


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def finish_request(self, request, client_address):
        """Runs the handshake in the thread of the connection, so that a silent peer blocks no other."""
        request.settimeout(Bmc.timeout)
        try:
            request.do_handshake()
        except OSError:
            return
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        """Ignores errors of a broken connection."""


def serve(host, port, certificate, key, login, nodes):
    """Serves the BMC. `login`: USER:PASSWORD. Returns once the port listens."""
    Server.address_family = http.server.socket.AF_INET6 if ":" in host else http.server.socket.AF_INET
    server = Server((host, port), type("NodeBmc", (Bmc,), {"nodes": nodes, "login": login}))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
