/* SPDX-License-Identifier: Apache-2.0 */
/* What the host would do for a command: run an interpreter, answer on a port, mount something. */
#include <arpa/inet.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/shebang.h"
#include "cli/explain/internal.h"
#include "jail/mount.h"

/*
 * What the kernel opens by itself when it runs a file, so that no call names it: the program in the
 * first line of a script, the loader of a dynamic program. If one is missing, running the file
 * fails as if the file were not there.
 */

enum { HEADERS_MAX = 64 };

/* Both architectures have 64 bits. */
static bool of_program(int fd, char out[PATH_BYTES])
{
	Elf64_Phdr headers[HEADERS_MAX];
	Elf64_Ehdr head;
	size_t size;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
		memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
		head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(headers[0]) ||
		head.e_phnum > HEADERS_MAX)
		return false;
	size = head.e_phnum * sizeof(headers[0]);
	if (pread(fd, headers, size, (off_t)head.e_phoff) != (ssize_t)size)
		return false;
	for (const Elf64_Phdr *h = headers; h < headers + head.e_phnum; h++)
		if (h->p_type == PT_INTERP)
			return h->p_filesz >= 2 && h->p_filesz <= PATH_BYTES &&
			       pread(fd, out, h->p_filesz, (off_t)h->p_offset) ==
				       (ssize_t)h->p_filesz &&
			       out[0] == '/' && out[h->p_filesz - 1] == '\0';
	return false;
}

/*
 * What lies at the path was a plain file when it was looked at, but the command may have put
 * another thing there: a link to what it must not touch, a device or a pipe, where opening is an
 * act. So it is only named first, and what was named is opened if it is a plain file indeed.
 */
static int open_plain(const char *path)
{
	auto_fd named = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char link[64];
	struct stat st;

	if (named < 0 || fstat(named, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", named);
	return open(link, O_RDONLY | O_CLOEXEC);
}

enum explain_interpreter run_explain_interpreter(const char *path, char out[PATH_BYTES])
{
	auto_fd fd = open_plain(path);
	struct shebang s;

	if (fd < 0)
		return EXPLAIN_NO_INTERPRETER;
	if (shebang_read(&s, fd) == 0 && s.program[0] == '/') {
		memcpy(out, s.program, sizeof(s.program));
		return EXPLAIN_SCRIPT;
	}
	return of_program(fd, out) ? EXPLAIN_LOADER : EXPLAIN_NO_INTERPRETER;
}

/*
 * Servers on the user's own machine. Inside, 127.0.0.1 and ::1 are the sandbox's own, and whoever
 * connects to a port on which nobody listens there is refused by the kernel; the relay never hears
 * of it. That it was meant for the host is a guess: somebody listens there, and nobody inside.
 */

enum { LIST_BYTES_MAX = 1 << 20 };

/* As /proc has it: each group of four bytes as a number of the machine's. */
static void print_address(const void *bytes, size_t len, char *out)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i += 4, out += 8) {
		uint32_t group;

		memcpy(&group, p + i, sizeof(group));
		(void)snprintf(out, 9, "%08X", group);
	}
}

/* Is there a line "N: ADDRESS:PORT … 0A", of somebody who listens? */
static bool has_listener(const char *list, const char *address, unsigned port)
{
	char wanted[64];
	int n = snprintf(wanted, sizeof(wanted), ": %s:%04X ", address, port);

	for (const char *at = list; (at = strstr(at, wanted)); at += n) {
		const char *state = strchr(at + n, ' ');

		if (state && strncmp(state, " 0A ", 4) == 0)
			return true;
	}
	return false;
}

/* proc: "/proc", or that of a process inside, whose network is the sandbox's. */
static bool explain_loopback_listens(const char *proc, const struct sockaddr_storage *to)
{
	static const struct in6_addr any;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)to;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)to;
	bool is_v4 = to->ss_family == AF_INET;
	char path[64], exact[33], all[33], both[33];
	auto_buffer list = { 0 }, list6 = { 0 };
	unsigned port = ntohs(is_v4 ? v4->sin_port : v6->sin6_port);

	print_address(is_v4 ? (const void *)&v4->sin_addr : &v6->sin6_addr, is_v4 ? 4 : 16, exact);
	print_address(&any, is_v4 ? 4 : 16, all);
	print_address(&any, 16, both);
	(void)snprintf(path, sizeof(path), "%s/net/tcp%s", proc, is_v4 ? "" : "6");
	(void)file_read(path, LIST_BYTES_MAX, &list);
	/* Who listens on [::] mostly means IPv4 as well. */
	(void)snprintf(path, sizeof(path), "%s/net/tcp6", proc);
	if (is_v4)
		(void)file_read(path, LIST_BYTES_MAX, &list6);
	return has_listener(buffer_text(&list), exact, port) ||
	       has_listener(buffer_text(&list), all, port) ||
	       has_listener(buffer_text(&list6), both, port);
}

int run_explain_loopback(
	const struct run *r, const struct sight *s, struct denial *ret, char path[PATH_BYTES])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)s->address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)s->address;
	const bool is_v4 = s->address->ss_family == AF_INET;
	struct request request = { .op = OPERATION_NET_CONNECT, .target = path };
	char proc[64], text[INET6_ADDRSTRLEN] = "";

	/* With the host's network it is the host that is asked. */
	if (r->plan->network == PLAN_NETWORK_HOST ||
		(is_v4 ? ntohl(v4->sin_addr.s_addr) >> 24 != 127
		       : s->address->ss_family != AF_INET6 ||
					!IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)))
		return EXPLAIN_NOTHING;
	(void)inet_ntop(s->address->ss_family, is_v4 ? (const void *)&v4->sin_addr : &v6->sin6_addr,
		text, sizeof(text));
	(void)snprintf(path, PATH_BYTES, is_v4 ? "%s:%u" : "[%s]:%u", text,
		ntohs(is_v4 ? v4->sin_port : v6->sin6_port));
	(void)snprintf(proc, sizeof(proc), "/proc/%d", (int)s->pid);
	if (policy_allows(r->policy, &request) ||
		!explain_loopback_listens("/proc/self", s->address) ||
		explain_loopback_listens(proc, s->address))
		return EXPLAIN_NOTHING;
	*ret = (struct denial){ .kind = DENIAL_CONNECT, .path = path };
	return EXPLAIN_DENIED;
}

/*
 * Names that act. Below a mount of autofs or AFS a name that nobody used before is looked for on
 * other machines: with the automounter's usual map, whoever asks whether /net/NAME/x is there sends
 * a question for NAME to the name servers, and waits for what comes back. The command has no such
 * place, and no network. Were its names looked at there for it, that would be a way out, and a
 * place to wait in. So nothing is looked at on such mounts, and nothing is said of it. What was
 * mounted below one before the command began is a file system like others.
 */

int run_explain_mounts_read(struct explain_mounts *m, struct arena *a, const char *list)
{
	char *text = arena_strdup(a, list), *rest = NULL;
	bool any = false;

	*m = (struct explain_mounts){ 0 };
	if (!text)
		return -ENOMEM;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct explain_mount one;
		struct mount_line parsed;

		if (!mount_line_parse(line, &parsed) || parsed.path[0] != '/')
			continue;
		one = (struct explain_mount){ .path = parsed.path,
			.acts = strcmp(parsed.type, "autofs") == 0 ||
				strcmp(parsed.type, "afs") == 0 };
		any = any || one.acts;
		if (ARENA_PUSH(a, m->items, m->n, m->cap, one) < 0)
			return -ENOMEM;
	}
	/* As on most machines. */
	if (!any)
		m->n = 0;
	return 0;
}

/* The longest counts, and of two at one place the later, which is on top. */
bool run_explain_mounts_act(const struct explain_mounts *m, const char *path)
{
	const struct explain_mount *best = NULL;

	for (size_t i = 0; i < m->n; i++) {
		const struct explain_mount *one = &m->items[i];

		if (path_is_below(path, one->path) &&
			(!best || strlen(one->path) >= strlen(best->path)))
			best = one;
	}
	return best && best->acts;
}
