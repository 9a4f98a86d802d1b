/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that a module has taken over: it starts as corral-wasm does, up to the moment in which
 * it would look at the module, and then does what it likes. With BARE in its
 * environment it does the same
 * without having confined itself, to show what is held by what.
 *
 * As a worker that serves, it answers a call with these lines, or with what no worker says, as the
 * input wants it.
 *
 * Prints a line for each attempt: "NAME worked" or "NAME failed". RW and RO are the first folders
 * for writing and reading among its words.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "wasm/grants.h"
#include "wasm/options.h"
#include "wire/skill-call.h"

static char rw[4096], ro[4096];

static bool in_folder(const char *folder, const char *name, int flags)
{
	char path[8192];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, flags | O_CLOEXEC, 0700);
	return fd >= 0 && (flags == O_RDONLY || write(fd, "#!/bin/true\n", 12) == 12) &&
	       close(fd) == 0;
}

static bool reads(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && close(fd) == 0;
}

static bool runs(const char *path)
{
	char *const argv[] = { (char *)path, (char *)"-c", (char *)"exit 42", NULL };
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		(void)execv(path, argv);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child &&
	       !(WIFEXITED(status) && WEXITSTATUS(status) == 127);
}

static bool has_socket(int family, int type)
{
	int fd = socket(family, type, 0);

	return fd >= 0 && close(fd) == 0;
}

static bool own_folder(void)
{
	return in_folder(rw, "made", O_WRONLY | O_CREAT);
}
static bool own_file(void)
{
	return in_folder(ro, "file", O_RDONLY);
}
static bool write_ro(void)
{
	return in_folder(ro, "file", O_WRONLY);
}
static bool create_ro(void)
{
	return in_folder(ro, "made", O_WRONLY | O_CREAT);
}
static bool above(void)
{
	return in_folder(rw, "../secret", O_RDONLY);
}
static bool passwd(void)
{
	return reads("/etc/passwd");
}
static bool library(void)
{
	return reads("/usr/lib");
}
static bool processes(void)
{
	return reads("/proc/self/maps");
}
static bool module_write(void)
{
	return open("/dev/corral-wasm/module", O_WRONLY) >= 0;
}
static bool inet(void)
{
	return has_socket(AF_INET, SOCK_STREAM);
}
static bool inet6(void)
{
	return has_socket(AF_INET6, SOCK_DGRAM);
}
static bool unix_socket(void)
{
	return has_socket(AF_UNIX, SOCK_STREAM);
}
static bool netlink(void)
{
	return has_socket(AF_NETLINK, SOCK_RAW);
}
static bool shell(void)
{
	return runs("/bin/sh");
}
static bool itself(void)
{
	return runs("/dev/corral-wasm/corral-wasm");
}
static bool mounts(void)
{
	return mount("none", "/tmp", "tmpfs", 0, NULL) == 0;
}

static bool own_program(void)
{
	char path[8192];

	(void)snprintf(path, sizeof(path), "%s/made", rw);
	return runs(path);
}

/* Code that others could have put there. */
static bool maps_file(void)
{
	char path[8192];
	void *map;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/made", rw);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return map != MAP_FAILED;
}

static const struct {
	const char *name;
	bool (*try)(void);
} attempts[] = {
	{ "own-folder", own_folder },
	{ "own-file", own_file },
	{ "write-ro", write_ro },
	{ "create-ro", create_ro },
	{ "above", above },
	{ "passwd", passwd },
	{ "library", library },
	{ "proc", processes },
	{ "module", module_write },
	{ "inet", inet },
	{ "inet6", inet6 },
	{ "unix", unix_socket },
	{ "netlink", netlink },
	{ "shell", shell },
	{ "itself", itself },
	{ "own-program", own_program },
	{ "maps-file", maps_file },
	{ "mount", mounts },
};

/* By the real one, which lies beside it as `compiler`. */
static int compile(char **argv)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("/compiler"));
	char *slash;

	if (n < 0)
		return 125;
	path[n] = '\0';
	slash = strrchr(path, '/');
	memcpy(slash, "/compiler", sizeof("/compiler"));
	(void)execv(path, argv);
	return 125;
}

/* All attempts, one after the other. */
static void attempt(struct buffer *out)
{
	for (size_t i = 0; i < ROWS(attempts); i++)
		buffer_printf(
			out, "%s %s\n", attempts[i].name, attempts[i].try() ? "worked" : "failed");
}

static void answer(int32_t status, uint32_t flags, uint32_t said, const char *text, size_t len)
{
	const struct skill_answer head = { status, flags, said, 0 };

	(void)!write(STDOUT_FILENO, &head, sizeof(head));
	(void)!write(STDOUT_FILENO, text, len);
}

/* What a host must not take for an answer, or wait for without end. */
static void lie(const char *how)
{
	char spare[100] = { 0 };

	if (strcmp(how, "huge") == 0)
		answer(0, 0, UINT32_MAX, "", 0);
	else if (strcmp(how, "status") == 0)
		answer(-1, 0, 0, "", 0);
	else if (strcmp(how, "flags") == 0)
		answer(0, UINT32_MAX, 0, "", 0);
	else if (strcmp(how, "more") == 0)
		answer(0, 0, 1, spare, sizeof(spare));
	else if (strcmp(how, "less") == 0)
		answer(0, 0, 10, spare, 1);
	else if (strcmp(how, "half") == 0)
		(void)!write(STDOUT_FILENO, spare, 3);
	else if (strcmp(how, "flood") == 0)
		while (write(STDOUT_FILENO, spare, sizeof(spare)) > 0)
			;
	if (strcmp(how, "exit") == 0 || strcmp(how, "half") == 0)
		_exit(3);
	if (strcmp(how, "kill") == 0)
		(void)raise(SIGSEGV);
}

static int serve(void)
{
	auto_buffer out = { 0 };
	struct skill_call head;
	char input[64] = "";

	answer(0, 0, 0, "", 0);
	while (read(STDIN_FILENO, &head, sizeof(head)) == sizeof(head)) {
		ssize_t n = read(STDIN_FILENO, input, sizeof(input) - 1);

		input[n > 0 ? n : 0] = '\0';
		buffer_clear(&out);
		if (strcmp(input, "attempts") == 0)
			attempt(&out);
		else
			lie(input);
		if (out.len > 0)
			answer(0, 0, (uint32_t)out.len, out.data, out.len);
	}
	return 0;
}

int main(int argc, char **argv)
{
	auto_arena a = { 0 };
	struct worker_options o;
	struct error e = { 0 };
	auto_buffer out = { 0 };
	const char *mode = argc > 1 ? argv[1] : "";

	if (strcmp(mode, "compile") == 0)
		return compile(argv);
	if (worker_options_read(&o, (const char *const *)argv + 2, (size_t)argc - 2, &a, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.text);
		return 125;
	}
	for (size_t i = 0; i < o.n_folders; i++)
		(void)snprintf(
			o.folders[i].is_writable ? rw : ro, sizeof(rw), "%s", o.folders[i].host);
	if ((strcmp(mode, "run") == 0 || strcmp(mode, "serve") == 0) && !getenv("BARE") &&
		grants_enter(o.folders, o.n_folders, "/dev/corral-wasm/module") < 0)
		return 125;
	if (strcmp(mode, "serve") == 0)
		return serve();
	attempt(&out);
	(void)fputs(buffer_text(&out), stdout);
	return 0;
}
