/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files: grants that are too wide, that the baseline takes back, or that give less than they seem
 * to. Here only the shape of a grant counts; lint/code.c looks at what particular files do.
 *
 * The baseline consists of paths and of folders with all that lies in them. So a folder lies within
 * it if a name that nobody gives a file does.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "base/words.h"
#include "advice/lint/internal.h"

/* The baseline as two globs */

static bool is_system_folder(const struct baseline_path *b)
{
	const char *pattern = baseline_path_pattern(b);
	size_t n = strlen(pattern);

	return !b->secret && pattern[0] == '/' && n > 3 && strcmp(pattern + n - 3, "/**") == 0;
}

int lint_files_init(struct lint *l)
{
	auto_buffer folders = { 0 };
	int r = glob_parse(&l->homes, l->scratch, "/{home/*,Users/*,root}" LINT_INSIDE, NULL, NULL);

	for (size_t i = 0; i < baseline_n_paths; i++) {
		if (is_system_folder(&baseline_paths[i]))
			buffer_printf(&folders, "%c%s", folders.len ? ',' : '{',
				baseline_path_pattern(&baseline_paths[i]));
	}
	buffer_addc(&folders, '}');
	if (folders.failed)
		return -ENOMEM;
	return r < 0 ? r : glob_parse(&l->system, l->scratch, buffer_text(&folders), NULL, NULL);
}

/* The entry of the baseline that all matches of an alternative lie in, or NULL. */
static const struct baseline_path *baseline_around(
	const struct lint *l, const struct glob_alternative *alt, bool write)
{
	const char *slash = memrchr(alt->literal, '/', alt->literal_len);
	size_t len = alt->literal_len;
	char path[PATH_BYTES];

	if (alt->kind == GLOB_LITERAL)
		return baseline_paths_match(&l->own_home, write, alt->literal, len);
	/* The folder that all matches of a true glob lie in. */
	if (alt->kind == GLOB_TRUE)
		len = slash ? (size_t)(slash - alt->literal) : 0;
	if (len + sizeof(LINT_INSIDE) > sizeof(path))
		return NULL;
	(void)snprintf(path, sizeof(path), "%.*s" LINT_INSIDE, (int)len, alt->literal);
	return baseline_paths_match(&l->own_home, write, path, strlen(path));
}

/* The first entry of the baseline that lies in a folder, or NULL. */
static const struct baseline_path *baseline_below(
	const struct lint *l, const struct glob_alternative *alt, bool system_only)
{
	for (size_t i = 0; alt->kind == GLOB_SUBTREE && i < baseline_n_paths; i++) {
		const struct baseline_path *b = &baseline_paths[i];
		const char *pattern = baseline_path_pattern(b);
		const char *home = pattern[0] == '~' ? l->vars->values[VARIABLE_HOME] : "";
		char path[PATH_BYTES];

		if (system_only && !is_system_folder(b))
			continue;
		if (alt->literal_len == 0 || path_is_below(pattern, alt->literal))
			return b;
		(void)snprintf(path, sizeof(path), "%s%s", home, pattern + 1);
		if (*home && path_is_below(path, alt->literal))
			return b;
	}
	return NULL;
}

/* Too wide */

int lint_too_wide(struct lint *l, const struct lint_entry *e)
{
	static const struct {
		enum operation op;
		enum lint_width width;
		const char *id, *text, *hint;
	} rows[] = {
		{ OPERATION_FS_WRITE, LINT_EVERYTHING, "write-everything",
			"every file may be changed or deleted, but for what the baseline protects",
			"name the folders that are needed, such as $WORK_DIR/**" },
		{ OPERATION_FS_WRITE, LINT_HOME, "write-home",
			"a whole home may be changed or deleted: every project, every document, "
			"the settings of every program",
			"name the folders that are needed, such as $HOME/projects/app/**" },
		{ OPERATION_FS_READ, LINT_EVERYTHING, "read-everything",
			"every file may be read, but for the secrets that the baseline knows",
			"name the folders that are needed; programs usually need /usr/** and "
			"/etc/**" },
		{ OPERATION_FS_READ, LINT_HOME, "read-home",
			"a whole home may be read, but for the secrets that the baseline knows: "
			"every project, every document, keys in .env files",
			"name the folders that are needed, such as $HOME/projects/app/**" },
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		if (rows[i].op == e->op && rows[i].width == e->width &&
			strcmp(rows[i].id, l->check->about.id) == 0)
			return lint_report(l, e, rows[i].text, rows[i].hint);
	}
	return 0;
}

/* The entry of the baseline that all of e lies in (the first, if it has several parts), or NULL. */
static const struct baseline_path *baseline_of_entry(
	const struct lint *l, const struct lint_entry *e)
{
	for (size_t i = 0; i < e->globs.n; i++) {
		const struct glob *g = &e->globs.items[i];
		const struct baseline_path *first = NULL, *b = NULL;

		for (size_t k = 0; k < g->n && (k == 0 || b); k++) {
			b = baseline_around(l, &g->alternatives[k], e->op == OPERATION_FS_WRITE);
			first = first ? first : b;
		}
		if (b)
			return first;
	}
	return NULL;
}

int lint_write_system(struct lint *l, const struct lint_entry *e)
{
	const struct baseline_path *in = NULL; /* one of them, where that is easy to say */
	bool plain = e->globs.n == 1;
	int r;

	if (e->width != LINT_NARROW || baseline_of_entry(l, e))
		return 0;
	for (size_t i = 0; plain && !in && i < e->globs.items[0].n; i++) {
		plain = e->globs.items[0].alternatives[i].kind != GLOB_TRUE;
		in = baseline_below(l, &e->globs.items[0].alternatives[i], true);
	}
	r = plain || in ? in != NULL : lint_reaches(l, e, &l->system, NULL);
	if (r <= 0)
		return r;
	return lint_report(l, e,
		lint_say(l,
			"this takes in folders of the system%s%s; the baseline still protects "
			"those that it knows, not what lies beside them",
			in ? ", such as " : "", in ? baseline_path_pattern(in) : ""),
		"name the folder that is needed");
}

/* What the baseline takes back */

/* Its place is known well enough: no variable, or $HOME, which is no folder of the system. */
static bool is_anchored(const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n; i++) {
		if (e->parts[i].variable >= 0 && e->parts[i].variable != VARIABLE_HOME)
			return false;
	}
	return true;
}

static int share(struct lint *l, const struct lint_entry *a, const struct lint_entry *b)
{
	struct glob in[2 * LINT_PARTS_MAX];
	int r;

	if (!is_anchored(a) || !is_anchored(b))
		return 1;
	memcpy(in, a->globs.items, a->globs.n * sizeof(in[0]));
	memcpy(in + a->globs.n, b->globs.items, b->globs.n * sizeof(in[0]));
	r = lint_exists(
		l, PRODUCT_PATHS, &(struct lint_globs){ in, a->globs.n + b->globs.n }, NULL, 0);
	return r == -E2BIG ? 1 : r;
}

int lint_baseline_forbids(struct lint *l, const struct lint_entry *e)
{
	const struct baseline_path *b = baseline_of_entry(l, e);
	int r = b ? lint_is_too_long(l, &l->dangerous) : 1;

	/* dangerously_allow may lift the baseline for some of e. */
	for (size_t i = 0; r == 0 && i < l->dangerous.n; i++)
		r = share(l, &l->dangerous.items[i], e);
	if (r != 0)
		return r < 0 ? r : 0;
	return lint_report(l, e,
		lint_say(l,
			"this grants nothing: the baseline does not allow any command to %s %s "
			"(%s)",
			e->op == OPERATION_FS_WRITE ? "write" : "read", baseline_path_pattern(b),
			baseline_path_why(b)),
		"remove it; if it is really needed, name it in dangerously_allow as well");
}

/* dangerously_allow */

static const struct baseline_path *baseline_near(const struct lint *l, const struct lint_entry *e)
{
	const struct baseline_path *b = NULL;

	for (size_t i = 0; !b && e->globs.n == 1 && i < e->globs.items[0].n; i++) {
		const struct glob_alternative *alt = &e->globs.items[0].alternatives[i];

		b = baseline_around(l, alt, true);
		b = b ? b : baseline_below(l, alt, false);
	}
	return b;
}

int lint_dangerously_allow(struct lint *l)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->dangerous.n; i++) {
		const struct lint_entry *e = &l->dangerous.items[i];
		const struct baseline_path *b = baseline_near(l, e);

		r = lint_report(l, e,
			b ? lint_say(l, "the baseline no longer protects %s (%s)",
				    baseline_path_pattern(b), baseline_path_why(b))
			  : "the baseline no longer protects what this matches",
			"remove it, or name the one file that is needed");
	}
	return r;
}

int lint_dangerously_unused(struct lint *l)
{
	const struct lint_entries *all = &l->entries[OPERATION_FS_READ];

	for (size_t i = 0; i < l->dangerous.n; i++) {
		const struct lint_entry *e = &l->dangerous.items[i];
		bool plain = e->globs.n == 1 && e->globs.items[0].n == 1 &&
			     e->globs.items[0].alternatives[0].kind != GLOB_TRUE &&
			     e->parts[0].variable < 0;
		int r = 0;

		if (plain && !baseline_near(l, e))
			r = lint_report(l, e, "the baseline has nothing here to lift", "remove it");
		else if (l->p->fallback != VERDICT_DENY || l->p->mode != MODE_ENFORCE ||
			 lint_is_too_long(l, all) || lint_is_too_long(l, &l->dangerous))
			continue;
		else if ((r = lint_meets(l, e, all)) == 0)
			r = lint_report(l, e,
				"nothing in this layer grants it, so lifting the baseline changes "
				"nothing",
				"remove it, or grant it in fs.read or fs.write");
		if (r < 0)
			return r;
	}
	return 0;
}

/* A folder without what lies in it */

/* Files that have no extension and are no folders. */
static const char *const plain_files[] = { "Makefile", "GNUmakefile", "Dockerfile", "Containerfile",
	"Vagrantfile", "Procfile", "Gemfile", "Rakefile", "Jenkinsfile", "LICENSE", "LICENCE",
	"COPYING", "README", "NOTICE", "AUTHORS", "CHANGELOG", "VERSION", "CODEOWNERS", "justfile",
	NULL };

/* Where files have no extension, as a rule. */
static const char *const file_folders[] = { "/dev", "/proc", "/sys", "/etc", "/run" };

static bool looks_like_file(const char *path, const char *base)
{
	if (strchr(base, '.') || words_has(plain_files, base))
		return true;
	for (size_t i = 0; i < ROWS(file_folders); i++) {
		if (path_is_below(path, file_folders[i]))
			return true;
	}
	/* A program: /usr/local/bin/tool. */
	return glob_match_text("/**/{bin,sbin,libexec}/*", path);
}

/* Something else in the layer speaks of what lies in the folder, or runs it. */
static bool is_opened(const struct lint *l, const char *path)
{
	const struct lint_entries *reads = &l->entries[OPERATION_FS_READ];
	const struct lint_entries *execs = &l->entries[OPERATION_EXEC];
	char inside[PATH_BYTES];
	int n = snprintf(inside, sizeof(inside), "%s/" LINT_ANY, path);

	for (size_t i = 0; i < reads->n; i++) {
		const struct lint_globs *g = &reads->items[i].globs;

		if (lint_all_match(g, inside, strlen(inside)) || lint_takes_all_below(g, path))
			return true;
	}
	for (size_t i = 0; i < execs->n; i++) {
		const struct lint_globs *g = &execs->items[i].globs;

		if (g->n == 1 && g->items[0].alternatives[0].kind == GLOB_LITERAL &&
			lint_all_match(g, path, strlen(path)))
			return true;
	}
	return n < 0 || (size_t)n >= sizeof(inside);
}

int lint_literal_folder(struct lint *l, const struct lint_entry *e)
{
	const struct glob_alternative *alt = &e->globs.items[0].alternatives[0];
	const char *base;
	bool variable, root;

	if (e->rule || e->n != 1 || e->globs.items[0].n != 1 || alt->kind != GLOB_LITERAL ||
		lint_is_too_long(l, &l->entries[OPERATION_FS_READ]))
		return 0;
	base = strrchr(alt->literal, '/') + 1;
	/* "$WORK_DIR" is a folder whatever it is called. */
	variable = strchr("$~", e->text[0]) && !strchr(e->text, '/');
	root = strcmp(alt->literal, "/") == 0;
	if (!variable && !root && looks_like_file(alt->literal, base))
		return 0;
	if (is_opened(l, root ? "" : alt->literal))
		return 0;
	return lint_report(l, e,
		"if this is a folder, only its own entry is granted, and nothing that lies in it",
		root ? "name the folder that is needed"
		     : lint_say(l, "for what lies in it write %s/**", e->text));
}

/*
 * How wide is a pattern? It is tried on names that nobody gives a file: a pattern that matches
 * those takes whatever lies there. Homes need one more thought, because their folders have names of
 * their own: /home/alice/** is as much a home as $HOME/**. Folders are judged by a few paths; only
 * true globs need a search.
 */

bool lint_takes_all_below(const struct lint_globs *g, const char *folder)
{
	char path[PATH_BYTES];

	/* Two depths: "/srv/*" takes all that lies directly in a folder, and that is not all. */
	(void)snprintf(path, sizeof(path), "%s" LINT_INSIDE, folder);
	if (!lint_all_match(g, path, strlen(path)))
		return false;
	(void)snprintf(path, sizeof(path), "%s" LINT_INSIDE "/" LINT_ANY, folder);
	return lint_all_match(g, path, strlen(path));
}

/* One of the folders that a glob names is a home, or the globs take in all of one. */
static bool holds_home(const struct lint *l, const struct lint_globs *g)
{
	const char *homes[] = { "/home/" LINT_ANY, "/Users/" LINT_ANY, "/root",
		l->vars->values[VARIABLE_HOME] };
	char path[PATH_BYTES];

	for (size_t i = 0; i < ROWS(homes); i++) {
		if (lint_takes_all_below(g, homes[i]))
			return true;
	}
	for (size_t i = 0; g->n == 1 && i < g->items[0].n; i++) {
		const struct glob_alternative *alt = &g->items[0].alternatives[i];

		(void)snprintf(path, sizeof(path), "%s" LINT_INSIDE, alt->literal);
		if (alt->kind == GLOB_SUBTREE && glob_match(&l->homes, path, strlen(path)))
			return true;
	}
	return false;
}

int lint_width_of(struct lint *l, const struct lint_globs *g, enum lint_width *ret)
{
	bool everything = lint_takes_all_below(g, ""), plain = g->n == 1;
	struct glob in[LINT_PARTS_MAX + 1];
	int r = everything || holds_home(l, g);

	for (size_t i = 0; plain && i < g->items[0].n; i++)
		plain = g->items[0].alternatives[i].kind != GLOB_TRUE;
	if (r == 0 && !plain) {
		memcpy(in, g->items, g->n * sizeof(in[0]));
		in[g->n] = l->homes;
		r = lint_exists(l, PRODUCT_PATHS, &(struct lint_globs){ in, g->n + 1 }, NULL, 0);
	}
	if (r < 0 && r != -E2BIG)
		return r;
	*ret = everything ? LINT_EVERYTHING : r == 1 ? LINT_HOME : LINT_NARROW;
	return 0;
}
