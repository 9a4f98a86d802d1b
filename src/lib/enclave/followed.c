/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A grant is a name, and a name may go through links that the owner of the machine made: /var/run,
 * /bin, a home folder on another disk. A file is judged by each name that leads to it, so its last
 * name must be granted, too; here it becomes so, once, when a policy is made.
 *
 * The attack: /w may be written and /w/sub may be read, and /w/sub is made a link to /etc. So only
 * links count that no command under the policy could have made: they lie where it allows no
 * writing. What comes after such a link is a plain name: nothing is looked up when it is used that
 * was not judged (beneath.c).
 *
 * What is denied is denied wherever a link leads, and whichever process made it. What the user
 * granted while a sandbox runs is no name of the host's: no link in it is followed.
 */
#include "lib/enclave/followed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "host/links.h"
#include "host/planted.h"
#include "lib/enclave/beneath.h"
#include "policy/match/glob.h"
#include "policy/permissions.h"
#include "policy/policy.h"

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

static bool followed_may_write(const struct policy *p, const char *path)
{
	const struct request r = { .op = OPERATION_FS_WRITE, .target = path };
	struct decision d;

	return policy_decide(p, &r, &d) < 0 || d.verdict != VERDICT_DENY;
}

bool followed_is_replaceable(const struct policy *p, const char *link)
{
	char path[PATH_BYTES + 2];
	size_t len = strlen(link);

	memcpy(path, link, len);
	memcpy(path + len, "~", 2);
	if (followed_may_write(p, path))
		return true;
	while (len > 1) {
		while (path[len - 1] != '/')
			len--;
		if (len > 1)
			len--;
		path[len] = '\0';
		if (followed_may_write(p, path))
			return true;
	}
	return false;
}

/* The root's own mount, and it is read-only: what is in it was made with the tree. */
static bool followed_is_fixed(int root, int link)
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
static bool followed_is_planted(const struct resolving *g, const char *link)
{
	struct stat here, host;
	auto_fd fd = -1;

	if (followed_is_replaceable(g->writable, link))
		return true;
	if (g->root == BENEATH_HOST)
		return planted_is_possible(link, g->home);
	if (beneath_open(g->root, link, &fd) < 0 || fstat(fd, &here) < 0)
		return true;
	if (lstat(link, &host) == 0 && here.st_dev == host.st_dev && here.st_ino == host.st_ino)
		return planted_is_possible(link, g->home);
	return !followed_is_fixed(g->root, fd);
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
		if (widens && g->writable && followed_is_planted(g, link))
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

		/* What was granted while it runs is the path itself, which was compared with the
		 * ceiling. */
		if (rule->is_granted)
			continue;
		/* Rules about files only: other patterns are no paths. */
		if (!rule->disabled && rule->operations && !(rule->operations & ~files))
			r = resolve_list(g, p, &rule->patterns, rule->action == VERDICT_ALLOW);
	}
	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = resolve_layer(g, p->all_of[i]);
	return r;
}

int followed_grants(struct permissions *p, const struct variables *variables,
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
