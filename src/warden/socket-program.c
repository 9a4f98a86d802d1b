/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/socket-program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "threat/threat.h"
#include "warden/owner-table.h"

enum {
	LOOK_TASKS_MAX = 4096,  /* threads of all processes */
	LOOK_LINKS_MAX = 65536, /* descriptors of all of them */
	LOOK_MAPS_BYTES = 4 << 20,
	LOOK_FDINFO_BYTES = 4096,
	LOOK_COMM_BYTES = 64,
};

struct socket_look {
	struct owner_program *ret;
	char socket[64]; /* as a link of /proc/PID/fd names it */
	size_t n_holders, tasks, links;
	bool is_code_checked; /* of the process that is looked at: its threads share it */
};

static void look_close(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}
#define look_dir __attribute__((cleanup(look_close))) DIR *

/* What is said about it stays, so the first reason counts. Returns -EPERM. */
__attribute__((format(printf, 2, 3))) static int look_unsure(
	struct socket_look *l, const char *format, ...)
{
	char text[OWNER_TEXT_BYTES];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (char *c = text; *c; c++)
		*c = (char)((unsigned char)*c < ' ' || *c == 127 ? '?' : *c);
	l->ret->found = OWNER_UNSURE;
	memset(l->ret->text, 0, sizeof(l->ret->text));
	memcpy(l->ret->text, text, strlen(text));
	return -EPERM;
}

/* Opens a folder below another one. NULL and *ret_error: it is not to be had. */
static DIR *look_open(int at, const char *name, int *ret_error)
{
	auto_fd fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	*ret_error = d ? 0 : -errno;
	if (d)
		(void)fd_take(&fd);
	return d;
}

static bool look_is_number(const char *name)
{
	return name[0] >= '1' && name[0] <= '9';
}

/* The name that a process has, which needs no right. */
static void look_comm(int task, char ret[LOOK_COMM_BYTES])
{
	auto_fd fd = openat(task, "comm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, ret, LOOK_COMM_BYTES - 1);

	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

/* The code */

/* Whether a path leads to a file that nothing in the sandbox can write or replace. */
static bool look_is_read_only(const char *path)
{
	struct statvfs s;

	return statvfs(path, &s) == 0 && (s.f_flag & ST_RDONLY);
}

/* " (deleted)" behind a path: it is not what is there. */
static bool look_is_deleted(const char *path)
{
	static const char end[] = " (deleted)";
	const size_t len = strlen(path), n = sizeof(end) - 1;

	return len > n && strcmp(path + len - n, end) == 0;
}

/* One line of maps: "from-to rwxp offset dev inode   name". NULL: it is no code, or may be. */
static const char *look_bad_code(const char *line)
{
	static const char *const kernel[] = { "[vdso]", "[vsyscall]", "[uprobes]" };
	const char *rights = strchr(line, ' '), *name = line;

	if (!rights || strlen(rights) < 4 || rights[3] != 'x')
		return NULL;
	for (int i = 0; i < 5; i++) {
		name += strcspn(name, " ");
		name += strspn(name, " ");
	}
	for (size_t i = 0; i < ROWS(kernel); i++)
		if (strcmp(name, kernel[i]) == 0)
			return NULL;
	if (*name != '/')
		return "memory without a file";
	return look_is_deleted(name) || !look_is_read_only(name) ? name : NULL;
}

static int look_check_code(struct socket_look *l, int task, const char *exe)
{
	auto_fd fd = openat(task, "maps", O_RDONLY | O_CLOEXEC);
	auto_buffer text = { 0 };
	char *next;

	if (fd < 0 || file_read_fd(fd, LOOK_MAPS_BYTES, &text) < 0)
		return look_unsure(l, "the code of %s cannot be looked at", exe);
	for (char *line = text.data; line && *line; line = next) {
		const char *bad;

		next = line + strcspn(line, "\n");
		if (*next)
			*next++ = '\0';
		bad = look_bad_code(line);
		if (bad)
			return look_unsure(
				l, "%s runs code of %s, which the sandbox can write", exe, bad);
	}
	return 0;
}

static int look_check_program(struct socket_look *l, int task, const char *exe)
{
	if (exe[0] != '/' || strlen(exe) >= OWNER_TEXT_BYTES - 128 || look_is_deleted(exe))
		return look_unsure(l, "its program is not a file that is there: %.256s", exe);
	if (threat_program(exe, THREAT_INTERPRETER))
		return look_unsure(l, "%s is an interpreter, which runs what it is given", exe);
	if (!look_is_read_only(exe))
		return look_unsure(l, "%s lies where the sandbox can write", exe);
	return look_check_code(l, task, exe);
}

/* Holders */

/* A task that has the connection. */
static int look_take_holder(struct socket_look *l, int task)
{
	struct owner_program *p = l->ret;
	char exe[PATH_BYTES];
	ssize_t n = readlinkat(task, "exe", exe, sizeof(exe) - 1);
	int r;

	/* It ends: its descriptors are closed next. But that was not seen. */
	if (n <= 0)
		return look_unsure(l, "a process that has the connection is ending");
	exe[n] = '\0';
	r = l->is_code_checked ? 0 : look_check_program(l, task, exe);
	if (r < 0)
		return r;
	l->is_code_checked = true;
	l->n_holders++;
	if (p->found == OWNER_FOUND && strcmp(p->text, exe) != 0)
		return look_unsure(
			l, "two programs have the connection, %.400s and %.400s", p->text, exe);
	p->found = OWNER_FOUND;
	memcpy(p->text, exe, (size_t)n);
	return 0;
}

/* What has gone has nothing. */
static bool look_is_gone(int error)
{
	return error == -ENOENT || error == -ESRCH;
}

static int look_hidden(struct socket_look *l, int task)
{
	char comm[LOOK_COMM_BYTES];

	look_comm(task, comm);
	return look_unsure(l, "the process %s does not let itself be looked at", comm);
}

/* How many descriptors wait in a Unix socket: any of them could be the connection's. */
static int look_count_waiting(int task, const char *name)
{
	static const char field[] = "\nscm_fds:";
	char path[64], text[LOOK_FDINFO_BYTES];
	const char *line;
	auto_fd fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "fdinfo/%.20s", name);
	fd = openat(task, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	line = strstr(text, field);
	return line && strtoul(line + strlen(field), NULL, 10) > 0;
}

/* 1: it is the connection. */
static int look_at_descriptor(struct socket_look *l, int task, int folder, const char *name)
{
	static const char socket[] = "socket:[";
	char target[64];
	ssize_t n;
	int waiting;

	if (++l->links > LOOK_LINKS_MAX)
		return look_unsure(l, "there are too many descriptors to look at");
	n = readlinkat(folder, name, target, sizeof(target) - 1);
	if (n < 0)
		return look_is_gone(-errno) ? 0 : look_hidden(l, task);
	target[n] = '\0';
	if (strncmp(target, socket, sizeof(socket) - 1) != 0)
		return 0;
	waiting = look_count_waiting(task, name);
	if (waiting < 0 && !look_is_gone(waiting))
		return look_hidden(l, task);
	if (waiting > 0)
		return look_unsure(l, "a descriptor is on its way from one process to another, and "
				      "may be the connection's");
	return strcmp(target, l->socket) == 0;
}

/* 1: it has the connection. */
static int look_at_descriptors(struct socket_look *l, int task, DIR *d)
{
	const struct dirent *e;
	int has = 0, r = 0;

	while (r >= 0 && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		r = look_at_descriptor(l, task, dirfd(d), e->d_name);
		has |= r == 1;
	}
	return r < 0 ? r : has;
}

static int look_at_task(struct socket_look *l, int process, const char *name)
{
	auto_fd task = -1;
	look_dir d = NULL;
	char path[64];
	int error, r;

	(void)snprintf(path, sizeof(path), "task/%.20s", name);
	task = openat(process, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (task < 0)
		return look_is_gone(-errno) ? 0 : look_unsure(l, "a process cannot be looked at");
	if (++l->tasks > LOOK_TASKS_MAX)
		return look_unsure(l, "there are too many processes to look at");
	d = look_open(task, "fd", &error);
	if (!d && look_is_gone(error))
		return 0;
	if (!d)
		return look_hidden(l, task);
	r = look_at_descriptors(l, task, d);
	return r == 1 ? look_take_holder(l, task) : r;
}

static int look_at_process(struct socket_look *l, int proc, const char *name)
{
	auto_fd process = openat(proc, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	look_dir tasks = NULL;
	const struct dirent *e;
	int error, r = 0;

	l->is_code_checked = false;
	if (process < 0)
		return look_is_gone(-errno) ? 0 : look_unsure(l, "a process cannot be looked at");
	tasks = look_open(process, "task", &error);
	if (!tasks)
		return look_is_gone(error) ? 0 : look_unsure(l, "a process cannot be looked at");
	while (r == 0 && (e = readdir(tasks)))
		if (look_is_number(e->d_name))
			r = look_at_task(l, process, e->d_name);
	return r;
}

/* The socket of these ports: 1; 0: there is none. */
static int look_for_socket(struct socket_look *l, uint16_t port, uint16_t peer_port)
{
	uint64_t inode = 0;

	for (size_t i = 0; i < 2; i++) {
		auto_buffer text = { 0 };
		struct owner_row row;
		int r = file_read(owner_tables[0][i], OWNER_TABLE_BYTES, &text);

		if (r == -ENOENT)
			continue;
		if (r < 0)
			return look_unsure(l, "there are too many connections to look at");
		for (const char *line = buffer_text(&text); owner_table_next(&line, &row);) {
			if (row.port != port || row.peer_port != peer_port || row.inode == inode)
				continue;
			if (inode)
				return look_unsure(l, "two connections have the same ports");
			inode = row.inode;
		}
	}
	(void)snprintf(l->socket, sizeof(l->socket), "socket:[%" PRIu64 "]", inode);
	return inode > 0;
}

/* All processes but the caller. */
static int look_at_all(struct socket_look *l)
{
	const pid_t own = getpid();
	const struct dirent *e;
	int error, r = 0;
	look_dir proc = look_open(AT_FDCWD, "/proc", &error);

	if (!proc)
		return look_unsure(l, "/proc cannot be read: %s", strerror(-error));
	l->n_holders = l->tasks = l->links = 0;
	while (r == 0 && (e = readdir(proc)))
		if (look_is_number(e->d_name) && strtol(e->d_name, NULL, 10) != own)
			r = look_at_process(l, dirfd(proc), e->d_name);
	return r;
}

void socket_program_find(uint16_t port, uint16_t peer_port, struct owner_program *ret)
{
	struct socket_look l = { .ret = ret };
	int r;

	ret->found = OWNER_NOT_FOUND;
	memset(ret->text, 0, sizeof(ret->text));
	r = look_for_socket(&l, port, peer_port);
	if (r <= 0 || look_at_all(&l) < 0 || ret->found != OWNER_FOUND)
		return;
	/* Once more: what was handed from one process to another meanwhile was seen in neither. */
	r = look_at_all(&l);
	if (r == 0 && l.n_holders == 0)
		(void)look_unsure(&l, "no process has the connection any more");
}
