/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stored/stored.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/output.h"
#include "cli/profile/profile.h"
#include "cli/stored/internal.h"
#include "host/links.h"
#include "daemon/config.h"

static const char stored_system_state[] = "/var/lib/corral";
static const char *const stored_endings[] = { ".yaml", ".yml", ".json" };

int stored_open_place(struct call *c, bool is_system, struct stored_place *ret)
{
	const char *config = is_system ? PROFILE_SYSTEM_FOLDER : profile_config_folder(c);
	const char *state = is_system ? stored_system_state : profile_state_folder(c);

	*ret = (struct stored_place){ .is_system = is_system };
	if (!config || !state)
		return 0;
	ret->config = config;
	ret->folder = arena_printf(c->arena, "%s/policy.d", config);
	ret->history = arena_printf(c->arena, "%s/policies", state);
	return ret->folder && ret->history ? history_check_version(ret->history, c->error)
					   : error_no_memory(c->error);
}

/* Names */

/* Letters, digits, and "._-" but not first: it is a part of file names and of URLs. */
static bool stored_is_name(const char *name, size_t len)
{
	return len > 0 && len <= STORED_NAME_MAX && !strchr("._-", name[0]) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") >=
		       len;
}

static const char stored_custom[] = "custom/";

static bool stored_is_custom(const char *name)
{
	return strncmp(name, stored_custom, strlen(stored_custom)) == 0;
}

/* ENTRY is the path below policy.d: "custom/x.json". */
static int stored_fill(
	struct call *c, const struct stored_place *p, const char *entry, struct stored_file *ret)
{
	const char *base = stored_is_custom(entry) ? entry + strlen(stored_custom) : entry;
	const char *dot = strrchr(base, '.');
	const bool is_custom = base != entry, is_default = strcmp(entry, "default.json") == 0;

	*ret = (struct stored_file){ .is_rules = is_custom || is_default };
	ret->path = arena_printf(c->arena, "%s/%s", p->folder, entry);
	ret->name = arena_strndup(c->arena, entry, dot ? (size_t)(dot - entry) : strlen(entry));
	if (dot && stored_is_name(base, (size_t)(dot - base))) {
		ret->past = arena_printf(
			c->arena, "%s/%s%s", p->history, is_custom ? "custom+" : "", base);
		if (!ret->past)
			return error_no_memory(c->error);
	}
	return ret->path && ret->name ? 0 : error_no_memory(c->error);
}

static bool stored_is_policy(const char *file)
{
	const char *dot = strrchr(file, '.');

	if (!dot || file[0] == '.')
		return false;
	for (size_t i = 0; i < ROWS(stored_endings); i++)
		if (strcmp(dot, stored_endings[i]) == 0)
			return true;
	return false;
}

/* Of custom/. */
static bool stored_is_custom_policy(const char *file)
{
	return stored_is_policy(file) && strcmp(strrchr(file, '.'), ".json") == 0;
}

void stored_close_dir(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

/* A folder of policies: below is "" or "custom/". */
struct stored_listing {
	const char *below;
	bool (*takes)(const char *file);
	struct stored_files *taken, *ignored; /* ignored: may be NULL */
};

/* Where a file of the folder belongs; NULL: it is none of them. */
static struct stored_files *stored_sort_out(const struct stored_listing *l, const char *file)
{
	if (l->takes(file))
		return l->taken;
	if (stored_is_near(file, stored_endings, ROWS(stored_endings)))
		return l->ignored;
	/* The folder of rules, in another spelling. */
	return !*l->below && strcasecmp(file, "custom") == 0 && strcmp(file, "custom") != 0
		       ? l->ignored
		       : NULL;
}

static int stored_list_folder(
	struct call *c, const struct stored_place *p, const struct stored_listing *l)
{
	const char *path = arena_printf(c->arena, "%s%s", p->folder, *l->below ? "/custom" : "");
	__attribute__((cleanup(stored_close_dir))) DIR *dir = NULL;
	struct location where = { .file = path };
	const struct dirent *d;
	int r = path ? stored_open_folder(path, &dir, c->error) : error_no_memory(c->error);

	while (r == 0 && dir && (errno = 0, d = readdir(dir))) {
		struct stored_files *to = stored_sort_out(l, d->d_name);
		const char *entry = arena_printf(c->arena, "%s%s", l->below, d->d_name);
		struct stored_file f = { 0 };

		if (!to)
			continue;
		r = entry ? stored_fill(c, p, entry, &f) : error_no_memory(c->error);
		if (r == 0 && to->n == STORED_FILES_MAX)
			r = error_set(c->error, -E2BIG, &where, "contains too many files");
		if (r == 0 && ARENA_PUSH(c->arena, to->items, to->n, to->cap, f) < 0)
			r = error_no_memory(c->error);
	}
	if (r == 0 && dir && errno)
		r = error_set(c->error, -errno, &where, "cannot be read: %s", strerror(errno));
	return r;
}

/* default.json, then custom/…, then the others; by name. */
static int stored_compare(const void *a, const void *b)
{
	const struct stored_file *x = a, *y = b;
	const bool is_x = strcmp(x->name, "default") == 0 && x->is_rules;
	const bool is_y = strcmp(y->name, "default") == 0 && y->is_rules;

	if (is_x != is_y)
		return is_x ? -1 : 1;
	if (x->is_rules != y->is_rules)
		return x->is_rules ? -1 : 1;
	return strcmp(x->path, y->path);
}

static void stored_sort(struct stored_files *f)
{
	if (f->n)
		qsort(f->items, f->n, sizeof(f->items[0]), stored_compare);
}

/* What is read, and what looks like it. */
static int stored_list_both(struct call *c, const struct stored_place *p,
	struct stored_files *taken, struct stored_files *ignored)
{
	const struct stored_listing all = { "", stored_is_policy, taken, ignored };
	const struct stored_listing custom = { stored_custom, stored_is_custom_policy, taken,
		ignored };
	int r = p->folder ? stored_list_folder(c, p, &all) : 0;

	if (r == 0 && p->folder)
		r = stored_list_folder(c, p, &custom);
	stored_sort(taken);
	if (ignored)
		stored_sort(ignored);
	return r;
}

int stored_list(struct call *c, const struct stored_place *p, struct stored_files *ret)
{
	*ret = (struct stored_files){ 0 };
	return stored_list_both(c, p, ret, NULL);
}

int stored_list_ignored(struct call *c, const struct stored_place *p, struct stored_files *ret)
{
	struct stored_files taken = { 0 };
	struct stored_found found;
	int r = stored_look_place(c, p, &found);

	*ret = found.misnamed;
	stored_sort(ret);
	return r < 0 ? r : stored_list_both(c, p, &taken, ret);
}

static int stored_is_there(struct call *c, const struct stored_place *p, const char *name,
	const char *ending, struct stored_file *ret)
{
	const char *entry = arena_printf(c->arena, "%s%s", name, ending);
	struct stat st;
	int r = entry ? stored_fill(c, p, entry, ret) : error_no_memory(c->error);

	if (r < 0 || !ret->path)
		return r;
	return lstat(ret->path, &st) == 0 ? 0 : 1;
}

static bool stored_is_full_name(const char *name)
{
	const char *base = stored_is_custom(name) ? name + strlen(stored_custom) : name;

	return stored_is_name(base, strlen(base));
}

int stored_find(
	struct call *c, const struct stored_place *p, const char *name, struct stored_file *ret)
{
	const char *custom = arena_printf(c->arena, "%s%s", stored_custom, name);
	int r = 1;

	*ret = (struct stored_file){ 0 };
	if (!p->folder || !stored_is_full_name(name))
		return 1;
	if (!custom)
		return error_no_memory(c->error);
	if (stored_is_custom(name) || strcmp(name, "default") == 0)
		return stored_is_there(c, p, name, ".json", ret);
	for (size_t i = 0; r == 1 && i < ROWS(stored_endings); i++)
		r = stored_is_there(c, p, name, stored_endings[i], ret);
	return r == 1 ? stored_is_there(c, p, custom, ".json", ret) : r;
}

/* The name of a folder of the history is that of a file, "custom+x.json" for custom/x.json. */
static int stored_fill_past(
	struct call *c, const struct stored_place *p, const char *folder, struct stored_file *ret)
{
	static const char prefix[] = "custom+";
	const bool is_custom = strncmp(folder, prefix, strlen(prefix)) == 0;
	const char *entry = arena_printf(c->arena, "%s%s", is_custom ? stored_custom : "",
		folder + (is_custom ? strlen(prefix) : 0));

	return entry ? stored_fill(c, p, entry, ret) : error_no_memory(c->error);
}

int stored_list_past(struct call *c, const struct stored_place *p, struct stored_files *ret)
{
	__attribute__((cleanup(stored_close_dir))) DIR *dir =
		p->history ? opendir(p->history) : NULL;
	const struct dirent *d;

	*ret = (struct stored_files){ 0 };
	while (dir && ret->n < STORED_FILES_MAX && (d = readdir(dir))) {
		struct stored_file f = { 0 };
		int r;

		if (!stored_is_policy(d->d_name))
			continue;
		r = stored_fill_past(c, p, d->d_name, &f);
		if (r == 0 && f.past && ARENA_PUSH(c->arena, ret->items, ret->n, ret->cap, f) < 0)
			r = error_no_memory(c->error);
		if (r < 0)
			return r;
	}
	return 0;
}

int stored_find_past(struct call *c, const struct stored_place *p, const char *name,
	struct stored_file *ret, struct history *h)
{
	const char *custom = arena_printf(c->arena, "%s%s", stored_custom, name);
	struct stored_files past;
	int r = stored_find(c, p, name, ret);

	if (r == 0 && !ret->past)
		return 1;
	if (r == 1 && custom && stored_is_full_name(name)) {
		r = stored_list_past(c, p, &past);
		if (r < 0)
			return r;
		r = 1;
		for (size_t i = 0; i < past.n; i++) {
			if (strcmp(past.items[i].name, name) != 0 &&
				(r == 0 || strcmp(past.items[i].name, custom) != 0))
				continue;
			*ret = past.items[i];
			r = 0;
		}
	}
	if (r != 0)
		return r;
	r = history_open(h, ret->past);
	return r < 0 ? error_set(c->error, r, NULL, "cannot read the history of %s: %s", ret->path,
			       strerror(-r))
		     : 0;
}

int stored_name_new(struct call *c, const struct stored_place *p, const char *name, bool is_json,
	struct stored_file *ret)
{
	const bool is_rules = stored_is_custom(name) || strcmp(name, "default") == 0;
	const char *entry;

	if (!stored_is_full_name(name)) {
		(void)error_set(c->error, -EINVAL, NULL, "`%.80s` is not a name of a policy", name);
		error_hint(c->error,
			"use up to %d letters, digits, dots, dashes and underscores; custom/NAME "
			"for a file of rules",
			STORED_NAME_MAX);
		return -EINVAL;
	}
	if (!p->folder)
		return error_set(
			c->error, -ENOENT, NULL, "policies have no place: HOME is not set");
	entry = is_rules  ? arena_printf(c->arena, "%s.json", name)
		: is_json ? arena_printf(c->arena, "%s%s.json", stored_custom, name)
			  : arena_printf(c->arena, "%s.yaml", name);
	return entry ? stored_fill(c, p, entry, ret) : error_no_memory(c->error);
}

/* Texts */

int stored_read(const struct stored_file *f, bool follows, struct buffer *ret, struct stat *st,
	struct error *e)
{
	struct location where = { .file = f->path };
	/* Not held up by a FIFO. */
	auto_fd fd = open(
		f->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | (follows ? 0 : O_NOFOLLOW));
	int r = fd < 0 || fstat(fd, st) < 0 ? -errno : 0;

	if (r == -ELOOP && !follows) {
		(void)error_set(e, r, &where, "is a symbolic link, which is not followed here");
		error_hint(e, "edit the file that it leads to, or put that file here");
		return r;
	}
	if (r == 0 && !S_ISREG(st->st_mode)) {
		(void)error_set(e, -EINVAL, &where, "is not a regular file");
		error_hint(e, "a policy of this name binds every run: replace it, or remove it");
		return -EINVAL;
	}
	if (r == 0)
		r = file_read_fd(fd, STORED_BYTES_MAX, ret);
	if (r == -EFBIG)
		return error_set(e, r, &where, "is larger than %d MiB, the maximum here",
			STORED_BYTES_MAX >> 20);
	if (r < 0) {
		(void)error_set(e, r, &where, "cannot be read: %s", strerror(-r));
		error_hint(e, "a policy of this name binds every run: mend it, or remove it");
	}
	return r;
}

void stored_etag(const char *text, size_t len, char out[STORED_ETAG])
{
	(void)snprintf(
		out, STORED_ETAG, "%016" PRIx64 "-%zx", hash_bytes(HASH_START, text, len), len);
}

static size_t stored_count(const struct permissions *p)
{
	size_t n = p->n_rules + p->n_services + p->n_guest_paths;

	for (enum permission_list i = 0; i < LIST_COUNT; i++)
		n += permissions_list(p, i)->n;
	for (size_t i = 0; i < p->n_all_of; i++)
		n += stored_count(p->all_of[i]);
	return n;
}

static enum manifest_kind stored_kind(const struct stored_file *f)
{
	return f->is_rules ? MANIFEST_RULES : MANIFEST_UNKNOWN;
}

int stored_check(struct call *c, const struct stored_file *f, const struct buffer *text,
	size_t *ret_rules, const char **ret_format, struct error *e)
{
	struct call quiet = *c;
	auto_load l = { 0 };
	struct policy *policy = NULL;
	int r;

	quiet.error = e;
	r = load_begin(&l, &quiet);
	/* Whether it is good does not depend on the current folder: the daemon is in a home. */
	l.is_anywhere = true;
	if (r == 0)
		r = load_add_text(&l, &quiet, f->path, stored_kind(f), text);
	if (r == 0)
		r = load_compile(&l, &quiet, &policy);
	policy_free(policy);
	if (r < 0)
		return r;
	if (ret_rules)
		*ret_rules = stored_count(l.files[0].permissions);
	if (ret_format)
		*ret_format = manifest_kind_name(l.files[0].kind);
	return 0;
}

bool stored_stops_all(struct call *c, const struct stored_file *f, const struct buffer *text)
{
	struct error none = { 0 };
	struct call quiet = *c;
	struct policy *policy = NULL;
	char shell[PATH_BYTES];
	auto_load l = { .is_anywhere = true };
	bool stops = false;

	quiet.error = &none;
	if (load_begin(&l, &quiet) == 0 &&
		load_add_text(&l, &quiet, f->path, stored_kind(f), text) == 0 &&
		load_compile(&l, &quiet, &policy) == 0 &&
		links_follow("/bin/sh", NULL, NULL, shell) == 0)
		stops = !policy_allows(
			policy, &(struct request){ .op = OPERATION_FS_READ, .target = shell });
	policy_free(policy);
	return stops;
}

/* In force */

/* A person hears why a run is not about what the file says now. */
static void stored_tell_instead(const struct stored_file *f, uint32_t version)
{
	auto_output o = output_for(STDERR_FILENO);
	struct location where = { .file = f->path };
	char text[160];

	(void)snprintf(text, sizeof(text),
		"the file is broken; version %" PRIu32
		" of it, the last good one, is in force; see `corral policy list`",
		version);
	output_note_at(&o, &where, text);
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* What is in force of a file: its text, or its last good version. */
static int stored_read_in_force(struct call *c, const struct stored_file *f, struct buffer *ret)
{
	struct stat st = { 0 };
	struct error why = { 0 };
	struct history h;
	int r = stored_read(f, true, ret, &st, &why);
	/* What is no regular file has a version as well, if it was seen to be broken. */
	const uint32_t instead = f->past ? history_instead(f->past, &st) : 0;

	/* A file that can be used is used, whatever was noted of it. */
	if (instead && (r < 0 || stored_check(c, f, ret, NULL, NULL, &why) < 0)) {
		buffer_clear(ret);
		if (history_open(&h, f->past) == 0 &&
			history_read(&h, f->past, instead, ret) == 0) {
			stored_tell_instead(f, instead);
			return 0;
		}
		buffer_clear(ret);
		return stored_read(f, true, ret, &st, c->error);
	}
	if (r < 0)
		*c->error = why;
	return r;
}

/* A configuration that cannot be read makes nothing wider: then it is enforce. */
bool stored_read_mode(const struct stored_place *p, enum mode *ret)
{
	static const enum mode modes[] = {
		[CONFIG_ENFORCE] = MODE_ENFORCE,
		[CONFIG_AUDIT] = MODE_AUDIT,
		[CONFIG_MONITOR] = MODE_MONITOR,
	};
	struct config config = config_default();
	struct error e = { 0 };

	*ret = MODE_ENFORCE;
	if (!p->config)
		return false;
	if (config_find(&config, p->config, &e) < 0)
		return true;
	*ret = modes[config.mode];
	return config.has_mode;
}

static void stored_set_mode(struct permissions *p, enum mode mode)
{
	p->mode = mode;
	for (size_t i = 0; i < p->n_all_of; i++)
		stored_set_mode(p->all_of[i], mode);
}

/* What does not bind is reported once for each run: files are enforced by the kernel. */
static void stored_tell_mode(const struct stored_place *p, enum mode mode)
{
	auto_output o = output_for(STDERR_FILENO);
	struct location where = { .file = p->folder };
	char text[200];

	(void)snprintf(text, sizeof(text),
		"mode %s: %s; the log has what would be denied of hosts and of the program, "
		"not of files",
		mode == MODE_AUDIT ? "audit" : "monitor",
		mode == MODE_AUDIT ? "what these policies do not grant passes"
				   : "what these policies deny passes");
	output_note_at(&o, &where, text);
	(void)output_write(&o, STDERR_FILENO, NULL);
}

int stored_load_one(struct load *to, struct call *c, const struct stored_file *f)
{
	auto_buffer text = { 0 };
	int r = stored_read_in_force(c, f, &text);

	return r < 0 ? r : load_add_text(to, c, f->path, stored_kind(f), &text);
}

/* Either may be a link to a folder that commands could write otherwise. */
static int stored_note_folders(struct load *to, struct call *c, const struct stored_place *p)
{
	const char *custom = arena_printf(c->arena, "%s/%s", p->folder, stored_custom);
	int r;

	if (!custom)
		return error_no_memory(c->error);
	r = load_note_folder(to, c, p->folder);
	return r < 0 || access(custom, F_OK) < 0 ? r : load_note_folder(to, c, custom);
}

static int stored_load_files(struct load *to, struct call *c, const struct stored_files *all)
{
	bool has_rules = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < all->n; i++) {
		const struct stored_file *f = &all->items[i];
		auto_buffer text = { 0 };

		r = stored_read_in_force(c, f, &text);
		if (r == 0)
			r = f->is_rules && has_rules
				    ? load_join_text(to, c, f->path, &text)
				    : load_add_text(to, c, f->path, stored_kind(f), &text);
		has_rules = has_rules || f->is_rules;
	}
	return r;
}

/* policy.d */
static int stored_load_folder(struct load *to, struct call *c, const struct stored_place *p)
{
	struct stored_files all = { 0 }, ignored = { 0 };
	const size_t first = to->n;
	enum mode mode;
	int r = stored_list_both(c, p, &all, &ignored);

	if (r == 0)
		r = stored_refuse_ignored(c, p, &ignored);
	if (r == 0)
		r = stored_note_folders(to, c, p);
	if (r == 0)
		r = stored_load_files(to, c, &all);
	if (r < 0 || to->n == first || !stored_read_mode(p, &mode))
		return r;
	for (size_t i = first; i < to->n; i++)
		stored_set_mode(to->files[i].permissions, mode);
	if (mode != MODE_ENFORCE)
		stored_tell_mode(p, mode);
	return 0;
}

int stored_load(struct load *to, struct call *c, const struct stored_place *p)
{
	struct stored_file policy = { 0 };
	struct stored_found found;
	int r = stored_look_place(c, p, &found);

	/* Most users have none, and hear nothing of it. */
	if (r == 0)
		r = stored_refuse_ignored(c, p, &found.misnamed);
	if (r == 0 && found.has_policy) {
		auto_buffer text = { 0 };
		struct stat st = { 0 };

		policy.path = arena_printf(c->arena, "%s/policy.yaml", p->config);
		r = policy.path ? stored_read(&policy, true, &text, &st, c->error)
				: error_no_memory(c->error);
		if (r == 0)
			r = load_add_text(to, c, policy.path, MANIFEST_UNKNOWN, &text);
	}
	return r == 0 && found.has_folder ? stored_load_folder(to, c, p) : r;
}

int stored_load_named(struct load *to, struct call *c, const struct stored_named *n)
{
	struct stored_place p;
	int r = n->names.n ? stored_open_place(c, n->is_system, &p) : 0;

	for (size_t i = 0; r == 0 && i < n->names.n; i++) {
		struct stored_file f = { 0 };

		r = stored_find(c, &p, n->names.items[i], &f);
		if (r == 0 && f.path) {
			r = stored_load_one(to, c, &f);
			continue;
		}
		if (r < 0)
			return r;
		r = error_set(c->error, -ENOENT, NULL, "there is no stored policy `%.80s`",
			n->names.items[i]);
		error_hint(c->error, "`corral policy list` shows those that there are");
	}
	return r;
}
