/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and hosts of other formats, as patterns. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "cli/import/internal.h"
#include "host/links.h"
#include "policy/match/glob.h"

/* What a path may start with. `means`: the pattern's own variable; `host`: where that is, now. */
static const struct {
	const char *word, *means, *variable;
} place_roots[] = {
	{ "~", "$HOME", "HOME" },
	{ "$HOME", "$HOME", "HOME" },
	{ "${HOME}", "$HOME", "HOME" },
	{ "$WORKDIR", "$WORK_DIR", NULL },
	{ "$PWD", "$WORK_DIR", NULL },
	{ "$XDG_CONFIG_HOME", "$HOME/.config", "HOME" },
	{ "$XDG_DATA_HOME", "$HOME/.local/share", "HOME" },
	{ "$XDG_STATE_HOME", "$HOME/.local/state", "HOME" },
	{ "$XDG_CACHE_HOME", "$HOME/.cache", "HOME" },
	{ ".", "$WORK_DIR", NULL },
};

/* Splits a path into the pattern's root and the rest, which starts with a slash or is empty. */
static const char *place_split(const char *path, const char **rest)
{
	for (size_t i = 0; i < sizeof(place_roots) / sizeof(place_roots[0]); i++) {
		size_t n = strlen(place_roots[i].word);

		if (strncmp(path, place_roots[i].word, n) == 0 && (!path[n] || path[n] == '/')) {
			*rest = path + n;
			return place_roots[i].means;
		}
	}
	*rest = path;
	return *path == '/' ? "" : "$WORK_DIR/";
}

/* Where the pattern's root is on this machine. */
static void place_add_host(struct buffer *out, const char *root)
{
	const char *home = getenv("HOME");

	if (strncmp(root, "$HOME", 5) == 0) {
		buffer_adds(out, home ? home : "/nonexistent");
		buffer_adds(out, root + 5);
	} else {
		buffer_adds(out, strncmp(root, "$WORK_DIR", 9) == 0 ? "." : root);
	}
	if (root[0] && root[strlen(root) - 1] == '/')
		buffer_addc(out, '/');
}

static bool place_has_parents(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at += 2) {
		if ((at == path || at[-1] == '/') && (!at[2] || at[2] == '/'))
			return true;
	}
	return false;
}

/* Without what is added again: slashes at the end, and all that is below. */
static size_t place_length(const char *rest, bool is_literal)
{
	size_t n = strlen(rest);

	if (!is_literal && n >= 3 && strcmp(rest + n - 3, "/**") == 0)
		n -= 3;
	while (n > 0 && rest[n - 1] == '/')
		n--;
	return n;
}

/* A pattern, and what is there now. */
struct import_place {
	const char *pattern;
	const char *host; /* where that is now */
	bool is_file, exists, is_pattern;
};

/* "/a//b/./c" as "/a/b/c", and "a/." as "a": what is left out does not change what is meant. False:
 * it is too long. */
static bool place_normalize(const char *rest, char out[PATH_BYTES])
{
	const bool is_relative = *rest && *rest != '/';
	auto_buffer text = { 0 };
	size_t n = 0;

	buffer_printf(&text, "/%s", rest);
	if (text.failed || path_normalize(text.data, text.len, out, &n) < 0)
		return false;
	memmove(out, out + (is_relative || n == 1), n + 1 - (is_relative || n == 1));
	return true;
}

static bool place_make(struct importing *im, const char *path, bool is_literal,
	const struct node *from, struct import_place *ret)
{
	auto_buffer pattern = { 0 }, host = { 0 };
	const char *rest, *root = place_split(path, &rest);
	char normal[PATH_BYTES];
	struct stat st = { 0 };
	size_t n;

	if (!*path || place_has_parents(path) || strchr(rest, '$')) {
		import_note(im, from, "`%s`: %s", path,
			!*path              ? "an empty path"
			: strchr(rest, '$') ? "Corral does not have this variable"
					    : "a path with `..` is not taken over");
		return false;
	}
	if (!place_normalize(rest, normal)) {
		import_note(im, from, "a path is too long");
		return false;
	}
	rest = normal;
	n = place_length(rest, is_literal);
	ret->is_pattern = !is_literal && strcspn(rest, "*?[{") < n;
	place_add_host(&host, root);
	buffer_add(&host, rest, n);
	ret->exists = !ret->is_pattern && lstat(buffer_text(&host), &st) == 0;
	ret->is_file = ret->exists && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode);
	buffer_adds(&pattern, root);
	for (size_t i = 0; i < n; i++) {
		if (strchr("\\*?[]{},", rest[i]) && is_literal)
			buffer_addc(&pattern, '\\');
		buffer_addc(&pattern, rest[i]);
	}
	if (!ret->is_file)
		buffer_adds(&pattern, "/**");
	ret->pattern = arena_strdup(im->call->arena, buffer_text(&pattern));
	ret->host = arena_strdup(im->call->arena, buffer_text(&host));
	im->no_memory |= !ret->pattern || !ret->host || pattern.failed || host.failed;
	return !im->no_memory;
}

/* A folder for temporary files as a whole. */
static bool place_is_temporary(const char *pattern)
{
	return strcmp(pattern, "/tmp/**") == 0 || strcmp(pattern, "/var/tmp/**") == 0 ||
	       strcmp(pattern, "/private/tmp/**") == 0;
}

/*
 * Whole folders are told by what is granted and not by how it is spelt: a name that no file has,
 * in a folder that is in it.
 */
static bool place_has_all_of(struct importing *im, const char *pattern, const char *folder)
{
	auto_buffer text = { 0 }, canary = { 0 };
	struct error none = { 0 };
	struct glob g = { 0 };

	if (strncmp(pattern, "$HOME", 5) == 0) {
		const char *home = getenv("HOME");

		glob_print_literal(home ? home : "", home ? strlen(home) : 0, &text);
		pattern += 5;
	}
	buffer_adds(&text, pattern);
	buffer_printf(&canary, "%s/\x01corral\x01/\x01", folder[1] ? folder : "");
	im->no_memory |= text.failed || canary.failed;
	return !im->no_memory &&
	       glob_parse(&g, im->call->arena, buffer_text(&text), NULL, &none) == 0 &&
	       glob_match(&g, canary.data, canary.len);
}

/* By a link, too. */
static bool place_leads_above(const struct import_place *p, const char *home)
{
	char real[PATH_BYTES];

	return !p->is_pattern && !p->is_file && p->host &&
	       links_follow(p->host, NULL, NULL, real) == 0 && path_is_below(home, real);
}

/* "the whole machine", "your whole home"; NULL: it is less. */
static const char *place_whole(struct importing *im, const struct import_place *p)
{
	const char *home = getenv("HOME");
	char named[PATH_BYTES], real[PATH_BYTES];
	size_t n;

	/* Where that is, is known when a command runs. */
	if (strncmp(p->pattern, "$WORK_DIR", strlen("$WORK_DIR")) == 0)
		return NULL;
	if (place_has_all_of(im, p->pattern, "/"))
		return "the whole machine";
	if (!home || path_normalize(home, strlen(home), named, &n) < 0 ||
		links_follow(named, NULL, NULL, real) < 0)
		return NULL;
	return place_has_all_of(im, p->pattern, named) || place_has_all_of(im, p->pattern, real) ||
			       place_leads_above(p, real)
		       ? "your whole home"
		       : NULL;
}

void import_path(struct importing *im, enum permission_list list, const char *path, bool is_literal,
	const struct node *from)
{
	struct import_place p = { 0 };
	const char *pattern = place_make(im, path, is_literal, from, &p) ? p.pattern : NULL;
	const char *whole = pattern ? place_whole(im, &p) : NULL;

	if (pattern && place_is_temporary(pattern))
		import_note(im, from,
			"`%s`: the sandbox has a %s of its own, which goes with it; not the host's",
			path, strncmp(pattern, "/var", 4) == 0 ? "/var/tmp" : "/tmp");
	else if (whole)
		import_note(im, from,
			"`%s` is %s, and is not granted as a whole: name the folders that are "
			"needed",
			path, whole);
	else if (pattern)
		import_grant(im, list, pattern, from);
}

void import_choose_profile(struct importing *im)
{
	im->to->extends = "readonly";
	for (size_t i = 0; i < im->to->fs_write.n; i++) {
		if (strcmp(im->to->fs_write.items[i].all[0], "$WORK_DIR/**") == 0)
			im->to->extends = "workspace";
	}
}

/* A pattern with its variables replaced, so that two spellings of one place are the same. */
static void place_expand(const char *pattern, struct buffer *out)
{
	static const struct {
		const char *variable;
		bool is_home;
	} rows[] = { { "$HOME/", true }, { "$WORK_DIR/", false } };

	for (size_t i = 0; i < ROWS(rows); i++) {
		const size_t n = strlen(rows[i].variable);
		char here[PATH_MAX];
		const char *root = rows[i].is_home ? getenv("HOME") : getcwd(here, sizeof(here));

		if (root && strncmp(pattern, rows[i].variable, n) == 0) {
			buffer_printf(out, "%s/%s", root, pattern + n);
			return;
		}
	}
	buffer_adds(out, pattern);
}

/* Whether a path lies below what a command may write: the project, or a grant of the file. */
static bool place_is_writable(struct importing *im, const char *pattern)
{
	auto_buffer path = { 0 };
	bool is_below = false;

	place_expand(pattern, &path);
	for (size_t i = 0; !is_below && i < im->to->fs_write.n; i++) {
		auto_buffer grant = { 0 };
		const char *text;

		place_expand(im->to->fs_write.items[i].all[0], &grant);
		im->no_memory |= grant.failed || path.failed;
		text = buffer_text(&grant);
		is_below = strcmp(text, buffer_text(&path)) == 0 ||
			   (grant.len > 3 && strcmp(text + grant.len - 3, "/**") == 0 &&
				   strncmp(buffer_text(&path), text, grant.len - 2) == 0);
	}
	return is_below;
}

static bool place_is_denied(const struct importing *im, const char *pattern)
{
	for (size_t i = 0; i < im->to->fs_deny.n; i++) {
		if (strcmp(im->to->fs_deny.items[i].all[0], pattern) == 0)
			return true;
	}
	return false;
}

static void place_deny(struct importing *im, enum operation op, const char *path, bool is_literal,
	const struct node *from)
{
	struct import_place p = { 0 };

	if (!place_make(im, path, is_literal, from, &p))
		return;
	if (!p.exists && place_is_writable(im, p.pattern))
		import_note(im, from,
			"`%s` is not denied: commands may write its folder, and there only what "
			"exists can be denied%s",
			path, p.is_pattern ? "; name the files" : "");
	else if (op == OPERATION_FS_READ)
		import_grant(im, LIST_FS_DENY, p.pattern, from);
	else if (place_is_writable(im, p.pattern) && !place_is_denied(im, p.pattern))
		import_rule(im, VERDICT_DENY, OPERATION_FS_WRITE, p.pattern, from);
	/* Elsewhere nothing can be written anyway. */
}

void import_deny_path(struct importing *im, enum operation op, const char *path, bool is_literal,
	const struct node *from)
{
	im->denying++;
	place_deny(im, op, path, is_literal, from);
	im->denying--;
}

void import_host(struct importing *im, enum permission_list list, const struct node *from)
{
	const char *host = from->text;

	const unsigned denies = list == LIST_NETWORK_DENY;

	if (denies && strcmp(host, "*") == 0)
		host = "*:*";
	im->denying += denies;
	if (list == LIST_NETWORK_ALLOW && strcmp(host, "*") == 0)
		import_note(im, from,
			"all hosts are not granted: name those that are needed, or add "
			"network: {allow: [\"*:443\"]}");
	else
		import_grant(im, list, host, from);
	im->denying -= denies;
}
