/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "threat/threat.h"
#include "warden/owner-table.h"

enum {
	PROCESSES_MAX = 1024,
	LINKS_MAX = 16384, /* of all processes together */
	WORDS_BYTES = 4096,
	LISTENERS_MAX = 16,
	STATE_LISTEN = 10,
	PORT_EPHEMERAL = 32768, /* from here on the kernel gives ports to who asks for any */
};

static void owner_close(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

static uint64_t owner_inode(bool is_udp, uint16_t port)
{
	for (size_t i = 0; i < 2; i++) {
		auto_buffer text = { 0 };
		struct owner_row row;
		const char *line;

		if (file_read(owner_tables[is_udp][i], OWNER_TABLE_BYTES, &text) < 0)
			continue;
		for (line = buffer_text(&text); owner_table_next(&line, &row);)
			if (row.port == port)
				return row.inode;
	}
	return 0;
}

static bool owner_has(int proc, const char *pid, const char *socket, size_t *links)
{
	__attribute__((cleanup(owner_close))) DIR *d = NULL;
	char path[64], target[64];
	const struct dirent *e;
	int fd;

	(void)snprintf(path, sizeof(path), "%.20s/fd", pid);
	fd = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d && fd >= 0)
		(void)close(fd);
	while (d && *links < LINKS_MAX && (e = readdir(d))) {
		ssize_t n;

		++*links;
		n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		if (strcmp(target, socket) == 0)
			return true;
	}
	return false;
}

/* The last part of a path, and nothing of it that a terminal or a log could take for more. */
static void owner_put(const char *path, char ret[OWNER_NAME_BYTES])
{
	const char *slash = strrchr(path, '/');
	size_t n = 0;

	for (const char *c = slash ? slash + 1 : path; *c && n + 1 < OWNER_NAME_BYTES; c++)
		ret[n++] = (char)(*c > ' ' && *c < 127 ? *c : '?');
	ret[n] = '\0';
}

/* A program that names itself ("npm install"): by its first word, if that is no interpreter. */
static bool owner_put_title(char *words, char ret[OWNER_NAME_BYTES])
{
	char title[OWNER_NAME_BYTES] = "";

	words[strcspn(words, " ")] = '\0';
	owner_put(words, title);
	if (!*title || *words == '-' || strcmp(title, ret) == 0 ||
		threat_program(title, THREAT_INTERPRETER))
		return false;
	memcpy(ret, title, sizeof(title));
	return true;
}

/* The script of an interpreter is its first argument that is no option, if it is a path. */
static void owner_put_script(int proc, const char *pid, char ret[OWNER_NAME_BYTES])
{
	char path[64], words[WORDS_BYTES];
	auto_fd fd = -1;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%.20s/cmdline", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, words, sizeof(words) - 1);
	words[n > 0 ? n : 0] = '\0';
	if (owner_put_title(words, ret))
		return;
	for (ssize_t at = (ssize_t)strlen(words) + 1; at < n;
		at += (ssize_t)strlen(words + at) + 1) {
		const char *word = words + at;

		if (*word == '-' && strcmp(word, "-c") != 0 && strcmp(word, "-e") != 0)
			continue;
		if (*word != '-' && strchr(word, '/'))
			owner_put(word, ret);
		return;
	}
}

static void owner_name(int proc, const char *pid, char ret[OWNER_NAME_BYTES])
{
	char path[64], exe[PATH_BYTES];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%.20s/exe", pid);
	n = readlinkat(proc, path, exe, sizeof(exe) - 1);
	if (n <= 0)
		return;
	exe[n] = '\0';
	owner_put(exe, ret);
	if (threat_program(ret, THREAT_INTERPRETER))
		owner_put_script(proc, pid, ret);
}

static void owner_of_inode(uint64_t inode, char ret[OWNER_NAME_BYTES])
{
	__attribute__((cleanup(owner_close))) DIR *d = NULL;
	const struct dirent *e;
	size_t links = 0, n = 0;
	char socket[64];

	ret[0] = '\0';
	d = inode ? opendir("/proc") : NULL;
	(void)snprintf(socket, sizeof(socket), "socket:[%" PRIu64 "]", inode);
	while (d && n < PROCESSES_MAX && (e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		n++;
		if (!owner_has(dirfd(d), e->d_name, socket, &links))
			continue;
		owner_name(dirfd(d), e->d_name, ret);
		return;
	}
}

void owner_find(bool is_udp, uint16_t port, char ret[OWNER_NAME_BYTES])
{
	owner_of_inode(owner_inode(is_udp, port), ret);
}

uint16_t owner_listens(char ret[OWNER_NAME_BYTES])
{
	int looks = LISTENERS_MAX;

	for (size_t i = 0; i < 2; i++) {
		auto_buffer text = { 0 };
		struct owner_row row;
		const char *line;

		if (file_read(owner_tables[0][i], OWNER_TABLE_BYTES, &text) < 0)
			continue;
		for (line = buffer_text(&text); looks > 0 && owner_table_next(&line, &row);) {
			if (row.state != STATE_LISTEN || row.port >= PORT_EPHEMERAL)
				continue;
			looks--;
			owner_of_inode(row.inode, ret);
			if (*ret)
				return (uint16_t)row.port;
		}
	}
	return 0;
}
