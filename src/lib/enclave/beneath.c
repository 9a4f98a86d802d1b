/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody who may write in a granted folder, or who only gives us names, wants us to open what was
 * not granted. What they may try:
 *
 *     names       `..`, `a/../../etc/passwd`, "." and "//", relative ones, too long ones
 *     links       absolute, relative, in chains, in circles, out of the granted folder and back,
 *                 with `..` behind another link; dangling ones, to learn whether something exists
 *     races       a file, or a folder on the way, that is swapped for a link between check and use;
 *                 one that is moved away, or deleted
 *     /proc       self/root, self/cwd, PID/fd/N: links that lead where no text says
 *     kinds       a device that does something when opened, a FIFO that waits, a terminal, a lease
 *     grants      a granted folder that itself lies in a folder they may write, and becomes a link
 *
 * All of these need a lookup that goes elsewhere than its text says. So a lookup here never does:
 * openat2() with RESOLVE_NO_SYMLINKS takes a path word by word, from the root, or fails. There is
 * no `..` in a normal path, and without links and `..` there is no way up: what RESOLVE_BENEATH is
 * about holds by itself for whatever folder a pattern grants (and is asked for where one name is
 * looked up in a folder). What was opened is then asked where it is, and that must be the path that
 * was meant; the descriptor is what is used, by its own door in /proc and not by its name.
 *
 * Links are for the caller: beneath_next() reads the first one, as text, and puts the text into the
 * path. That is a new name, to be judged like any other before it is looked up; so a denied name
 * never is, and a link cannot be used to find out what exists. If what we read is out of date a
 * moment later, then the wrong name is judged and opened, or is not there: never a name that was
 * not judged.
 *
 * Below a root that is not ours (a sandbox's tree, in its own mount namespace) RESOLVE_IN_ROOT
 * makes it "/" for the kernel too. What a descriptor's door says is a path up to the root of the
 * namespace that its mount is in: for a sandbox's tree the path as commands see it. Whatever the
 * root's own door says stands before it, and both must still say so after the lookup.
 *
 * Not held here: a file system mounted twice has its files under two paths, and one that does not
 * care about case has many names for a file. Mounts are made by those who own the machine.
 */
#include "lib/enclave/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "host/links.h"
#include "host/planted.h"
#include "policy/match/glob.h"
#include "policy/permissions.h"
#include "policy/policy.h"

/* How often something may have moved before we give up. */
enum { TRIES = 16 };

static int beneath_openat2(int folder, const char *path, uint64_t resolve, int *ret)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
	};
	long fd = syscall(SYS_openat2, folder, path, &how, sizeof(how));

	if (fd < 0)
		return -errno;
	*ret = (int)fd;
	return 0;
}

/* -EBUSY: it was moved out of the root while it was looked up. */
static int beneath_lookup(int root, const char *path, int *ret)
{
	int r = root == BENEATH_HOST ? beneath_openat2(AT_FDCWD, path, 0, ret)
				     : beneath_openat2(root, path, RESOLVE_IN_ROOT, ret);

	return r == -EXDEV ? -EBUSY : r;
}

/* The descriptors of this thread: they need not be those of its process. */
static void door(int fd, char out[64])
{
	(void)snprintf(out, 64, "/proc/thread-self/fd/%d", fd);
}

/* Where the kernel says that it is; with " (deleted)" if it is nowhere. Returns the length. */
static ssize_t read_door(int fd, char out[PATH_BYTES])
{
	char name[64];
	ssize_t n;

	door(fd, name);
	n = readlink(name, out, PATH_BYTES);
	if (n < 0)
		return errno == ENOENT ? -ENOSYS : -errno;
	if (n == PATH_BYTES)
		return -ENAMETOOLONG;
	out[n] = '\0';
	return n;
}

int beneath_lies_at(int root, int fd, const char *path)
{
	char above[PATH_BYTES] = "/", at[PATH_BYTES];
	ssize_t n = root == BENEATH_HOST ? 1 : read_door(root, above), r;

	if (n < 0)
		return (int)n;
	r = read_door(fd, at);
	if (r < 0)
		return (int)r;
	/* The root's own slash is that of the path. */
	if (!above[1])
		return strcmp(at, path) == 0;
	return strncmp(at, above, (size_t)n) == 0 && strcmp(at + n, path[1] ? path : "") == 0;
}

int beneath_open(int root, const char *path, int *ret)
{
	for (unsigned i = 0; i < TRIES; i++) {
		auto_fd fd = -1;
		int r = beneath_lookup(root, path, &fd);

		if (r == -EBUSY)
			continue;
		if (r == 0)
			r = beneath_lies_at(root, fd, path);
		if (r < 0)
			return r;
		if (r == 1) {
			*ret = fd_take(&fd);
			return 0;
		}
	}
	return -EBUSY;
}

int beneath_open_in(int folder, const char *name, int *ret)
{
	return beneath_openat2(folder, name, RESOLVE_BENEATH, ret);
}

int beneath_reopen(int fd, int flags, int *ret)
{
	char name[64];
	int opened;

	door(fd, name);
	opened = open(name, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (opened < 0)
		return -errno;
	*ret = opened;
	return 0;
}

int beneath_name(int fd, int folder, const char *name)
{
	char from[64];

	door(fd, from);
	return linkat(AT_FDCWD, from, folder, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Links */

static bool is_link(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISLNK(st.st_mode);
}

/*
 * Walks along path to its first link: 1, and the length of the path up to its end. 0: there is
 * none. *ret is how far it got, in any case (-1: not even the root). In steps of one name, each
 * from the folder before, so that a long path costs no more than its length.
 */
static int walk(int root, const char *path, int *ret, size_t *ret_len)
{
	size_t at = 0;
	int r = beneath_lookup(root, "/", ret);

	while (r == 0 && path[at] && path[at + 1]) {
		char name[NAME_MAX + 1];
		size_t len = strcspn(path + at + 1, "/");
		auto_fd fd = -1;

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path + at + 1, len);
		name[len] = '\0';
		at += 1 + len;
		r = beneath_open_in(*ret, name, &fd);
		if (r < 0)
			break;
		fd_close(ret);
		*ret = fd_take(&fd);
		if (is_link(*ret)) {
			*ret_len = at;
			return 1;
		}
	}
	return r;
}

int beneath_reach(int root, const char *path, int *ret)
{
	auto_fd fd = -1;
	size_t len;
	int r = beneath_lookup(root, path, &fd);

	if (r < 0)
		r = walk(root, path, &fd, &len);
	if (fd < 0)
		return r;
	*ret = fd_take(&fd);
	return 0;
}

/* ".." at the beginning goes up from a folder that was reached without links; later it may not. */
static bool has_late_parent(const char *target)
{
	bool named = false;

	while (*target) {
		size_t len = strcspn(target, "/");
		bool up = len == 2 && memcmp(target, "..", 2) == 0;

		if (up && named)
			return true;
		named = named || (len > 0 && !up && !(len == 1 && *target == '.'));
		target += len;
		target += strspn(target, "/");
	}
	return false;
}

static int read_link(int fd, char out[PATH_BYTES])
{
	struct statfs fs;
	ssize_t n;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	if (fs.f_type == PROC_SUPER_MAGIC)
		return -ELOOP;
	n = readlinkat(fd, "", out, PATH_BYTES);
	if (n < 0)
		return -errno;
	if (n == 0 || n == PATH_BYTES)
		return n ? -ENAMETOOLONG : -ENOENT;
	out[n] = '\0';
	return has_late_parent(out) ? -EXDEV : 0;
}

int beneath_next(int root, const char *path, char next[PATH_BYTES], char link[PATH_BYTES])
{
	char target[PATH_BYTES] = "", text[3 * PATH_BYTES];
	size_t len = strlen(path), folder, normal_len;
	auto_fd fd = -1;
	int r = beneath_lookup(root, path, &fd), n;

	/* What fails otherwise fails before the first link, or behind none. */
	if (r == 0)
		r = is_link(fd);
	else if (r == -ELOOP)
		r = walk(root, path, &fd, &len);
	if (r <= 0)
		return r;
	r = read_link(fd, target);
	if (r < 0)
		return r;
	/* The first len bytes of path name the link: its target takes their place. */
	folder = target[0] == '/' ? 0 : len;
	while (folder && path[folder - 1] != '/')
		folder--;
	n = snprintf(text, sizeof(text), "%.*s%s%s", (int)folder, path, target, path + len);
	if (n < 0 || (size_t)n >= sizeof(text))
		return -ENAMETOOLONG;
	r = path_normalize(text, (size_t)n, next, &normal_len);
	if (r < 0)
		return r;
	if (link) {
		memcpy(link, path, len);
		link[len] = '\0';
	}
	return 1;
}

int beneath_follow(int root, const char *path, char out[PATH_BYTES])
{
	char next[PATH_BYTES];
	int r = 1;

	memcpy(out, path, strlen(path) + 1);
	for (unsigned i = 0; i <= BENEATH_LINKS_MAX; i++) {
		r = beneath_next(root, out, next, NULL);
		if (r != 1)
			return r;
		memcpy(out, next, sizeof(next));
	}
	return -ELOOP;
}

/*
 * A grant is a name, and a name may go through links that the owner of the machine made: /var/run,
 * /bin, a home folder on another disk. A file is judged by each name that leads to it, so its last
 * name must be granted, too; here it becomes so, once, when a policy is made.
 *
 * The attack: /w may be written and /w/sub may be read, and /w/sub is made a link to /etc. So only
 * links count that nobody could have put there whom the policy holds: they lie where it lets nobody
 * write. What comes behind such a link is a plain name: nothing is looked up when it is used that
 * was not judged (beneath.c).
 *
 * What is denied is denied wherever a link leads, whoever made it.
 */

/* Names that one entry may get from links, in all combinations of its patterns. */
enum { NAMES_MAX = 4096 };

struct resolving {
	const struct variables *variables;
	const struct policy *writable;
	int root;
	char home[PATH_BYTES]; /* without links; "": not known */
	struct arena arena;    /* for as long as it takes */
	struct error *error;
};

/* What may stand for a pattern; the first is itself. */
struct choices {
	const char **items;
	size_t n, cap;
};

/* Whom to trust */

static bool beneath_may_write(const struct policy *p, const char *path)
{
	const struct request r = { .op = OPERATION_FS_WRITE, .target = path };
	struct decision d;

	return policy_decide(p, &r, &d) < 0 || d.verdict != VERDICT_DENY;
}

bool beneath_is_replaceable(const struct policy *p, const char *link)
{
	char path[PATH_BYTES + 2];
	size_t len = strlen(link);

	memcpy(path, link, len);
	memcpy(path + len, "~", 2);
	if (beneath_may_write(p, path))
		return true;
	while (len > 1) {
		while (path[len - 1] != '/')
			len--;
		if (len > 1)
			len--;
		path[len] = '\0';
		if (beneath_may_write(p, path))
			return true;
	}
	return false;
}

/* The root's own mount, and nobody can write there: what is in it was made with the tree. */
static bool beneath_is_fixed(int root, int link)
{
	struct statx above, here;
	struct statvfs fs;

	return statx(root, "", AT_EMPTY_PATH, STATX_MNT_ID, &above) == 0 &&
	       statx(link, "", AT_EMPTY_PATH, STATX_MNT_ID, &here) == 0 &&
	       (above.stx_mask & here.stx_mask & STATX_MNT_ID) &&
	       above.stx_mnt_id == here.stx_mnt_id && fstatvfs(link, &fs) == 0 &&
	       (fs.f_flag & ST_RDONLY);
}

/* Whether a command of now or of earlier could have made it. */
static bool beneath_is_planted(const struct resolving *g, const char *link)
{
	struct stat here, host;
	auto_fd fd = -1;

	if (beneath_is_replaceable(g->writable, link))
		return true;
	if (g->root == BENEATH_HOST)
		return planted_is_possible(link, g->home);
	if (beneath_lookup(g->root, link, &fd) < 0 || fstat(fd, &here) < 0)
		return true;
	if (lstat(link, &host) == 0 && here.st_dev == host.st_dev && here.st_ino == host.st_ino)
		return planted_is_possible(link, g->home);
	return !beneath_is_fixed(g->root, fd);
}

/* Patterns */

/* How many of the first tokens name a folder, or all there is to name: those can be links. */
static size_t literal_tokens(const struct glob_alternative *alt)
{
	size_t n = 0;

	while (n < alt->n && alt->tokens[n].type == GLOB_BYTE)
		n++;
	if (n == alt->n || alt->tokens[n].type == GLOB_TAIL || alt->tokens[n].type == GLOB_TREE)
		return n;
	while (n > 0 && alt->tokens[n - 1].byte != '/')
		n--;
	return n ? n - 1 : 0;
}

static int add_choice(struct resolving *g, const struct glob_alternative *alt, size_t from,
	const char *path, struct choices *out)
{
	const struct glob_alternative rest = { .tokens = alt->tokens + from, .n = alt->n - from };
	auto_buffer text = { 0 };
	const char *copy;

	/* The root has its slash only if nothing follows. */
	if (path[1] || rest.n == 0)
		glob_print_literal(path, strlen(path), &text);
	glob_print(&rest, &text);
	copy = text.failed ? NULL : arena_strdup(&g->arena, buffer_text(&text));
	return copy ? ARENA_PUSH(&g->arena, out->items, out->n, out->cap, copy) : -ENOMEM;
}

static int resolve_alternative(
	struct resolving *g, const struct glob_alternative *alt, bool widens, struct choices *out)
{
	char path[PATH_BYTES], next[PATH_BYTES], link[PATH_BYTES];
	size_t len = literal_tokens(alt);
	int r = 0;

	if (len == 0 || len >= sizeof(path))
		return 0;
	for (size_t i = 0; i < len; i++)
		path[i] = (char)alt->tokens[i].byte;
	path[len] = '\0';
	if (!path_is_normal(path, len))
		return 0;
	for (unsigned i = 0; r == 0 && i < BENEATH_LINKS_MAX; i++) {
		if (beneath_next(g->root, path, next, link) != 1)
			break;
		if (widens && g->writable && beneath_is_planted(g, link))
			break;
		r = add_choice(g, alt, len, next, out);
		memcpy(path, next, sizeof(path));
	}
	return r;
}

static int resolve_pattern(struct resolving *g, const char *text, const struct location *where,
	bool widens, struct choices *out)
{
	const char *expanded;
	struct glob glob;
	int r = ARENA_PUSH(&g->arena, out->items, out->n, out->cap, text);

	if (r == 0)
		r = variable_expand(g->variables, text, &g->arena, &expanded, where, g->error);
	if (r == 0)
		r = glob_parse(&glob, &g->arena, expanded, where, g->error);
	for (size_t i = 0; r == 0 && i < glob.n; i++)
		r = resolve_alternative(g, &glob.alternatives[i], widens, out);
	return r;
}

/* Entries */

/* All combinations but the one that there is already: `at` counts through them. */
static int add_combinations(struct resolving *g, struct permissions *p, struct grant_list *list,
	const struct grant *from, const struct choices *choices)
{
	const char **patterns = arena_calloc(&g->arena, from->n, sizeof(*patterns));
	size_t n = 1, r = 0;
	int code = patterns ? 0 : -ENOMEM;

	for (size_t i = 0; i < from->n; i++) {
		if (choices[i].n > NAMES_MAX / n)
			return error_set(g->error, -E2BIG, &from->where,
				"symbolic links expand the patterns of this entry to more than %d",
				NAMES_MAX);
		n *= choices[i].n;
	}
	for (size_t at = 1; code == 0 && at < n; at++) {
		r = at;
		for (size_t i = 0; i < from->n; i++) {
			patterns[i] = choices[i].items[r % choices[i].n];
			r /= choices[i].n;
		}
		code = permissions_add_all(p, list, patterns, from->n, &from->where);
	}
	return code;
}

static int resolve_list(
	struct resolving *g, struct permissions *p, struct grant_list *list, bool widens)
{
	size_t n = list->n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct grant from = list->items[i];
		struct choices *choices = arena_calloc(&g->arena, from.n, sizeof(*choices));

		if (!choices)
			return -ENOMEM;
		for (size_t j = 0; r == 0 && j < from.n; j++)
			r = resolve_pattern(g, from.all[j], &from.where, widens, &choices[j]);
		if (r == 0)
			r = add_combinations(g, p, list, &from, choices);
	}
	return r;
}

static int resolve_layer(struct resolving *g, struct permissions *p)
{
	const unsigned files = 1U << OPERATION_FS_READ | 1U << OPERATION_FS_WRITE;
	struct grant_list *allow[] = { &p->fs_read, &p->fs_write, &p->dangerously_allow };
	int r = resolve_list(g, p, &p->fs_deny, false);

	for (size_t i = 0; r == 0 && i < ROWS(allow); i++)
		r = resolve_list(g, p, allow[i], true);
	for (size_t i = 0; r == 0 && i < p->n_rules; i++) {
		struct rule *rule = &p->rules[i];

		/* Rules about files only: other patterns are no paths. */
		if (!rule->disabled && rule->operations && !(rule->operations & ~files))
			r = resolve_list(g, p, &rule->patterns, rule->action == VERDICT_ALLOW);
	}
	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = resolve_layer(g, p->all_of[i]);
	return r;
}

int beneath_resolve_grants(struct permissions *p, const struct variables *variables,
	const struct policy *writable, int root, struct error *e)
{
	struct resolving g = {
		.variables = variables, .writable = writable, .root = root, .error = e
	};
	const char *home = variables->values[VARIABLE_HOME];
	int r;

	if (home && links_follow(home, NULL, NULL, g.home) < 0)
		g.home[0] = '\0';
	r = resolve_layer(&g, p);
	arena_deinit(&g.arena);
	return r == -ENOMEM ? error_no_memory(e) : r;
}
