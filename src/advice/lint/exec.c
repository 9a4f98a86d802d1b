/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs. A list of programs is a boundary only if none of them runs whatever it is given. That
 * is no fault of a policy that needs a shell: files and network then are the boundary, and whoever
 * writes the policy should know it.
 */
#include <string.h>

#include "advice/lint/internal.h"
#include "base/array.h"
#include "policy/match/service.h"

/*
 * A kind of programs. For some, a word behind the program that is no option says what is run
 * ("python3 tool.py:*"), and then nothing else is.
 */
struct kind {
	const char *what;
	bool named_by_argument;
	const char *const
		*programs; /* `*` stands for any bytes; a version at the end does not count */
};

#define PROGRAMS(...)             \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static const struct kind any_code[] = {
	{ "is a shell and runs any command", true,
		PROGRAMS("sh", "bash", "dash", "zsh", "fish", "ksh", "mksh", "ash", "csh", "tcsh",
			"pwsh", "nu", "elvish", "xonsh", "rbash", "yash", "busybox", "toybox") },
	{ "is an interpreter and runs any code", true,
		PROGRAMS("python", "pypy", "node", "nodejs", "bun", "deno", "tsx", "ts-node",
			"perl", "ruby", "irb", "php", "lua", "luajit", "tclsh", "wish", "expect",
			"Rscript", "R", "julia", "guile", "racket", "sbcl", "clisp", "emacs",
			"java", "jshell", "groovy", "scala", "kotlin", "dotnet", "mono",
			"osascript", "erl", "elixir", "iex", "ghci", "runghc", "ocaml", "swift",
			"awk", "gawk", "mawk", "nawk", "jrunscript", "qjs", "wasmtime", "wasmer") },
	{ "starts any program that is given to it", false,
		PROGRAMS("env", "xargs", "find", "fd", "parallel", "nohup", "timeout", "nice",
			"ionice", "setsid", "stdbuf", "watch", "time", "flock", "script",
			"unbuffer", "strace", "ltrace", "gdb", "lldb", "valgrind", "perf", "rlwrap",
			"tmux", "screen", "taskset", "chrt", "setarch", "direnv", "entr", "exec",
			"command", "start-stop-daemon", "run-parts") },
	{ "is a loader and runs any file that can be read, also where it is not executable", false,
		PROGRAMS("ld.so", "ld-linux*", "ld-musl*", "ld64.so*") },
	{ "fetches packages and runs their scripts", false,
		PROGRAMS("npm", "npx", "yarn", "pnpm", "pnpx", "bunx", "pip", "pipx", "uv", "uvx",
			"poetry", "conda", "mamba", "gem", "bundle", "bundler", "cargo", "go",
			"composer", "cpan", "cpanm", "luarocks", "brew", "apt", "apt-get", "dpkg",
			"dnf", "yum", "rpm", "zypper", "pacman", "apk", "emerge", "nix", "nix-*",
			"guix", "snap", "flatpak", "stack", "cabal", "opam", "mix", "rebar3",
			"dart", "flutter", "pub", "gradle", "gradlew", "mvn", "mvnw", "sbt",
			"lein") },
	{ "builds by running the commands of a file", false,
		PROGRAMS("make", "gmake", "cmake", "ninja", "meson", "bazel", "buck", "just",
			"task", "rake", "scons", "ant", "msbuild", "xcodebuild", "tox", "nox",
			"pytest", "jest", "vitest", "mocha", "pre-commit") },
	{ "can run any command from within", true,
		PROGRAMS("vi", "vim", "nvim", "ex", "view", "nano", "less", "more", "man", "ed",
			"ftp", "mutt", "gnuplot", "octave", "sqlite", "psql", "mysql", "tar", "zip",
			"rsync", "git", "hg", "svn", "sed", "ssh", "scp", "sftp", "rpmbuild",
			"crontab", "at", "systemd-run", "code", "ffmpeg") },
};

static const struct kind more_rights[] = {
	{ "runs commands as another user", false,
		PROGRAMS("sudo", "su", "doas", "pkexec", "runuser", "sg", "newgrp", "machinectl",
			"sudoedit", "run0", "setpriv", "gosu", "su-exec") },
	{ "starts containers or machines, in which this policy does not hold", false,
		PROGRAMS("docker", "docker-compose", "podman", "podman-compose", "nerdctl", "ctr",
			"crictl", "lxc", "lxc-*", "incus", "runc", "crun", "buildah", "virsh",
			"qemu-system-*", "kubectl", "helm", "minikube", "vagrant") },
	{ "changes the machine, or what programs see of it", false,
		PROGRAMS("mount", "umount", "chroot", "unshare", "nsenter", "bwrap", "firejail",
			"insmod", "modprobe", "kexec", "setcap", "capsh", "iptables", "nft", "ip",
			"systemctl", "launchctl", "service", "reboot", "shutdown") },
};

/* "python3.11" is python, "lua5.4" lua. */
static size_t length_without_version(const char *name)
{
	size_t len = strlen(name), keep = len;

	while (keep > 0 && strchr("0123456789.-", name[keep - 1]))
		keep--;
	return keep ? keep : len;
}

static bool lint_exec_is_one_of(const char *const *programs, const char *name)
{
	size_t bare = length_without_version(name);

	for (; *programs; programs++) {
		if (service_word_matches(*programs, name, strlen(name)) ||
			service_word_matches(*programs, name, bare))
			return true;
	}
	return false;
}

/* The arguments say which file or command is run. */
static bool lint_exec_is_named(const struct command_pattern *c)
{
	for (size_t i = 0; i < c->n_args; i++) {
		if (c->args[i][0] != '-')
			return true;
	}
	return false;
}

static const struct kind *lint_exec_kind_of(
	const struct kind *kinds, size_t n, const char *name, const struct command_pattern *c)
{
	for (size_t i = 0; i < n; i++) {
		if (lint_exec_is_one_of(kinds[i].programs, name) &&
			!(kinds[i].named_by_argument && lint_exec_is_named(c)))
			return &kinds[i];
	}
	return NULL;
}

static const char *lint_exec_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The first program of a part that is of one of the kinds; *ret_name is what it is called. */
static const struct kind *kind_of_part(
	const struct kind *kinds, size_t n, const struct lint_part *part, const char **ret_name)
{
	const struct kind *kind = NULL;

	if (part->command.is_name) {
		*ret_name = part->command.program;
		return lint_exec_kind_of(kinds, n, *ret_name, &part->command);
	}
	for (size_t i = 0; !kind && i < part->glob.n; i++) {
		if (part->glob.alternatives[i].kind != GLOB_LITERAL)
			continue;
		*ret_name = lint_exec_base_name(part->glob.alternatives[i].literal);
		kind = lint_exec_kind_of(kinds, n, *ret_name, &part->command);
	}
	return kind;
}

static const struct kind *kind_of_entry(
	const struct kind *kinds, size_t n, const struct lint_entry *e, const char **ret_name)
{
	const struct kind *kind = NULL;

	for (size_t i = 0; !kind && i < e->n; i++)
		kind = kind_of_part(kinds, n, &e->parts[i], ret_name);
	return kind;
}

int lint_exec_any_code(struct lint *l, const struct lint_entry *e)
{
	const char *name = NULL;
	const struct kind *kind = kind_of_entry(any_code, ROWS(any_code), e, &name);

	if (!kind)
		return 0;
	return lint_report(l, e, lint_say(l, "%s %s", name, kind->what),
		lint_say(l, "the list of programs is then no boundary: see that fs, network and "
			    "env are"));
}

int lint_exec_root(struct lint *l, const struct lint_entry *e)
{
	const char *name = NULL;
	const struct kind *kind = kind_of_entry(more_rights, ROWS(more_rights), e, &name);

	if (!kind)
		return 0;
	return lint_report(l, e, lint_say(l, "%s %s", name, kind->what),
		lint_say(l, "remove it, or let a person do that step"));
}

/* Many programs at once */

static bool lint_exec_has_name(const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n; i++) {
		if (e->parts[i].command.is_name)
			return true;
	}
	return false;
}

int lint_exec_everything(struct lint *l, const struct lint_entry *e)
{
	if (e->width != LINT_EVERYTHING || lint_exec_has_name(e))
		return 0;
	return lint_report(l, e, lint_say(l, "any program may run, so the list is no boundary"),
		lint_say(l, "name the programs that are needed"));
}

static bool is_glob(const struct lint_part *part)
{
	for (size_t i = 0; i < part->glob.n; i++) {
		if (part->glob.alternatives[i].kind != GLOB_LITERAL)
			return true;
	}
	return false;
}

int lint_exec_glob(struct lint *l, const struct lint_entry *e)
{
	if (e->width == LINT_EVERYTHING || lint_exec_has_name(e) || !is_glob(&e->parts[0]))
		return 0;
	return lint_report(l, e,
		lint_say(l, "whatever is put there later may run, too; folders of the system hold "
			    "shells and interpreters"),
		lint_say(l, "name the programs that are needed"));
}
