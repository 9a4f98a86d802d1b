/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section `guest_paths`: folders of the host under other names, for WASM skills.
 *
 * A folder is granted as it is named, so its name must not be a pattern and must not climb: what
 * `data/../..` is depends on links that nobody here has seen.
 */
#include "policy/format/permissions-read.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "policy/match/pattern.h"

/* Looked for one by one: a bound keeps a hostile list from costing its square. */
enum { GUEST_PATHS_MAX = 256 };

struct guest {
	struct permissions *p;
	const char *base; /* what a relative folder stands below, or NULL */
	struct guest_path path;
};

/* The path from the root or from a variable that `text` means; NULL when out of memory. */
static const char *permissions_read_guest_absolute(const struct guest *g, const char *text)
{
	size_t len = strlen(text);

	/* A slash at the end, also before a dot, would make it a pattern for all that lies below.
	 */
	while (len > 1 && (text[len - 1] == '/' || (text[len - 1] == '.' && text[len - 2] == '/')))
		len--;
	if (!g->base || strchr("/$~", text[0]))
		return arena_strndup(g->p->arena, text, len);
	while (len > 0 && text[0] == '.' && (len == 1 || text[1] == '/')) {
		size_t skip = len == 1 ? 1 : 2;

		text += skip;
		len -= skip;
	}
	return arena_printf(g->p->arena, "%s%s%.*s", g->base, len ? "/" : "", (int)len, text);
}

/* True if a component of the path is "..". */
static bool climbs(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
		if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
			return true;
	}
	return false;
}

static int permissions_read_guest_read_host(const struct field *f, void *into)
{
	struct location where = field_location(f);
	struct guest *g = into;
	const char *text = NULL;
	int r = field_text(f, &text);

	if (r < 0)
		return r;
	if (strpbrk(text, "*?[]{}\\"))
		return field_fail(f, "`%s` must be one folder, without wildcards", text);
	if (climbs(text))
		return field_fail(f, "`%s` must not climb with `..`", text);
	text = permissions_read_guest_absolute(g, text);
	r = text ? pattern_canonical(
			   OPERATION_FS_READ, text, g->p->arena, &g->path.host, &where, f->error)
		 : -ENOMEM;
	return field_result(f, r);
}

static int read_guest(const struct field *f, void *into)
{
	struct guest *g = into;
	const char *text = NULL;
	char normal[PATH_BYTES];
	size_t len;
	int r = field_text(f, &text);

	if (r < 0)
		return r;
	if (path_normalize(text, strlen(text), normal, &len) < 0)
		return field_fail(f, "`%s` is no absolute path", text);
	g->path.guest = arena_strndup(g->p->arena, normal, len);
	return field_result(f, g->path.guest ? 0 : -ENOMEM);
}

static int read_guest_mode(const struct field *f, void *into)
{
	static const char *const words[] = { "ro", "rw", "r" };
	struct guest *g = into;
	size_t word = 0;
	int r = field_word(f, words, ROWS(words), &word);

	g->path.writable = word == 1;
	return r;
}

static const struct field_key guest_keys[] = {
	FIELD("guest", read_guest, .required = true),
	FIELD("host", permissions_read_guest_read_host, .required = true),
	FIELD("mode", read_guest_mode, .required = true),
};
static const struct field_table guest_table = FIELD_TABLE(guest_keys);

static int read_guest_path(const struct field *f, void *into)
{
	struct guest g = { .p = into, .base = f->how, .path.where = field_location(f) };
	int r = field_read_map(f, &guest_table, &g);

	if (r < 0)
		return r;
	for (size_t i = 0; i < g.p->n_guest_paths; i++) {
		if (strcmp(g.p->guest_paths[i].guest, g.path.guest) == 0)
			return field_fail(f, "`%s` is given twice", g.path.guest);
	}
	if (g.p->n_guest_paths == GUEST_PATHS_MAX)
		return field_fail(f, "more than %d guest paths", GUEST_PATHS_MAX);
	return field_result(f, permissions_add_guest_path(g.p, &g.path));
}

int permissions_read_guest_paths(const struct field *f, void *into)
{
	return field_read_list(f, read_guest_path, into);
}
