# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Calls the broker of a Corral sandbox, from a script that runs inside. Any POSIX shell:
#
#     . /usr/share/corral/sdk/corral.sh
#     corral_read /srv/data/report.csv >report.csv
#     corral_http https://api.example.com/v1/items || echo "refused: $?"
#     corral_run git log -1
#
# Every function prints what sandbox-call(1) prints and has its exit status. Values are passed as they
# are: blanks, quotes, newlines and a leading @ mean nothing. SANDBOX_CALL is the program, if it is not
# in PATH. The bodies are subshells, so that no variable of the caller is touched.

# corral_call METHOD [NAME VALUE]…: any method. A list repeats its name; NAME.KEY is an entry of a map.
corral_call() (
	if [ $(($# % 2)) -eq 0 ]; then
		echo 'corral_call: usage: corral_call METHOD [NAME VALUE]...' >&2
		exit 2
	fi
	method=$1
	shift
	pairs=$(($# / 2))
	# Each pair leaves in front and comes back at the end, as one word.
	while [ "$pairs" -gt 0 ]; do
		case $2 in
		@*) set -- "$@" "$1=@$2" ;;
		*) set -- "$@" "$1=$2" ;;
		esac
		shift 2
		pairs=$((pairs - 1))
	done
	exec "${SANDBOX_CALL:-sandbox-call}" -- "$method" "$@"
)

# corral_ping: is there a broker?
corral_ping() { corral_call ping >/dev/null; }

# corral_read PATH: a file, to standard output.
corral_read() { corral_call fs.read path "$1"; }

# corral_write PATH: a file, from standard input. Prints nothing.
corral_write() (
	case $1 in
	@*) set -- "@$1" ;;
	esac
	exec "${SANDBOX_CALL:-sandbox-call}" -- fs.write "path=$1" content=@- >/dev/null
)

# corral_list PATH [GLOB]: what is in a folder, a path a line.
corral_list() {
	if [ $# -gt 1 ]; then corral_call fs.list path "$1" glob "$2"; else corral_call fs.list path "$1"; fi
}

# corral_stat PATH: type, size, mode and time.
corral_stat() { corral_call fs.stat path "$1"; }

# corral_delete PATH: removes a file or an empty folder. Prints nothing.
corral_delete() { corral_call fs.delete path "$1" >/dev/null; }

# corral_http URL [NAME VALUE]…: the body of what a server answers; corral_http URL method POST body TEXT
corral_http() { corral_call network.http url "$@"; }

# corral_download URL PATH [NAME VALUE]…: fetches a file.
corral_download() (
	url=$1 path=$2
	shift 2
	corral_call network.download url "$url" saveTo "$path" "$@"
)

# corral_run COMMAND [ARGUMENT]…: a program in a sandbox of its own; its output and its exit status.
corral_run() (
	words=$#
	name='command'
	while [ "$words" -gt 0 ]; do
		case $1 in
		@*) set -- "$@" "$name=@$1" ;;
		*) set -- "$@" "$name=$1" ;;
		esac
		name=args
		shift
		words=$((words - 1))
	done
	exec "${SANDBOX_CALL:-sandbox-call}" -- exec.run "$@"
)

# corral_env NAME: a granted variable of the environment outside; status 1: it is not set.
corral_env() { corral_call env.get name "$1"; }

# corral_allowed OPERATION TARGET: would it be allowed? Prints nothing.
corral_allowed() { corral_call policy_check operation "$1" target "$2" >/dev/null; }
