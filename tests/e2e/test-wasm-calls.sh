#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Functions of the host for WASM skills (docs/wasm-abi.md): each is a call of the broker, by grant; and what modules
# could do with pointers, types and texts.
# shellcheck disable=SC2016,SC2034,SC2154 # dollars are meant as they stand; names come from lib.sh
set -u
# shellcheck source=tests/e2e/lib.sh disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/wasm/modules.sh disable=SC1091
. "$(dirname "$0")/../wasm/modules.sh"

needs_sandbox
# A server on a port of its own, which says how often it was asked.
cat >server.py <<'END'
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open("asked", "a").write(self.path + "\n")
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
open("port.new", "w").write(str(server.server_port))
import os
os.rename("port.new", "port")
server.serve_forever()
END
: >asked
python3 server.py &
server=$!
trap 'kill "$server"; rm -rf "$scratch"' EXIT
tries=0
until [ -e port ] || [ "$tries" -eq 1200 ]; do sleep 0.05 && tries=$((tries + 1)); done
port=$(cat port)

c calls calls.c '' -mexec-model=reactor
plain=$(cat calls/manifest.yaml)
call() { run run --yes --skill calls "$@"; }
call -- f=http_request "t:={\"url\": \"http://127.0.0.1:$port/x\"}"
status_is 134 "http is not granted: stopped"
err_has "the capability http is not granted" "and named"
err_has 'calling\x1b[1m' "log prints, and draws nothing"
# The line that it says, applied.
line=$(sed -n 's/.*of the manifest: //p' "$scratch/err" | sed "s/HOST/\"127.0.0.1:$port\"/")
printf '%s\ncapabilities:\n  %s\n' "$plain" "$line" >calls/manifest.yaml
call -- f=http_request "t:={\"url\": \"http://127.0.0.1:$port/x\"}"
status_is 0 "with the line that was suggested it runs"
out_has '"status":200' "the answer of the server"
out_has '"body":"hello"' "with its body"
is "$(cat asked)" /x "which was asked once"
call --audit "$scratch/home/log" -- f=http_request "t:={\"url\": \"http://127.0.0.1:$port/y\"}"
run audit export --format jsonl "$scratch/home/log"
out_has "http://127.0.0.1:$port/y" "the request is in the log"
: >asked
call -- f=http_request "t:={\"url\": \"http://127.0.0.1:1/x\"}"
out_has '"code":1001' "another host: the answer is a refusal"
call -- f=http_request "t:={\"url\": \"http://localhost:$port/x\"}"
out_has '"error"' "another name of the same"
call --no-broker -- f=http_request "t:={\"url\": \"http://127.0.0.1:$port/x\"}"
out_has '"code": -32005' "without a broker"
printf 'network: {allow: []}\nfs: {read: [/**]}\n' >narrow.yaml
call --policy narrow.yaml -- f=http_request "t:={\"url\": \"http://127.0.0.1:$port/x\"}"
out_has '"code":1001' "another layer that does not grant the host"
is "$(cat asked)" '' "and the server was never asked"
call -- f=send_email 't:={"to": "a@example.org"}'
err_has "the capability email is not granted" "mail is another capability"
call -- f=browser_navigate 't:={"url": "http://example.org"}'
err_has "the capability browser is not granted" "and so is a browser"
call -- f=call 't:={"method": "ping", "params": {"echo": "there"}}'
out_has '"echo":"there"' "call: any method"
call -- f=call 't:={"method": "fs.read", "params": {"path": "/etc/shadow"}}'
out_has '"code":-32001' "call: by the same policy"
call -- f=call 't:={"method": "exec.run", "params": {"command": "/bin/true"}}'
out_has '"error"' "call: no program"
for text in '{}' '[]' '1' '{"method": 1}' '{"method": "ping", "params": [1]}'; do
	call -- f=call "t:=$text"
	out_has '"code": -32600' "call: what is no call: $text"
done
# A text that would be two lines, and two calls.
call -- f=call 't:={"method": "ping\"}
{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping", "params": {"echo": "smuggled"}}'
out_lacks '"pong"' "call: a method with the end of a line in it is one call"

# --- sockets: a server that echoes, and says how many connections it has ---
cat >echo.py <<'END'
import os, socket, threading
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
def serve(s):
    try:
        while data := s.recv(65536):
            s.sendall(data)
    except OSError:
        pass  # it was reset, which is an end as well
    s.close()
    open("ended", "a").write("1")
open("echo-port.new", "w").write(str(listener.getsockname()[1]))
os.rename("echo-port.new", "echo-port")
while True:
    s = listener.accept()[0]
    open("accepted", "a").write("1")
    threading.Thread(target=serve, args=(s,), daemon=True).start()
END
: >accepted
: >ended
python3 echo.py &
echoing=$!
trap 'kill "$server" "$echoing"; rm -rf "$scratch"' EXIT
wait_for() { # wait_for CONDITION: for a minute at most
	tries=0
	until eval "$1" || [ "$tries" -eq 1200 ]; do sleep 0.05 && tries=$((tries + 1)); done
}
wait_for '[ -e echo-port ]'
echo_port=$(cat echo-port)
settle() { # all connections that there were have ended: they are counted from 0 again
	wait_for '[ "$(cat ended)" = "$(cat accepted)" ]'
	: >accepted
	: >ended
}
was_not_asked() { # connections are taken in their order: one of our own is the first
	python3 -c "import socket; socket.create_connection((\"127.0.0.1\", $echo_port)).close()"
	wait_for '[ -n "$(cat accepted)" ]'
	is "$(cat accepted)" 1 "$1"
	settle
}
open="{\"f\": \"socket_open\", \"t\": {\"address\": \"127.0.0.1:$echo_port\"}}"
used() { # used NUMBER: the steps that open it and hear from the server, which then knows of it
	echo "$open, {\"f\": \"socket_write\", \"t\": {\"socket\": $1, \"data\": \"hello\"}}, {\"f\": \"socket_read\", \"t\": {\"socket\": $1}}"
}
heard='{"written":5}, {"data":"hello","encoding":"utf-8","end":false}'
talk="{\"steps\": [$(used 1), {\"f\": \"socket_close\", \"t\": {\"socket\": 1}}]}"
printf '%s\n' "$plain" >calls/manifest.yaml
for name in socket_open socket_read socket_write socket_close; do
	call -- "f=$name" 't:={}'
	status_is 134 "$name is not granted: stopped"
	err_has "the capability network_socket is not granted" "and named"
done
line=$(sed -n 's/.*of the manifest: //p' "$scratch/err" | sed "s/HOST/\"127.0.0.1:$echo_port\"/")
printf '%s\ncapabilities:\n  %s\n' "$plain" "$line" >calls/manifest.yaml
call --audit "$scratch/home/sockets" --input "$talk"
status_is 0 "with the line that was suggested it runs"
out_has "{\"socket\":1}, $heard, {\"closed\":1}" "a module opens, writes, reads and closes"
run audit export --format jsonl "$scratch/home/sockets"
out_has "127.0.0.1:$echo_port" "and the log has it"
settle
call --input "{\"steps\": [$(used 1), $(used 2)]}"
out_has "{\"socket\":1}, $heard, {\"socket\":2}, $heard" "sockets that are left open"
wait_for '[ "$(cat ended)" = 11 ]'
is "$(cat ended)" 11 "end with the call"
settle
call -- f=socket_open 't:={"address": "127.0.0.1:1"}'
out_has '"code":1001' "another port: the answer is a refusal"
call --policy narrow.yaml --input "{\"steps\": [$open]}"
out_has '"code":1001' "another layer that does not grant the host"
# Hosts of http are for requests: the broker refuses them as well, if the module asks it directly.
printf '%s\ncapabilities:\n  http: {enabled: true, allowed_hosts: ["127.0.0.1:%s"]}\n' "$plain" "$echo_port" >calls/manifest.yaml
call --input "{\"steps\": [$open]}"
err_has "the capability network_socket is not granted" "http grants no socket"
call -- f=call "t:={\"method\": \"socket.open\", \"params\": {\"address\": \"127.0.0.1:$echo_port\"}}"
out_has '"code":-32001' "nor does a call of the method"
out_has "the capability network_socket is not granted" "which says what is missing"
was_not_asked "and the server was never asked"
printf '%s\ncapabilities: {network_socket: {enabled: true, allowed_hosts: ["127.0.0.1:%s"]}}\n' "$plain" "$echo_port" >calls/manifest.yaml
run approve --yes calls
# One worker, which keeps its connection to the broker: sockets of a call end with it, and the next has none of them.
# A warden of the library has no environment: what it starts finds corral-fetch where that is installed, or reports that it is missing.
printf '#!/bin/sh\nCORRAL_FETCH="%s" exec "%s" "$@"\n' "$CORRAL_FETCH" "$CORRAL_BROKER" >broker && chmod 755 broker
CORRAL_BROKER=$PWD/broker "$SKILL_HOST" workers 1 load calls call "{\"steps\": [$(used 1), $(used 2)]}" \
	call '{"steps": [{"f": "socket_read", "t": {"socket": 1}}, {"f": "socket_close", "t": {}}]}' call "{\"steps\": [$(used 3)]}" >"$scratch/out" 2>"$scratch/err"
out_has "[{\"socket\":1}, $heard, {\"socket\":2}, $heard]" "a loaded skill opens sockets"
out_has '"code":1003' "the next call of the same worker does not find them"
out_has '{"closed":0}' "and there are none"
wait_for '[ "$(cat ended)" = 111 ]'
is "$(cat ended)" 111 "the server saw their end"

# --- by hand: names, types, pointers ---
import() { # import MODULE FUNCTION TYPE CODE [ALLOCATE]
	wat by-hand "(module (import \"$1\" \"$2\" (func \$f $3))
		(memory (export \"memory\") 1) (data (i32.const 16) \"\\11\\00\\00\\00{\\22success\\22: true}\")
		(data (i32.const 64) \"{\\22method\\22:\\22ping\\22}\")
		(func (export \"allocate\") (param i32) (result i32) ${5-i32.const 1024})
		(func (export \"handle\") (param i32 i32) (result i32) $4))" \
		"capabilities: {http: {enabled: true, allowed_hosts: [\"127.0.0.1:$port\"]}, network_socket: {enabled: true, allowed_hosts: [\"127.0.0.1:$port\"]}}"
	run run --yes --skill by-hand
}
two='(param i32 i32) (result i32)'
for name in env.call env.host_call corral.call corral.host_call; do
	import "${name%.*}" "${name#*.}" "$two" 'i32.const 64 i32.const 17 call $f drop i32.const 16'
	status_is 0 "$name"
done
import other call "$two" 'i32.const 64 i32.const 17 call $f'
err_has "is no function of Corral" "another module's call"
import env call '(param i64 i32) (result i32)' 'i32.const 16'
status_is 0 "a wrong type, not called"
import env call '(param i64 i32) (result i32)' 'i64.const 64 i32.const 17 call $f'
err_has "by another type" "a wrong type, called"
import env log '(param i32 i32)' 'i32.const 64 i32.const 17 call $f i32.const 16'
err_has '{"method":"ping"}' "log without a result"
import env log "$two" 'i32.const 64 i32.const 17 call $f drop i32.const 16'
status_is 0 "log with one"
for pair in '-1 1' '65536 1' '65530 100' '0 -1' '-1 -1' '2147483647 2147483647' '65535 2' '1 65536' '-16 32'; do
	import env call "$two" "i32.const ${pair% *} i32.const ${pair#* } call \$f"
	status_is 134 "call with a text at ${pair% *} of ${pair#* } bytes"
	err_has "not in its memory" "which is not in its memory"
	import env log "$two" "i32.const ${pair% *} i32.const ${pair#* } call \$f drop i32.const 16"
	status_is 134 "log with a text at ${pair% *} of ${pair#* } bytes"
done
for name in socket_open socket_read socket_write socket_close; do
	for pair in '-1 1' '65535 2' '0 -1' '-16 32'; do
		import env "$name" "$two" "i32.const ${pair% *} i32.const ${pair#* } call \$f"
		status_is 134 "$name with a text at ${pair% *} of ${pair#* } bytes"
		err_has "not in its memory" "which is not in its memory"
	done
done
import env call "$two" 'i32.const 65536 i32.const 0 call $f drop i32.const 16'
status_is 0 "an empty text at the very end is a text"
import env call "$two" 'i32.const 64 i32.const 17 call $f drop i32.const 16' 'i32.const 65535'
status_is 134 "allocate that returns the end of memory"
import env call "$two" 'i32.const 64 i32.const 17 call $f i32.eqz (if (then unreachable)) i32.const 16' 'i32.const 0'
status_is 134 "allocate without room, from the start"
# The answer lies over the text, and over the code's own data: the module's own business, and no one else's.
import env call "$two" 'i32.const 64 i32.const 17 call $f drop i32.const 16' 'i32.const 64'
status_is 0 "an answer over the question"
import env call "$two" 'i32.const 64 i32.const 17 call $f' 'i32.const 64 i32.const 17 call $f'
status_is 134 "allocate that calls the host again, for ever"

done_testing
