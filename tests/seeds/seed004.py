# SPDX-License-Identifier: Apache-2.0
"""Seed 004, the native security enclave of a desktop shell: its deliverables, types and acceptance criteria."""

import json

from table import Seed, declined, differs, section, works

READ = 'invoke fs_read "$(path ~/projects/file.txt)"'
DENIED = "invoke fs_read '{\"path\": \"/etc/passwd\"}'"
ESCAPES = ('for p in ../secret.txt escape.txt up/secret.txt; do invoke fs_read "$(path ~/projects/$p)"; invoke fs_write "$(path ~/projects/$p x)"; done; cat ~/secret.txt')
WRITE = 'invoke fs_write "$(path ~/projects/new.txt text)"; cat ~/projects/new.txt'
EXEC = 'invoke shell_exec "$(program cat file.txt)"; invoke shell_exec "$(program ls /)"'
LOG = DENIED + ' >/dev/null; invoke fs_list "$(path ~/projects)" >/dev/null; invoke get_audit_log \'{"limit": 100}\''
STREAM = ("api GET /sse/events -N >events 2>&1 & for i in $(seq 500); do grep -q connected events && break; sleep 0.02; done; "
          "invoke shell_exec '{\"cmd\": \"sh\", \"args\": [\"-c\", \"echo streamed\"], \"id\": \"call-1\"}' >answer; for i in $(seq 500); do grep -q streamed events && break; sleep 0.02; done; "
          "pkill -P $!; grep -A 2 'event: output' events")
EXPORT = ('invoke export_audit_log "$(path ~/projects/log.json)"; python3 -c "import json; print(type(json.load(open(\'$HOME/projects/log.json\'))))"')
LINES = "fs_read $f\ngrant fs.read $f\nfs_read $f\nrevoke fs.read $f\nfs_read $f\n"
TOOLS = f'f=$HOME/projects/file.txt; printf "{LINES}" | tools'
ID = "id=$(api GET /api/sandboxes | sed 's/.*\"id\":\"\\([0-9a-f]*\\)\".*\"kind\":\"enclave\".*/\\1/')"
GRANTED = (ID + '; invoke fs_read "$(path ~/other/file.txt)"; api POST /api/sandboxes/$id/grants -d "{\\"action\\": \\"fs.read\\", \\"target\\": \\"$HOME/other/**\\"}"; '
           'invoke fs_read "$(path ~/other/file.txt)"; corral grants add $id fs.read ~/third/file.txt; invoke fs_read "$(path ~/third/file.txt)"')
SCRIPT = """import { Corral } from "@SOURCE@/sdk/js/corral.mjs";
const corral = new Corral({ folder: process.env.XDG_RUNTIME_DIR + "/corral" });
for (const path of ["/etc/passwd", process.env.HOME + "/projects/file.txt"])
  console.log(await corral.invoke("fs_read", { path }).catch((error) => "refused: " + error.message));
"""
HOOKS = 'node "$SOURCE"/tests/e2e/hooks.mjs "$SOURCE"/sdk/js/use-enclave.mjs "$SOURCE"/sdk/js/corral.mjs $XDG_RUNTIME_DIR/corral $HOME/projects; invoke set_policy @policy.json >/dev/null'

POLICY = {"allowed_roots": ["@HOME@/projects"], "allowed_commands": ["cat", "git status", "sh"], "allowed_hosts": ["api.example.com"], "session_id": "s1"}
ASKS = {"rules": [{"id": "asks", "action": "ask", "operations": ["fs.read"], "patterns": ["@HOME@/projects/**"]}]}
CEILING = """fs: {read: ["@HOME@/{,**}", "/usr/**"], write: ["@HOME@/{,**}"]}
exec: ["/**"]
network: {allow: ["*:*"]}
"""


def body(policy):
    return json.dumps({"policy": json.dumps(policy)})


SEED = Seed("004", "Enclave", [
    section("D1 Policy"),
    works("`EnclavePolicy.allowed_roots`", READ, '"content":"hello\\n"'),
    works("`allowed_commands`, exact", EXEC, '"exit_code":0', '"data":"hello\\n"', "ls: nothing in exec grants it"),
    works("`allowed_commands`, prefix", 'invoke shell_exec "$(program git status)"; invoke shell_exec "$(program git push)"', '"exit_code":', "Permission denied: /usr/bin/git push"),
    works("`allowed_hosts`", "invoke get_policy '{}'; for h in api other; do corral policy check -p roots.json --op net.connect --target $h.example.com:443; done; true", "api.example.com",
          "allow  net.connect api.example.com:443", "deny  net.connect other.example.com:443"),
    works("an update needs authority", "curl -s --unix-socket $XDG_RUNTIME_DIR/corral/api.sock -H 'Authorization: Bearer wrong' -d @policy.json -w ' %{http_code}' http://localhost/api/invoke/set_policy",
          "the header Authorization: Bearer TOKEN is missing, or wrong", " 401"),
    section("D2 Files"),
    works("`fs_read`", READ, '"content":"hello\\n"', '"size":6'),
    works("`fs_write`", WRITE, '"written":', "}\ntext"),
    works("`fs_list` with entries", 'invoke fs_list "$(path ~/projects)"', '"name":"file.txt"', '"kind":"file"', '"size":6', '"modified_ms":'),
    works("criterion: `fs_read` of /etc/passwd is \"Permission denied\"", DENIED, '"error":"Permission denied', "!root:"),
    works("criterion: a file of a granted folder is read", READ, '"content":"hello\\n"'),
    works("criterion: `../` out of the folder is blocked", ESCAPES, "Permission denied: @HOME@/secret.txt", '!"content"', "\nsecret\n"),
    works("criterion: a link out of the folder is blocked, for reading and writing", ESCAPES, "Permission denied: @HOME@/projects/escape.txt", "Permission denied: @HOME@/projects/up/secret.txt", '!"content"', "\nsecret\n"),
    section("D3 Commands"),
    works("`shell_exec(cmd, args, cwd)`", EXEC, '"data":"hello\\n"'),
    works("arguments are an array: no injection", "invoke shell_exec '{\"cmd\": \"cat\", \"args\": [\"; id\", \"$(id)\"]}'", "; id", "$(id)", "No such file", "!uid="),
    works("criterion: the process is in a sandbox", 'invoke shell_exec "$(program cat /proc/self/status)"', "NoNewPrivs:\\t1", "Seccomp:\\t2"),
    works("output is streamed by events", STREAM, '"call":"call-1"', '"data":"streamed\\n"'),
    section("D4 Audit"),
    works("decision: allowed", LOG, '"decision":"allowed"'),
    works("decision: denied, with a reason", LOG, '"decision":"denied","rule":"","reason":"nothing in fs.read or fs.write grants it"'),
    works("decision: needs confirmation", 'invoke set_policy @asks.json; api POST /api/invoke/fs_read -d "$(path ~/projects/file.txt)" -w " %{http_code}"; invoke set_policy @policy.json', " 409", "ask"),
    works("a ring in memory", LOG, '"entries":['),
    works("`get_audit_log {limit}`", DENIED + " >/dev/null; invoke get_audit_log '{\"limit\": 1}' | grep -c '\"action\"'", "1\n"),
    works("criterion: the log is exported to a JSON file", EXPORT, '"written":', "<class 'list'>"),
    works("entries: time, action, target, decision, reason, session, user", LOG, '"time":"', '"action":"fs.list"', '"target":"/etc/passwd"', '"session":"', '"user":"'),
    works("criterion: all blocked actions are in the list of the dashboard", DENIED + " >/dev/null; for i in $(seq 500); do api GET '/api/audit?limit=50&decision=denied' | grep -q passwd && break; sleep 0.02; done; "
          "api GET '/api/audit?limit=50&decision=denied'", '"target":"/etc/passwd"', '"decision":"denied"'),
    works("grants and revocations hold at once", TOOLS, "/error permission denied: .*\nok\nok hello\n\nok\nerror permission denied/"),
    works("`invoke` from JavaScript", "node script.mjs", "refused: Permission denied: /etc/passwd", "hello"),
    works("a file enclave.yaml that holds at the next call", "mv enclave.yaml ~/.config/corral/; invoke fs_read \"$(path ~/fourth/file.txt)\"; invoke fs_read \"$(path ~/projects/file.txt)\"; "
          "rm ~/.config/corral/enclave.yaml; invoke set_policy @policy.json", '"content":"fourth\\n"', "Permission denied"),
    works("criterion: a folder that is granted by the page is in the policy at once", GRANTED, "Permission denied: @HOME@/other/file.txt", '"content":"other\\n"', '"content":"third\\n"'),
    works("`session_id` is in the audit, as `sandbox`", LOG, '"sandbox":"s1"'),
    section("What differs"),
    differs("names `fs_read`, `Allowed`, `timestamp` as a number", "one log has all actions of Corral, so names are those of its policies, and times are texts with nanoseconds",
            LOG, '"action":"fs.read"', '"decision":"allowed"', '/"time":"20[0-9-]*T[0-9:.]*Z"/'),
    differs("the error is exactly \"Permission denied\"", "it begins so, and goes on with the reason and what would grant it", DENIED, '"error":"Permission denied: /etc/passwd: nothing in fs.read or fs.write grants it'),
    differs("the audit has what a command of `shell_exec` was denied", "the kernel reports no denied open to a program without privileges; the command itself is recorded",
            'invoke shell_exec "$(program cat $HOME/secret.txt)"; invoke get_audit_log \'{"limit": 2}\'', "No such file", '"target":"/usr/bin/cat', '!"action":"fs.read"'),
    differs("the enclave is in the process of the shell", "a host in C has it so, by the library; for scripts of a shell it is a process of the daemon, because what checks a script must not be in its reach",
            TOOLS + "; api GET /api/sandboxes", "ok hello", '"kind":"enclave"'),
    differs("React hooks `useEnclave`, a Tauri plugin", "the hooks call functions that the shell's main process exposes, one by one; a plugin is the shell's", HOOKS, '"read":"hello\\n"', '"message":"Permission denied: /etc/passwd', '"refused":4', '"channels":["corral:fs_read","corral:fs_write"]'),
    section("What is declined"),
    declined("`ENCLAVE_MODE=rust | legacy`", "a switch for the time of a migration; there is nothing older to switch to", "ENCLAVE_MODE=legacy tools <lines", "error permission denied: /etc/passwd"),
], files={"~/projects/file.txt": "hello\n", "~/secret.txt": "secret\n", "~/other/file.txt": "other\n", "~/third/file.txt": "third\n", "~/fourth/file.txt": "fourth\n", "script.mjs": SCRIPT,
          "policy.json": body(POLICY), "roots.json": json.dumps(POLICY), "asks.json": body(ASKS),
          "enclave.yaml": "fs: {read: ['@HOME@/fourth/**']}\n", "~/.config/corral/enclave-ceiling.yaml": CEILING, "lines": "fs_read /etc/passwd\n"},
    setup=("ln -s ~/secret.txt ~/projects/escape.txt; ln -s .. ~/projects/up; git -C ~/projects init -q", "invoke set_policy @policy.json | grep applied"), needs=("daemon",))
