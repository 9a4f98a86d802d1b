#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Homes where everything may be read: those of other users, open and closed, for root and for an ordinary user;
# and the user's own, where it lies in a folder that may be written.
# shellcheck disable=SC2086 # commands in variables are lists of words
set -u

# Other users' homes are made in a /home that only this script sees.
if [ "$(id -u)" -eq 0 ] && [ -z "${CORRAL_TEST_HOMES-}" ]; then
	exec env CORRAL_TEST_HOMES=1 unshare --mount --propagation private -- "$0" "$@"
fi
. "$(dirname "$0")/lib.sh"

runs() { # runs NAME WORD…: the command says ok
	name=$1 && shift
	status=0
	"$@" </dev/null >"$scratch/out" 2>"$scratch/err" || status=$?
	[ "$status" -eq 0 ] && [ "$(cat "$scratch/out")" = ok ]
	ok $? "$name"
}

# -- A home below the folder for temporary files --

mkdir -p "$HOME/.aws" "$HOME/.claude" "$HOME/agent" "$HOME/project"
echo secret >"$HOME/.aws/credentials" && echo open >"$HOME/notes"
temp=$(dirname "$scratch")
for mode in sandbox rx; do
	agent="env TMPDIR=$temp $CORRAL run --mode $mode --data-dir $HOME/agent"
	runs "mode $mode, a home in the folder for temporary files: runs, reads the home" \
		$agent -- sh -c "[ \"\$(cat $HOME/notes)\" = open ] && echo ok"
	runs "mode $mode: temporary files, ~/.claude and the data folder can be written" $agent -- sh -c \
		"for d in $scratch/tmp $HOME/.claude $HOME/agent; do echo x >\$d/new && rm \$d/new || exit 1; done; echo ok"
	runs "mode $mode: nothing can be planted in the home" $agent -- sh -c \
		"for f in .bashrc .netrc .ssh project/x new; do mkdir $HOME/\$f 2>/dev/null && exit 1; done
		! mv $HOME/.claude $HOME/x 2>/dev/null && ! mv $HOME $scratch/moved 2>/dev/null && echo ok"
	runs "mode $mode: secrets in it cannot be read" $agent -- sh -c "! cat $HOME/.aws/credentials 2>/dev/null && echo ok"
done
[ ! -e "$HOME/.bashrc" ] && [ ! -e "$HOME/.netrc" ]
ok $? "nothing was planted"

# -- Homes of other users --

if [ "$(id -u)" -ne 0 ]; then
	number=$((number + 1))
	echo "ok $number - homes of other users # SKIP kernel: only root can mount a /home of its own"
	done_testing
fi
mount -t tmpfs -o mode=755 corral-test /home || exit 1
# Closed, searchable, and open; and one whose folders are closed.
for home in bob:700 eve:711 pat:755 sam:755; do
	user=/home/${home%:*}
	mkdir -p "$user/.ssh" "$user/.aws" "$user/.config/gcloud" "$user/project"
	for file in .ssh/id_test .aws/credentials .netrc .config/gcloud/token project/file; do
		echo "secret" >"$user/$file"
	done
	[ "$user" = /home/sam ] && chmod 700 "$user/.config" "$user/.aws"
	chown -R 12345:12345 "$user"
	chmod "${home#*:}" "$user"
done
chmod 755 "$scratch"
mkdir -p "$scratch/user/agent" && cp "$CORRAL" "$scratch/corral" && chown -R 54321:54321 "$scratch/user"
all="for u in bob eve pat sam; do for f in .ssh/id_test .aws/credentials .netrc .config/gcloud/token; do
	cat /home/\$u/\$f 2>/dev/null && exit 1; done; done"
cat >"$scratch/all.yaml" <<'END'
fs: {read: ["/**"]}
network: {allow: ["*:*", "udp://*:*"]}
END
chmod 644 "$scratch/all.yaml"
for who in root user; do
	as="env HOME=$scratch/user"
	[ "$who" = user ] && as="setpriv --reuid=54321 --regid=54321 --clear-groups env HOME=$scratch/user"
	agent="$as $scratch/corral run --mode sandbox --data-dir $scratch/user/agent"
	bare=$($as sh -c "cat /home/pat/.netrc")
	is "$bare" secret "$who: an open home can be read bare"
	runs "$who: --mode sandbox runs where others have private homes" $agent -- echo ok
	runs "$who: none of their secrets can be read" $agent -- sh -c "$all; echo ok"
	runs "$who: an open home can be read but for these" $agent -- sh -c "cat /home/pat/project/file >/dev/null && echo ok"
	runs "$who: fs.read /**" $as "$scratch/corral" run --policy "$scratch/all.yaml" -- sh -c "$all; echo ok"
	runs "$who: the same with --explain" $as "$scratch/corral" run --explain --policy "$scratch/all.yaml" -- sh -c "$all; echo ok"
done
umount /home
done_testing
