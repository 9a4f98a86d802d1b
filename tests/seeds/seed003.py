# SPDX-License-Identifier: Apache-2.0
"""Seed 003, AgenShield: the daemon and its API, rules, the broker, what agents cannot get around, set-up and AgentLink."""

import json

from table import Seed, absent, differs, section, works


def rule(id, type, operations, patterns, priority, enabled=True):
    return {"id": id, "name": f"Rule {id}", "type": type, "operations": operations, "patterns": patterns, "enabled": enabled, "priority": priority}


RULES = {"version": "1.0.0", "defaultAction": "deny", "rules": [
    rule("low", "allowlist", ["http_request"], ["https://*.example.com/**"], 1),
    rule("admin", "denylist", ["http_request"], ["https://api.example.com/admin"], 10),
    rule("off", "denylist", ["file_read"], ["/srv/**"], 100, enabled=False),
    rule("read", "allowlist", ["file_read", "file_list"], ["/srv/**"], 5),
    rule("secret", "denylist", ["file_read"], ["/srv/secret/**"], 6)]}
CONSTRAINTS = {"version": "1.0.0", "defaultAction": "allow", "rules": [rule("first", "allowlist", ["file_read"], ["/srv/first/**"], 1)],
               "fsConstraints": {"allowedPaths": ["/home/agent/workspace"], "deniedPatterns": ["**/.env", "**/*.key"]},
               "networkConstraints": {"allowedHosts": ["api.example.com"], "deniedHosts": ["evil.example.com"], "allowedPorts": [443]}}
SHIPPED = {"version": "1.0.0", "defaultAction": "allow", "rules": [], "fsConstraints": {"allowedPaths": ["@HOME@/work"], "deniedPatterns": ["**/.env", "**/*.key"]}}
SYSTEM = "/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**"
FILES = {
    "rules.json": json.dumps(RULES), "constraints.json": json.dumps(CONSTRAINTS), "shipped.json": json.dumps(SHIPPED), ".env": "TOKEN=secret\n", "file.txt": "hello\n", "out/f": "",
    "deny.json": json.dumps({"version": "1.0.0", "defaultAction": "allow", "rules": [rule("no", "denylist", ["file_read"], ["@/file.txt"], 9)]}),
    "by-path.json": json.dumps({"version": "1.0.0", "defaultAction": "allow", "fsConstraints": {"allowedPaths": ["/usr", "/lib", "/lib64", "/bin"]}, "rules": [
        rule("a", "denylist", ["http_request"], ["http://127.0.0.1:@PORT@/admin"], 2), rule("b", "allowlist", ["http_request"], ["http://127.0.0.1:@PORT@/**"], 1)]}),
    "allow.json": '{"version": "1.0.0", "defaultAction": "allow", "rules": []}',
    "broker.yaml": f'fs: {{read: [{SYSTEM}, "@HOME@/work/**"], write: ["@HOME@/work/out/**"]}}\nnetwork: {{allow: ["127.0.0.1:@PORT@"]}}\nenv: [PORT]\n'
                   "services: {browser: {access: open, domains: [shop.example]}}\n",
    "inject.yaml": f'fs: {{read: [{SYSTEM}]}}\nnetwork: {{allow: ["api.example.com:443"]}}\nsecrets: {{TOKEN: {{hosts: ["api.example.com:443"]}}}}\n'
                   "services: {vault: {access: read, secrets: [TOKEN]}}\n",
    "board/open": "#!/bin/sh\nexit 0\n", "~/.config/corral/services.yaml": "browser: {open_with: @HOME@/work/board/open}\n",
    "calls.sh": """#!/bin/sh
for c in "ping" "http_request url=http://127.0.0.1:$PORT/granted" "http_request url=http://127.0.0.1:1/" "file_read path=$PWD/file.txt" "file_read path=/etc/shadow" \\
	"file_write path=$PWD/out/new content=x" "file_list path=$PWD/out" "exec command=/bin/echo args:=[\\"ran\\"]" "open_url url=https://shop.example/" "open_url url=https://evil.example/" \\
	"fs.read path=$PWD/file.txt" "exec command=echo shell:=true" "secret_inject name=TOKEN"; do
	printf '%s: %s\\n' "$c" "$(sandbox-call $c --json)"
done
ls -l $SANDBOX_SOCKET
printf '{"jsonrpc":"2.0","id":1,"method":"ping"}\\n' | python3 -c 'import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SANDBOX_SOCKET"]); s.sendall(sys.stdin.buffer.read()); print("line:", s.recv(4096).decode())'
""",
    "http.sh": """#!/bin/sh
rpc() { printf '%s: ' "$1"; curl -s -H "Authorization: Bearer ${3-$SANDBOX_TOKEN}" -H 'Content-Type: application/json' -w ' %{http_code}\\n' -d "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"method\\":\\"$1\\",\\"params\\":$2}" "$SANDBOX_HTTP_URL"; }
rpc ping {}
rpc http_request "{\\"url\\":\\"http://127.0.0.1:$PORT/by-http\\"}"
rpc file_read "{\\"path\\":\\"$PWD/file.txt\\"}"
rpc fs.read "{\\"path\\":\\"$PWD/file.txt\\"}"
rpc file_list "{\\"path\\":\\"$PWD/out\\"}"
rpc open_url '{"url":"https://shop.example/"}'
for m in exec file_write secret_inject exec.run; do rpc $m '{}'; done
rpc token '{}' wrong
""",
    "hosts.yaml": "network: {allow: ['api.example.com:443']}\n",
    "net.py": "import os, sys, urllib.request\nfor port in sys.argv[1:]:\n    try:\n        print('python', urllib.request.urlopen(f'http://127.0.0.1:{port}/python', timeout=10).read())\n"
              "    except OSError as e:\n        print('python refused', e)\n",
    "net.mjs": "for (const port of process.argv.slice(2)) console.log('node', await fetch(`http://127.0.0.1:${port}/node`).then((r) => r.text(), (e) => 'refused'));\n",
    "config.json": '{"daemon": {"port": 0, "logFile": "@HOME@/daemon.log"}}', "unknown.json": '{"port": 3847, "enableHotReload": true}',
}

EVENTS = ("api GET /sse/events -N >events 2>&1 & for i in $(seq 500); do grep -q connected events && break; sleep 0.02; done; api GET /api/wrappers >out/w; mkdir -p ~/.config/corral; chmod 777 ~/.config/corral; "
          "for i in $(seq 1500); do grep -q 'event: security_status' events && grep -q 'event: api_request' events && break; sleep 0.02; done; chmod 700 ~/.config/corral; pkill -P $!; grep '^event' events; grep -A 2 '^event: security_status' events; grep -c wrappers events; api GET /api/config")
PAGE = ("u=$(corral dashboard --print); h=${u#http://}; curl -s --compressed -H \"Host: ${h%%/*}\" -w ' %{http_code}' http://127.0.0.1:$DAEMON_PORT/")
DOM = "chromium --headless --no-sandbox --disable-gpu --user-data-dir=$HOME/chromium --virtual-time-budget=5000 --dump-dom \"$(corral dashboard --print)\" 2>errors"
SECOND = ("mkdir -m 700 ~/second; export XDG_RUNTIME_DIR=~/second XDG_STATE_HOME=~/second-state; corrald --config config.json & for i in $(seq 500); do [ -e ~/second/corral/api.sock ] && grep -q ready ~/daemon.log && break; sleep 0.02; done; "
          "p=$(cat ~/second/corral/corrald.pid); [ $p = $! ] && echo pid file: right; kill -TERM $p; wait $p; echo ended: $?; cat ~/daemon.log; echo left: $(ls ~/second/corral)")
SYSTEM_DAEMON = ("mkdir ~/etc; cp /etc/passwd /etc/group /etc/ld.so.cache ~/etc; unshare -rm sh -c 'mount --bind ~/etc /etc; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /var/lib; corrald --system --port 0 2>~/system.log & for i in $(seq 500); do grep -q ready ~/system.log && break; sleep 0.02; done; "
                 "c() { curl -s --unix-socket /run/corral/api.sock -H \"Authorization: Bearer $(cat /run/corral/token)\" -H \"Content-Type: application/json\" \"$@\"; }; c http://localhost/api/status; "
                 "c -X PUT -d \"{\\\"mode\\\": \\\"audit\\\"}\" http://localhost/api/config; ls -l /run/corral; kill $!; wait'")
PUT = "api PUT /api/config -d '{\"mode\": \"audit\"}'; cat ~/.config/corral/daemon.json; api PUT /api/config -d '{\"mode\": \"enforce\"}'"

CONFIGURED = ("api PUT /api/config -d '{\"policies\": {}}'; sed \"s,@,$PWD,; s,^,{\\\"policies\\\": ,; s,$,},\" deny.json | api PUT /api/config -d @-; corral run -- cat file.txt; api DELETE /api/policies/default; corral run -- cat file.txt")
PROCESSES = "mkfifo p; corral run -- sh -c 'cat p' & for i in $(seq 1000); do corral ps | grep -q 'sh -c' && break; sleep 0.02; done; api GET /api/security; echo >p; wait; rm p"


def check(file, *questions):
    return "; ".join(f"corral policy check -p {file} --op {op} --target {target}" for op, target in questions) + "; true"


RULED = check("rules.json", ("net.connect", "https://api.example.com/v1"), ("net.connect", "https://api.example.com/admin"), ("fs.read", "/srv/x"), ("fs.read", "/srv/secret/x"), ("fs.write", "/srv/x"))
CONSTRAINED = check("constraints.json", ("fs.read", "/home/agent/workspace/x"), ("fs.read", "/opt/x"), ("fs.read", "/srv/first/x"), ("fs.read", "/home/agent/workspace/.env"), ("net.connect", "api.example.com:443"),
                    ("net.connect", "api.example.com:80"), ("net.connect", "evil.example.com:443"), ("net.connect", "other.example.com:443"))
STORED = ("mkdir -p ~/.config/corral/policy.d/custom; cp allow.json ~/.config/corral/policy.d/default.json; corral run -- cat file.txt; "
          "printf '{\"version\": \"1\", \"rules\": [{\"id\": \"no\", \"name\": \"No\", \"type\": \"denylist\", \"operations\": [\"file_read\"], \"patterns\": [\"%s/file.txt\"], \"enabled\": true, \"priority\": 9}]}' "
          "$PWD >~/.config/corral/policy.d/custom/mine.json; corral run -- cat file.txt; rm -r ~/.config/corral/policy.d")
RELOAD = ("p=~/.config/corral/policy.d; mkdir -p $p; cp allow.json $p/default.json; mkfifo a b; corral run -- sh -c 'echo started >a; cat b; cat file.txt' & cat a; sed s,@,$PWD, deny.json >$p/default.json; "
          "corral run -- cat file.txt; echo go >b; wait; rm -r $p")
BY_PATH = RULED + "; corral run --broker -p by-path.json -- sh -c 'for p in admin administer admin?x; do sandbox-call http_request url=http://127.0.0.1:'$PORT'/$p --json; done; true'"
CALLS = "corral run --audit ~/calls.db --broker -p broker.yaml -- ./calls.sh"
LOGGED = CALLS + "; corral audit list --json ~/calls.db"
HTTP = "corral run --broker-http -p broker.yaml -- ./http.sh"
NET = ("corral run --net 127.0.0.1:$PORT --env PORT -- sh -c 'python3 net.py $PORT 1; node net.mjs $PORT 1; curl -s http://127.0.0.1:$PORT/curl; curl -s http://127.0.0.1:1/ || echo curl refused'")
SAFE = ("corral run --write ~/.config/corral -- sh -c 'echo x >~/.config/corral/daemon.json || echo config: no; sudo -n id || echo sudo: no; echo secret: $SECRET_OF_HOST.; "
        "python3 -c \"import socket; socket.create_connection((\\\"127.0.0.1\\\", $0))\" || echo direct: no' $PORT")
ASKED = ("printf 'network: {allow: []}\\nfs: {read: [%s]}\\nenv: [PORT]\\nrules: [{id: q, action: ask, operations: [net.connect], patterns: [\"127.0.0.1:%s\"]}]\\n' '/usr/**, /bin/**, /lib/**, /lib64/**, /etc/**' $PORT >asks.yaml; "
         "corral run -p asks.yaml -- sh -c 'curl -s http://127.0.0.1:$PORT/asked' & for i in $(seq 1000); do q=$(corral questions list --json | sed -n 's/.*\"id\": *\"\\{0,1\\}\\([0-9a-f:/.]*\\)\"\\{0,1\\}.*/\\1/p' | head -n 1); [ -n \"$q\" ] && break; sleep 0.02; done; "
         "corral questions list; corral questions allow $q; wait")
VAULT = ("umask 077; echo a passphrase >~/pass; corral vault init --passphrase-file ~/pass; echo a-secret-value | corral vault set TOKEN --passphrase-file ~/pass; "
         "corral vault grant TOKEN api.example.com:443 --passphrase-file ~/pass; corral vault list --passphrase-file ~/pass; grep -rs a-secret-value ~/.config ~/.local; corral vault lock")
INJECT = ("umask 077; echo a passphrase >~/pass; corral vault init --passphrase-file ~/pass; corral vault unlock --passphrase-file ~/pass; echo a-secret-value | corral vault set TOKEN; "
          "corral vault grant TOKEN api.example.com:443; printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"secret_inject\",\"params\":{\"name\":\"TOKEN\",\"targetEnv\":\"KEY\"}}' "
          "'{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"exec\",\"params\":{\"command\":\"printenv\",\"args\":[\"KEY\"],\"cwd\":\"/usr/bin\"}}' | corral run -p inject.yaml -- sandbox-call -; corral vault lock")
LINK_SERVER = r'''
import base64, hashlib, http.server, json, os, re, shutil, ssl, subprocess, threading, urllib.parse, urllib.request
class Server(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url, me = urllib.parse.urlsplit(self.path), self.server.me
        if "oauth-protected-resource" in url.path:
            self.say({"resource": me + "/mcp", "authorization_servers": [me]})
        elif "well-known" in url.path:
            self.say({"issuer": me, "authorization_endpoint": me + "/login", "token_endpoint": me + "/token", "registration_endpoint": me + "/register",
                      "code_challenge_methods_supported": ["S256"]})
        else:
            self.say({}, 401)
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/mcp":
            return self.mcp(json.loads(body))
        if self.path == "/register":
            print("registers", json.loads(body)["client_name"], json.loads(body)["redirect_uris"])
            return self.say({"client_id": "a-client"}, 201)
        form = dict(urllib.parse.parse_qsl(body))
        if "code" in form:
            hashed = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
            print("exchanges", form["code"], "for tokens, PKCE", "fits" if hashed == self.server.challenge else "does not fit")
        else:
            print("refreshes with", form["refresh_token"])
        self.server.n += 1
        self.say({"access_token": "an-access-token-%d" % self.server.n, "refresh_token": "refresh-token-%d" % self.server.n, "token_type": "Bearer", "expires_in": 3600})
    def mcp(self, call):
        sent = self.headers.get("Authorization", "")
        if sent != "Bearer an-access-token-%d" % self.server.last:
            return self.say({}, 401)
        if call["method"] == "tools/call":
            print("POST /mcp:", call["method"], sent)
        results = {"initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "slack", "version": "1"}},
                   "tools/list": {"tools": [{"name": "send_message", "inputSchema": {"type": "object"}}]},
                   "tools/call": {"content": [{"type": "text", "text": "sent, by " + sent}]}}
        self.say({"jsonrpc": "2.0", "id": call["id"], "result": results[call["method"]]} if "id" in call else {}, 200 if "id" in call else 202)
    def say(self, value, status=200):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
server.n, server.last, server.me = 0, 0, "https://127.0.0.1:%d" % server.server_port
subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "link.key", "-out", "link.pem", "-days", "2",
                "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("link.pem", "link.key")
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
def call(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    print(done.stdout + done.stderr, end="")
os.umask(0o077)
open("pass", "w").write("a passphrase\n")
call("corral", "vault", "init", "--passphrase-file", "pass")
call("corral", "vault", "unlock", "--passphrase-file", "pass")
shutil.copy("link.pem", os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "corral/vault/authorities.pem"))
p = subprocess.Popen(["./agentlink", "auth", "--no-browser", "tools", server.me + "/mcp"], stderr=subprocess.PIPE, text=True)
for line in p.stderr:
    page = re.match(r"  (http\S+)$", line)
    if page:
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page[1]).query))
        server.challenge = asked["code_challenge"]
        print("call-back at", asked["redirect_uri"], asked["code_challenge_method"])
        for state in ("forged", asked["state"]):
            try:
                with urllib.request.urlopen(asked["redirect_uri"] + "?code=a-code&state=" + state) as r:
                    print("call-back:", r.status)
            except urllib.error.HTTPError as e:
                print("call-back with a forged state:", e.code)
        break
print(p.stderr.read(), end="")
p.wait()
call("./agentlink", "status", "tools")
call("./agentlink", "refresh", "tools")
server.last = server.n
call("./agentlink", "tool", "run", "tools", "send_message", "text=hello")
old = os.path.expanduser("~/.agentlink/tokens.json")
os.makedirs(os.path.dirname(old), exist_ok=True)
open(old, "w").write(json.dumps({"refresh_token": "an-old-one", "client_id": "a-client"}))
call("./agentlink", "import", "--yes", "older", server.me + "/mcp")
print("tokens.json is", "there" if os.path.exists(old) else "gone")
call("grep", "-rls", "-e", "access-token-[0-9]", "-e", "refresh-token-[0-9]", os.path.expanduser("~/.local"), os.path.expanduser("~/.config"), os.path.expanduser("~/.agentlink"))
call("./agentlink", "list")
call("corral", "vault", "lock")
'''
FILES["link.py"] = LINK_SERVER
SETUP = "corral setup"
LINK = "[ -f link.txt ] || { ln -sf \"$(command -v corral)\" agentlink; python3 link.py >link.txt 2>&1; }; cat link.txt"

SEED = Seed("003", "AgenShield", [
    section("Daemon Architecture: HTTP API Endpoints, SSE Events; Quick Reference"),
    works("a daemon, on port 3847 by default", "corrald --help", "default 3847"),
    works("loopback, and a Unix socket", "api GET /api/status; ls -l $XDG_RUNTIME_DIR/corral", '"port":', "api.sock"),
    works("`GET /api/health`", "api GET /api/health", '"status":"ok"'),
    works("`GET /api/status`", "api GET /api/status; ls -l $XDG_RUNTIME_DIR/corral", '"version":', '"pid":', '"uptime_ms":'),
    works("`/api/status` has the broker", "api GET /api/status", '"broker":{"installed":true'),
    works("`GET /api/config`", "api GET /api/config", '"daemon":{"port":0'),
    works("`PUT /api/config`, keys of the daemon", PUT, '"mode":"audit"', '"at_once":["mode"]'),
    works("`GET /api/security`", "api GET /api/security", '"checked_ms":', '"findings":'),
    works("`/api/security` lists users and processes", PROCESSES, '/"users":\\[\\{/', '/"processes":\\[\\{/'),
    works("`GET /api/wrappers`", "api GET /api/wrappers", '"wrappers":'),
    works("`GET /sse/events`", EVENTS, "event: connected"),
    works("event `connected`", EVENTS, "event: connected"),
    works("event `api_request`", EVENTS, "event: api_request"),
    works("event `security_status`", EVENTS, "event: security_status"),
    works("a page at `/`", PAGE, "<html", " 200"),
    works("a dashboard, in a browser", DOM, "Corral", "Sandboxes", program="chromium"),
    works("a PID file", SECOND, "pid file: right"),
    works("SIGTERM ends it", SECOND, "ended: 0", "/left: *\n$/"),
    works("a folder for the configuration, daemon.json", PUT, '"mode":"audit"', ".config/corral/daemon.json"),
    works("`daemon.logFile`", SECOND, "corrald: ready: "),
    works("a look for security every 10 s", EVENTS, '"watch":10', 'event: security_status\ndata: {"findings":1'),
    works("places of a system: /etc/corral, /run/corral, /var/lib/corral", SYSTEM_DAEMON, '"file":"/etc/corral/daemon.json"', '"mode":"system"', '"runtime":"/run/corral"', '"/var/lib/corral/audit.db"'),
    works("the command for the status", "corral status", "corrald runs, pid "),
    section("Policy Update Mechanism: Policy Structure, Policy Evaluation Flow, Configuration Update via API"),
    works("`version`", RULED, "allow  net.connect"),
    works("`defaultAction`", check("allow.json", ("fs.read", "/opt/x")) + "; " + RULED, "allow  fs.read /opt/x", "deny  fs.write /srv/x"),
    works("rules with `id`, `name`, `type`, `operations`, `patterns`", RULED, "rule admin denies", "allow  fs.read /srv/x  (rules.json:1: /srv/**)"),
    works("`enabled: false`", RULED, "allow  fs.read /srv/x"),
    works("order by `priority`", RULED, "deny  net.connect https://api.example.com/admin", "deny  fs.read /srv/secret/x"),
    works("the first rule that matches decides", RULED, "deny  fs.read /srv/secret/x  rule secret denies", "allow  net.connect https://api.example.com/v1"),
    works("`fsConstraints.allowedPaths`", CONSTRAINED, "allow  fs.read /home/agent/workspace/x", "deny  fs.read /opt/x"),
    works("`networkConstraints`: `allowedHosts`, `deniedHosts`, `allowedPorts`", CONSTRAINED, "allow  net.connect api.example.com:443", "deny  net.connect api.example.com:80",
          "deny  net.connect evil.example.com:443", "deny  net.connect other.example.com:443"),
    works("policies/default.json", STORED, "hello"),
    works("policies/custom/*.json", STORED, "Permission denied"),
    works("constraints count only after rules", CONSTRAINED, "allow  fs.read /srv/first/x"),
    works("`PUT /api/config {policies}` is merged with what is there, and answers `{success, config}`", CONFIGURED, '"success":true', '"config":{', '"policies":{"version":"1.0.0"', "Permission denied", "none of version, rules and defaultAction", "/\\}\\nhello\\n$/"),
    section("Broker Request Flow: Operation Types, Channel Restrictions"),
    works("`ping`", CALLS, 'ping: {"pong":true'),
    works("`http_request`", CALLS, "GET /granted"),
    works("`file_read`", CALLS, '"content":"hello\\n"'),
    works("`file_write`", CALLS, '"bytesWritten":1'),
    works("`file_list`", CALLS, '"entries":[{"name":"f"'),
    works("`exec`", CALLS, '"stdout":"ran\\n"'),
    works("`open_url`", CALLS, '"opened":true'),
    works("JSON-RPC by a Unix socket", CALLS, 'line: {"jsonrpc":"2.0"'),
    works("the line of the document for a ping", CALLS, '/line: \\{"jsonrpc":"2.0","id":1,"result":\\{"pong":true/'),
    works("by HTTP: `http_request`, `file_read`, `file_list`, `open_url`, `ping`", HTTP, "GET /by-http", "/file_read: .*hello/", "/file_list: .*entries/", "/open_url: .*opened/", "/ping: .*pong/"),
    works("not by HTTP: `exec`, `file_write`, `secret_inject`", HTTP, "/exec: .*1008/", "/file_write: .*1008/", "/secret_inject: .*1008/"),
    works("by HTTP: both spellings", HTTP, "/fs.read: .*hello/", "/exec.run: .*error/"),
    works("by HTTP a token is needed", HTTP, "/(?s)token: .*401/"),
    works("the policy is asked before each call", CALLS, "/file_read path=.etc.shadow: .*1001/"),
    works("a denied call is logged", LOGGED, '"target":"/etc/shadow"', '"decision":"denied"'),
    works("a denial has its rule and reason", CALLS, "the baseline denies /etc/shadow", "nothing in network.allow grants it"),
    works("both spellings of all methods", CALLS, "/fs.read path=.*hello/", "/file_read path=.*hello/"),
    section("Sandbox Architecture: Isolation Layers, Security Model Summary"),
    works("there is no direct network", SAFE, "direct: no"),
    works("Python, node and curl reach granted hosts only, without a wrapper", NET, "GET /python", "python refused", "GET /node", "node refused", "GET /curl", "curl refused"),
    works("sudo gives nothing", SAFE, "sudo: no"),
    works("agents cannot write the configuration", SAFE, "config: no"),
    works("secrets of the host are not in the environment", SAFE, "secret: .\n"),
    works("questions and grants while an agent runs", ASKED, "GET /asked"),
    works("`fsConstraints.deniedPatterns`: what matches is masked", "corral run -p shipped.json -- cat .env", "that exist are masked", "Permission denied", "!TOKEN", status=1),
    works("a denylist by the path of a URL denies that path", BY_PATH, "deny  net.connect https://api.example.com/admin", "allow  net.connect https://api.example.com/v1", "GET /administer", "!GET /admin ", "!GET /admin?", '"code":1001'),
    works("a file of rules alone runs an agent", "corral run -p shipped.json -- ls -d /usr/bin", "/usr/bin\n"),
    works("the reason of a default denial is not that of a constraint", "corral policy explain -p rules.json --op net.connect --target https://other.org/", "nothing in network.allow grants it", "!networkConstraints", status=1),
    works("SecretVault: a store", VAULT, "TOKEN", "api.example.com:443", "!a-secret-value"),
    section("What differs"),
    differs("`curl http://localhost:3847/api/health` as written", "the page has a name of its own for each start, so that no other page of a browser reaches it; programs use the Unix socket",
            "curl -s -w ' %{http_code}' http://localhost:$DAEMON_PORT/api/health", "the Host header names another server"),
    differs("the enforcer reloads within 60 s", "a new run has the new policy at once; one that runs keeps what it was started with, but for grants",
            RELOAD, "Permission denied", "go\nhello\n"),
    differs("`/api/wrappers` lists what was installed", "wrappers are its user's own scripts; no sandbox needs one", "corral security --wrappers --json", '"wrappers"'),
    differs("the API without a token, for every origin", "everything but the health needs the token, and no foreign page may call", "curl -s --unix-socket $XDG_RUNTIME_DIR/corral/api.sock http://localhost/api/status; curl -s --unix-socket $XDG_RUNTIME_DIR/corral/api.sock http://localhost/api/health",
            "Authorization: Bearer TOKEN is missing", '"status":"ok"'),
    differs("one broker at /var/run, mode 0770", "each sandbox has its own, inside of it, with its permissions alone", CALLS, "/dev/corral/broker.sock"),
    differs("the daemon sees the agent's user", "a daemon of the system sees runs of root; each user's daemon sees the user's own", SYSTEM_DAEMON, '"mode":"system"', "srw-------"),
    differs("wrappers of curl, Python and node", "not needed: the network of a sandbox is the wrapper", NET, "python refused", "node refused", "curl refused"),
    differs("a patch of Python's network", "not needed, for the same reason", NET, "GET /python", "python refused"),
    differs("a guarded zsh with a short PATH", "`corral shell` starts the user's own shell in a sandbox, which holds for whatever it runs", "echo 'cat ~/.ssh/id_rsa || echo key: no; echo path: $PATH' | SHELL=/bin/sh corral shell", "key: no", "path: /", "!a private key"),
    differs("the Seatbelt profile of the agent", "Corral prints one; a policy with names of hosts is refused, because Seatbelt does not know them", "corral profile seatbelt -p hosts.yaml", "Seatbelt cannot enforce api.example.com:443", status=2),
    differs("`exec` with `shell: true`", "a command is a program with its arguments; who wants a shell names it", CALLS, '"code":1003', "shell must be false"),
    differs("unknown keys of daemon.json are ignored", "they are refused, with the key: a mistyped one would not protect", "corrald --config unknown.json", "unknown key `port`", status=2),
    section("Secrets"),
    works("`secret_inject`, into one `exec`", INJECT, '"injected":true', '/"stdout":"[^"]{10}/', "!a-secret-value"),
    section("Installation Sequence"),
    *[absent("set-up: " + step, "setup", SETUP, "unknown command `setup`") for step in (
        "`prerequisites`", "`detect`", "`configure`", "`confirm`", "`backup`", "`create-groups`", "`create-agent-user`", "`create-broker-user`", "`create-directories`", "`setup-socket`",
        "`generate-seatbelt`", "`install-wrappers`", "`install-broker`", "`install-daemon-config`", "`install-policies`", "`setup-launchdaemon` (there are units for systemd; nothing enables them)",
        "`migrate`", "`verify`", "`complete`")],
    absent("set-up by presets that are detected", "setup", SETUP, "unknown command `setup`"),
    absent("uninstall, and back to the backup", "setup", "corral uninstall", "unknown command `uninstall`"),
    section("AgentLink Skill Flow"),
    works("`agentlink auth`", LINK, "logged in to https://127.0.0.1:"),
    works("registration of a client", LINK, "/registers Corral .*127.0.0.1:[0-9]+.callback/"),
    works("PKCE and state", LINK, "PKCE fits", "forged state: 400", "call-back: 200"),
    works("a server for the callback, port 8765 (or any that is free)", LINK, "/call-back at http:..127.0.0.1:[0-9]+.callback S256/"),
    works("the exchange of tokens", LINK, "exchanges a-code for tokens"),
    works("~/.agentlink/tokens.json: taken over into the vault", LINK, "refreshes with an-old-one", "tokens.json is gone", "!tokens.json\n"),
    works("tokens are refreshed", LINK, "refreshes with refresh-token-1", "good until"),
    works("`agentlink tool run SERVER TOOL`", LINK, "sent, by Bearer"),
    works("`POST /mcp`, JSON-RPC with a bearer", LINK, "POST /mcp: tools/call Bearer an-access-token-2"),
    works("credentials never reach the agent, by the gateway", LINK, "sent, by Bearer ****", "!sent, by Bearer an-access"),
    absent("the skill is injected", "agentlink", "corral tool install", "unknown command `install`"),
    works("a link ~/bin/agentlink (the program is installed beside `corral`)", LINK, "/older +LINK_OLDER for 127.0.0.1:/"),
    absent("mcp.json is updated", "agentlink", "corral tool install", "unknown command `install`"),
], files=FILES, setup=("mkdir -p ~/.config/corral; chmod 700 ~/.config/corral",), needs=("bus", "daemon"))
