/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "host/links.h"
#include "host/planted.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/followed.h"
#include "lib/enclave/internal.h"
#include "policy/algebra/relation.h"
#include "policy/match/command.h"
#include "policy/match/glob.h"
#include "policy/network/host.h"

/*
 * Two kinds of names. One without a wildcard is walked, and the links on it are looked at. What a
 * glob matches cannot be walked before it is there: "/srv/" "*" "/data" is a grant of whatever
 * /srv/a/data leads to, for whoever could once write in /srv/a. So a glob is compared, as a
 * pattern, with all that could ever be written.
 */

/* Steps that all comparisons of globs may take together; past it they go astray. */
enum { EFFORT = 1 << 20 };

struct looking {
	const struct enclave_links *links;
	struct glob *written; /* where one could write; NULL: not parsed yet */
	size_t effort;
	bool is_program; /* who could make its link could make the program */
	struct permissions *contested;
	struct arena arena; /* for as long as it takes */
	int n;              /* that were taken out */
	int code;
};

/* Whether a link on the way is not to be trusted; or what it says cannot be told. */
static bool goes_astray(const struct looking *l, const char *literal)
{
	const char *named = l->links->variables->values[VARIABLE_HOME];
	char path[PATH_BYTES], next[PATH_BYTES], link[PATH_BYTES], home[PATH_BYTES];
	int r = 1;

	if (!named || links_follow(named, NULL, NULL, home) < 0)
		home[0] = '\0';
	memcpy(path, literal, strlen(literal) + 1);
	for (unsigned i = 0; r == 1 && i < BENEATH_LINKS_MAX; i++) {
		r = beneath_next(BENEATH_HOST, path, next, link);
		if (r == 1 && (followed_is_replaceable(l->links->ever, link) ||
				      (!l->is_program && planted_is_possible(link, home))))
			return true;
		if (r == 1)
			memcpy(path, next, sizeof(path));
	}
	return r != 0 && r != -ENOENT && r != -ENOTDIR &&
	       followed_is_replaceable(l->links->ever, path);
}

/* Globs */

static int links_parse(struct looking *l, const char *text, struct glob *ret)
{
	const char *expanded;
	int r = variable_expand(l->links->variables, text, &l->arena, &expanded, NULL, NULL);

	return r < 0 ? r : glob_parse(ret, &l->arena, expanded, NULL, NULL);
}

/* Whether something that the pattern matches could be written. What is not known counts. */
static bool is_written(struct looking *l, const char *pattern)
{
	const struct grant_list *list = &l->links->written->fs_write;
	struct glob g;

	if (!l->written) {
		struct glob *globs = arena_calloc(&l->arena, list->n + 1, sizeof(*globs));

		if (!globs)
			return true;
		for (size_t i = 0; i < list->n; i++) {
			if (links_parse(l, list->items[i].all[0], &globs[i]) < 0)
				return true;
		}
		l->written = globs;
	}
	if (glob_parse(&g, &l->arena, pattern, NULL, NULL) < 0)
		return true;
	for (size_t i = 0; i < list->n; i++) {
		if (relation_within_effort(&g, &l->written[i], PRODUCT_PATHS, &l->effort) !=
			RELATION_DISJOINT)
			return true;
	}
	return false;
}

/*
 * All folders behind the first wildcard: who could write one, or other names in it, makes links.
 * Those before it are literal.
 */
static bool glob_goes_astray(struct looking *l, const struct glob_alternative *alt)
{
	for (size_t i = alt->literal_len; i < alt->n; i++) {
		const struct glob_alternative folder = { .tokens = alt->tokens, .n = i };
		auto_buffer text = { 0 };

		if (alt->tokens[i].type != GLOB_BYTE || alt->tokens[i].byte != '/')
			continue;
		glob_print(&folder, &text);
		if (text.failed || is_written(l, buffer_text(&text)))
			return true;
		buffer_adds(&text, "/~");
		if (text.failed || is_written(l, buffer_text(&text)))
			return true;
	}
	return false;
}

/* What matches a true glob may be links, too: the folder in which it begins must be trusted. */
static bool alternative_goes_astray(
	struct looking *l, const struct glob_alternative *alt, bool *contested)
{
	char path[PATH_BYTES];
	size_t len = alt->literal_len;

	if (len + 2 >= sizeof(path))
		return true;
	memcpy(path, alt->literal, len);
	if (alt->kind == GLOB_TRUE) {
		while (len > 0 && path[len - 1] != '/')
			len--;
		memcpy(path + len, "x", 2);
		if (followed_is_replaceable(l->links->ever, path) || glob_goes_astray(l, alt))
			return true;
		len -= len > 0;
	}
	path[len] = '\0';
	if (len <= 1 || !path_is_normal(path, len))
		return false;
	*contested = *contested || (followed_is_replaceable(l->links->ever, path) &&
					   !followed_is_replaceable(l->links->now, path));
	return goes_astray(l, path);
}

static bool pattern_goes_astray(struct looking *l, const char *text)
{
	bool contested = false;
	struct glob g;

	if (links_parse(l, text, &g) < 0)
		return true;
	for (size_t i = 0; i < g.n; i++) {
		if (alternative_goes_astray(l, &g.alternatives[i], &contested))
			return true;
	}
	if (contested && l->code == 0)
		l->code = permissions_add(l->contested, &l->contested->fs_read, text, NULL);
	return false;
}

/* A program is shown where its name leads: to be run, and so to be read. */
static bool program_goes_astray(struct looking *l, const char *text)
{
	struct command_pattern pattern;
	bool astray;

	if (command_pattern_parse(&pattern, &l->arena, text, NULL, NULL) < 0)
		return true;
	l->is_program = true;
	astray = !pattern.is_name && strchr("/$", pattern.program[0]) &&
		 pattern_goes_astray(l, pattern.program);
	l->is_program = false;
	return astray;
}

/* A socket is found by its folder, when a session is made. */
static bool host_goes_astray(struct looking *l, const char *text)
{
	auto_buffer literal = { 0 };
	struct host_pattern h;

	if (host_pattern_parse(&h, &l->arena, text, NULL, NULL) < 0)
		return true;
	if (h.kind != HOST_SOCKET)
		return false;
	glob_print_literal(h.name, strlen(h.name), &literal);
	return literal.failed || pattern_goes_astray(l, buffer_text(&literal));
}

typedef bool goes_astray_fn(struct looking *l, const char *text);

static void drop_from(struct looking *l, struct grant_list *list, goes_astray_fn *entry_goes_astray)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct grant g = list->items[i];
		bool astray = false;

		for (size_t k = 0; k < g.n; k++)
			astray = astray || entry_goes_astray(l, g.all[k]);
		if (!astray)
			list->items[n++] = g;
	}
	l->n += (int)(list->n - n);
	list->n = n;
}

static void links_drop_layer(struct looking *l, struct permissions *p)
{
	static goes_astray_fn *const kinds[OPERATION_COUNT] = {
		[OPERATION_FS_READ] = pattern_goes_astray,
		[OPERATION_FS_WRITE] = pattern_goes_astray,
		[OPERATION_EXEC] = program_goes_astray,
		[OPERATION_NET_CONNECT] = host_goes_astray,
	};
	size_t n = 0;

	drop_from(l, &p->fs_read, pattern_goes_astray);
	drop_from(l, &p->fs_write, pattern_goes_astray);
	drop_from(l, &p->dangerously_allow, pattern_goes_astray);
	drop_from(l, &p->exec, program_goes_astray);
	drop_from(l, &p->network_allow, host_goes_astray);
	for (size_t i = 0; i < p->n_guest_paths; i++) {
		if (!pattern_goes_astray(l, p->guest_paths[i].host))
			p->guest_paths[n++] = p->guest_paths[i];
	}
	l->n += (int)(p->n_guest_paths - n);
	p->n_guest_paths = n;
	for (size_t i = 0; i < p->n_rules; i++) {
		struct rule *rule = &p->rules[i];

		for (int op = 0; op < OPERATION_COUNT; op++) {
			if (rule->action == VERDICT_ALLOW && rule->operations >> op & 1 &&
				kinds[op])
				drop_from(l, &rule->patterns, kinds[op]);
		}
	}
	permissions_tidy_rules(p);
	for (size_t i = 0; i < p->n_all_of; i++)
		links_drop_layer(l, p->all_of[i]);
}

int enclave_links_drop(
	const struct enclave_links *l, struct permissions *p, struct permissions *contested)
{
	struct looking looking = { .links = l, .contested = contested, .effort = EFFORT };

	links_drop_layer(&looking, p);
	arena_deinit(&looking.arena);
	return looking.code < 0 ? looking.code : looking.n;
}
