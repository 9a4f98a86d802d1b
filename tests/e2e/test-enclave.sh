#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# test-enclave.sh: what a host with tools of its own must hold, criterion by criterion. The host is
# examples/tools.c, and whoever talks to it is the page that an attacker has taken over: it can call
# every tool with whatever it likes. $TOOLS is the program, $CORRAL_WARDEN its warden. Prints TAP.
set -u
# In a build with AddressSanitizer the search for leaks takes seconds, every time.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
scratch=$(mktemp -d /var/tmp/corral-e2e-XXXXXX) || exit 1
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/granted/folder" "$scratch/outside"
echo "hello from inside" >"$scratch/granted/folder/file.txt"
echo "a secret" >"$scratch/outside/secret"
ln -s /etc/passwd "$scratch/granted/escape.txt"
ln -s ../outside/secret "$scratch/granted/relative"
ln -s ../outside "$scratch/granted/folder-link"
ln -s relative "$scratch/granted/chain"
granted=$scratch/granted outside=$scratch/outside

number=0 failures=0
pass() { number=$((number + 1)) && echo "ok $number - $1"; }
fail() { # fail NAME GOT
	number=$((number + 1)) failures=$((failures + 1))
	echo "not ok $number - $1"
	printf '%s\n' "$2" | sed 's/^/# got: /'
}
like() { # like GOT PATTERN NAME
	# shellcheck disable=SC2254 # it is a pattern
	case $1 in
	$2) pass "$3" ;;
	*) fail "$3" "$1" ;;
	esac
}
# Each line is a call; prints the answers. A process is a session: nothing is granted at first.
calls() { printf '%s\n' "$@" | "$TOOLS"; }
last() { calls "$@" | tail -n 1; }

# "DevTools console invoke('fs_read', {path: '/etc/passwd'}) returns Permission denied"
like "$(head -c 5 /etc/passwd)" 'root:' "bare, /etc/passwd can be read"
like "$(last 'fs_read /etc/passwd')" 'error permission denied*' "fs_read of /etc/passwd is denied"

# "Granting folder via UI updates policy immediately"
# "invoke('fs_read', {path: '/granted/folder/file.txt'}) succeeds"
like "$(last "fs_read $granted/folder/file.txt")" 'error permission denied*' \
	"a file is denied before its folder is granted"
like "$(calls "fs_read $granted/folder/file.txt" "grant fs.read $granted/**" \
	"fs_read $granted/folder/file.txt" | sed 1d)" 'ok
ok hello from inside*' "a grant takes effect at once, and a file in the granted folder reads"
like "$(last "grant fs.read $granted/**" "revoke fs.read $granted/**" \
	"fs_read $granted/folder/file.txt")" 'error permission denied*' "so does taking it back"
like "$(last "grant fs.read $granted/**" 'fs_read /etc/passwd')" 'error permission denied*' \
	"and /etc/passwd stays denied"

# "Path with ../ that escapes granted root is blocked"
like "$(cat "$granted/../outside/secret")" 'a secret' "bare, ../ leads out"
for path in "$granted/../outside/secret" "$granted/folder/../../outside/secret" \
	"$granted/../../../../../../../../../etc/passwd" "$granted/./../outside/secret" \
	"$granted//../outside//secret"; do
	like "$(last "grant fs.read $granted/**" "fs_read $path")" 'error *' \
		"blocked: ${path#"$scratch"}"
done
like "$(last "grant fs.read $granted/**" "fs_read $granted/folder/../folder/file.txt")" 'error *' \
	"a path with ../ is none, even if it stays inside"

like "$(last "grant fs.raed $granted/**")" 'error Invalid argument' "a misspelt grant is none"

# "Symlink pointing outside granted root is blocked"
like "$(cat "$granted/chain")" 'a secret' "bare, the links lead out"
for link in escape.txt relative chain folder-link/secret; do
	like "$(last "grant fs.read $granted/**" "fs_read $granted/$link")" \
		'error permission denied*' "blocked: a link to the outside, $link"
done
calls "grant fs.write $granted/**" "fs_write $granted/relative overwritten" >/dev/null
like "$(cat "$outside/secret")" 'a secret' "nothing is written through a link to the outside"
like "$(last "grant fs.read $granted/**" "fs_list $granted/folder-link")" \
	'error permission denied*' "nothing is listed through a link to the outside"

# "All blocked actions appear in Audit Log"
blocked=$(calls "grant fs.read $granted/**" 'fs_read /etc/passwd' "fs_read $granted/escape.txt" \
	"fs_read $granted/../outside/secret" "fs_write $granted/new text" "fs_list $outside" \
	'shell_exec cat /etc/passwd' 'http_request GET https://example.com/' "get_audit_log 100" |
	grep '"decision":"denied"')
like "$(printf '%s\n' "$blocked" | grep -c .)" 7 "seven blocked actions are seven lines of the log"
for what in '"fs.read","target":"/etc/passwd"' "\"fs.read\",\"target\":\"$granted/escape.txt\"" \
	'"fs.read","target":"'"$granted/../outside/secret\"" \
	"\"fs.write\",\"target\":\"$granted/new\"" "\"fs.list\",\"target\":\"$outside\"" \
	'"exec","target":"/usr/bin/cat /etc/passwd"' '"net.connect","target":"https://example.com/"'; do
	like "$blocked" "*\"action\":$what*" "in the log: $what"
done

# "shell_exec spawns process in sandbox"
like "$(cat "$outside/secret")" 'a secret' "bare, cat reads the file"
like "$(last 'shell_exec cat /etc/passwd')" 'error permission denied*' \
	"a command that is not granted does not start"
like "$(calls 'grant exec cat' "grant fs.read $granted/**" \
	"shell_exec cat $granted/folder/file.txt" | sed 1,2d)" 'hello from inside
ok 0' "a command that is granted reads what is granted"
like "$(last 'grant exec cat' "grant fs.read $granted/**" "shell_exec cat $outside/secret")" 'ok 1' \
	"and cannot read a file that is not"
like "$(last 'grant exec cat' "grant fs.read $granted/**" "shell_exec cat $granted/relative")" 'ok 1' \
	"not by a link either"
sh -c ":>$outside/bare"
like "$?" 0 "bare, sh makes a file there"
like "$(last 'grant exec sh' "grant fs.write $granted/**" "shell_exec sh -c :>$outside/new")" \
	'ok [1-9]*' "and cannot make one where nothing is granted"
like "$(ls "$outside")" 'bare
secret' "there is none"
like "$(last 'grant exec sh' "grant fs.write $granted/**" "shell_exec sh -c :>$granted/new")" 'ok 0' \
	"but where something is"
like "$(calls 'grant exec echo' "shell_exec echo \$(id);id" | sed -n 2p)" "\$(id);id" \
	"arguments are words, whatever is in them: no shell reads them"

like "$(calls 'grant exec getent' 'grant net a.example.com:443' 'shell_exec getent hosts b.example.org' \
	'get_audit_log 9' | grep '"net.name"')" '*"program":"agent",*"target":"b.example.org","decision":"denied"*' \
	"a host that it was denied is in the log, with who had it run"

# "Audit log exportable to JSON file"
calls 'fs_read /etc/passwd' "export_audit_log $scratch/log.json" >/dev/null
like "$(python3 -c '
import json, sys
log = json.load(open(sys.argv[1], encoding="utf-8"))
print(len(log), *[e["action"] + " " + e["target"] + " " + e["decision"] for e in log])
' "$scratch/log.json" 2>&1)" '1 fs.read /etc/passwd denied' "the exported log is JSON"
like "$(stat -c %a "$scratch/log.json")" 600 "which no other user can read"

echo "1..$number"
exit $((failures > 0))
