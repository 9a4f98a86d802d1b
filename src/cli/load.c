/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/suggest.h"
#include "cli/output.h"
#include "codec/node.h"
#include "host/account.h"
#include "host/policy-cache.h"
#include "host/resolver.h"
#include "host/system-links.h"
#include "launch/skill.h"
#include "launch/source.h"

/* Variables */

int load_absolute(struct call *c, const char *path, const char **ret)
{
	auto_buffer text = { 0 };
	char cwd[PATH_BYTES], normal[PATH_BYTES];
	size_t len;
	int r;

	if (path[0] != '/') {
		if (!getcwd(cwd, sizeof(cwd)))
			return error_set(c->error, -ENOENT, NULL,
				"cannot determine the current folder: %s", strerror(errno));
		buffer_printf(&text, "%s/", cwd);
	}
	buffer_adds(&text, path);
	r = text.failed ? -ENOMEM : path_normalize(text.data, text.len, normal, &len);
	if (r == -ENOMEM)
		return error_no_memory(c->error);
	if (r < 0)
		return error_set(c->error, r, NULL, "the path is too long: %s", path);
	*ret = arena_strdup(c->arena, normal);
	return *ret ? 0 : error_no_memory(c->error);
}

static int unknown_variable(struct call *c, const char *text, size_t len)
{
	const char *names[VARIABLE_COUNT], *near;
	char *name = arena_strndup(c->arena, text, len);

	for (int v = 0; v < VARIABLE_COUNT; v++)
		names[v] = variable_name((enum variable)v);
	near = name ? suggest(name, names, VARIABLE_COUNT) : NULL;
	(void)options_misused(c, "--set: unknown variable `%s`", name ? name : "");
	if (near)
		error_hint(c->error, "did you mean --set %s=DIR?", near);
	else
		error_hint(c->error,
			"valid names: SKILL_DIR, WORK_DIR, DATA_DIR, SHARED_DIR, HOME, TEMP");
	return -EINVAL;
}

const char *const load_variables[] = {
	"SKILL_DIR=", "WORK_DIR=", "DATA_DIR=", "SHARED_DIR=", "HOME=", "TEMP=", NULL
};

int load_set(struct call *c, const struct options_row *row, const char *value)
{
	struct load *l = row->target;
	size_t len = strcspn(value, "=");
	enum variable v;

	if (value[len] != '=' || value[len + 1] == '\0')
		return options_misused(c,
			"invalid value for --set: expected NAME=DIR, such as --set "
			"WORK_DIR=/srv/work");
	if (variable_parse(value, len, &v) < 0)
		return unknown_variable(c, value, len);
	if (l->is_set[v])
		return options_misused(c, "--set %s was given more than once", variable_name(v));
	l->is_set[v] = true;
	return load_absolute(c, value + len + 1, &l->variables.values[v]);
}

int load_kind(struct call *c, const struct options_row *row, const char *value)
{
	const char *names[MANIFEST_ENCLAVE];

	if (manifest_kind_parse(value, row->target) == 0)
		return 0;
	for (int kind = MANIFEST_PERMISSIONS; kind <= MANIFEST_ENCLAVE; kind++)
		names[kind - 1] = manifest_kind_name((enum manifest_kind)kind);
	return options_unknown_word(c, row, value, names, MANIFEST_ENCLAVE);
}

/* A folder that the environment names; one that is not absolute does not count, as XDG has it. */
static const char *folder_from(const char *variable)
{
	const char *value = getenv(variable);

	return value && value[0] == '/' ? value : NULL;
}

/* Sets a variable to FOLDER/BELOW, unless --set did or there is no folder. */
static int set_default(
	struct load *l, struct call *c, enum variable v, const char *folder, const char *below)
{
	const char *path;

	if (l->is_set[v] || !folder)
		return 0;
	path = arena_printf(c->arena, "%s/%s", folder, below);
	return path ? load_absolute(c, path, &l->variables.values[v]) : error_no_memory(c->error);
}

int load_begin(struct load *l, struct call *c)
{
	const char *home = folder_from("HOME"), *temp = folder_from("TMPDIR");
	const char *data = folder_from("XDG_DATA_HOME");
	int r = home ? 0 : account_home("/etc/passwd", getuid(), c->arena, &home);

	if (r == -ENOMEM)
		return error_no_memory(c->error);
	r = set_default(l, c, VARIABLE_HOME, home, "");

	home = l->variables.values[VARIABLE_HOME];
	if (!data && home) {
		data = arena_printf(c->arena, "%s/.local/share", home);
		if (!data)
			return error_no_memory(c->error);
	}
	if (r == 0 && !l->is_set[VARIABLE_WORK_DIR])
		r = load_absolute(c, ".", &l->variables.values[VARIABLE_WORK_DIR]);
	if (r == 0)
		r = set_default(l, c, VARIABLE_TEMP, temp ? temp : "/tmp", "");
	if (r == 0)
		r = set_default(l, c, VARIABLE_DATA_DIR, data, "corral/data");
	if (r == 0)
		r = set_default(l, c, VARIABLE_SHARED_DIR, data, "corral/shared");
	return r;
}

/* Folders */

/* What a folder holds that is a policy: AgenShield's rules, or a skill with its manifest. */
struct folder {
	bool is_rules;
	/* Rules: default.json, then custom/….json by name. A skill: its manifest. Never empty. */
	const char **files;
	size_t n, cap;
	const char *describes; /* SKILL.md beside the manifest that grants; NULL: none */
};

/* Files of rules, at most: a folder full of them would only cost time. */
enum { FILES_MAX = 1000 };

static const char *folder_below(struct call *c, const char *path, const char *name)
{
	const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";

	return arena_printf(c->arena, "%s%s%s", path, slash, name);
}

static int folder_add(struct folder *f, struct call *c, const char *file)
{
	if (!file || ARENA_PUSH(c->arena, f->files, f->n, f->cap, file) < 0)
		return error_no_memory(c->error);
	return 0;
}

static int add_if_present(struct folder *f, struct call *c, const char *path, const char *name)
{
	const char *file = folder_below(c, path, name);

	return file && access(file, F_OK) < 0 ? 0 : folder_add(f, c, file);
}

static void close_dir(DIR **d)
{
	if (*d)
		(void)closedir(*d);
}

/* custom/….json, sorted. The folder may be missing, but what is there must be readable. */
static int add_custom(struct folder *f, struct call *c, const char *path)
{
	const char *custom = folder_below(c, path, "custom");
	__attribute__((cleanup(close_dir))) DIR *dir = custom ? opendir(custom) : NULL;
	struct location where = { .file = custom };
	const struct dirent *d;
	int r = 0;

	if (!custom)
		return error_no_memory(c->error);
	if (!dir && errno == ENOENT)
		return 0;
	while (r == 0 && dir && (errno = 0, d = readdir(dir))) {
		size_t len = strlen(d->d_name);

		if (len > 5 && d->d_name[0] != '.' && strcmp(d->d_name + len - 5, ".json") == 0)
			r = folder_add(f, c, folder_below(c, custom, d->d_name));
		if (f->n > FILES_MAX)
			return error_set(c->error, -E2BIG, &where, "contains too many files");
	}
	if (r == 0 && errno)
		r = error_set(c->error, -EIO, &where, "cannot be read: %s", strerror(errno));
	qsort(f->files + 1, f->n - 1, sizeof(f->files[0]), array_compare_text);
	return r;
}

static int folder_open(struct folder *f, struct call *c, const char *path)
{
	struct location where = { .file = path };
	int r = add_if_present(f, c, path, "default.json");

	f->is_rules = f->n == 1;
	if (r == 0 && f->is_rules)
		r = add_custom(f, c, path);
	for (size_t i = 0; r == 0 && !f->is_rules && launch_skill_manifests[i]; i++)
		r = add_if_present(f, c, path, launch_skill_manifests[i]);
	/* It comes first. */
	if (r == 0 && !f->is_rules && f->n > 1 &&
		strcasecmp(strrchr(f->files[0], '/') + 1, LAUNCH_SKILL_DESCRIPTION) == 0) {
		f->describes = f->files[0];
		f->files++;
		f->n--;
	}
	if (r == 0 && f->n == 0) {
		r = error_set(c->error, -ENOENT, &where, "is a folder that contains no policy");
		error_hint(c->error,
			"expected a skill (SKILL.md, skill.yaml, manifest.yaml) or rules "
			"(default.json)");
	} else if (r == 0 && f->n > 1 && !f->is_rules) {
		r = error_set(c->error, -EINVAL, &where, "contains more than one manifest");
		error_hint(c->error, "name the file: %s or %s", f->files[0], f->files[1]);
	}
	return r;
}

/* Files */

/* What is opened is what is remembered: "link/../x" is x, here as in grants. */
static int load_note_source(struct load *l, struct call *c, const char *path, const char **ret)
{
	int r;

	*ret = NULL;
	r = load_absolute(c, path, ret);
	if (r < 0)
		return r;
	return ARENA_PUSH(c->arena, l->sources, l->n_sources, l->cap_sources, *ret) < 0
		       ? error_no_memory(c->error)
		       : 0;
}

int load_note_folder(struct load *l, struct call *c, const char *path)
{
	const char *absolute;

	return load_note_source(l, c, path, &absolute);
}

/* Not named. */
static bool load_is_stream(const char *path)
{
	return strcmp(path, "-") == 0 || launch_source_is_fd(path);
}

/* The file behind a stream is a source as well. */
static int load_note_stream(struct load *l, struct call *c, const char *name)
{
	const char *absolute;

	return *name ? load_note_source(l, c, name, &absolute) : 0;
}

/* Read to its end, a file is of no use to a command, which would get it as its own input. */
static int load_leave_input(struct load *l, struct call *c)
{
	char name[PATH_BYTES];
	auto_fd none = -1;

	if (!launch_source_name(STDIN_FILENO, name))
		return 0;
	none = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (none < 0 || dup2(none, STDIN_FILENO) < 0)
		return error_set(
			c->error, -errno, NULL, "cannot close standard input: %s", strerror(errno));
	return load_note_stream(l, c, name);
}

static int load_read_text(struct load *l, struct call *c, const char *path, struct buffer *ret)
{
	struct location where = { .file = path };
	const char *name = path;
	char file[PATH_BYTES];
	int r = load_is_stream(path) ? 0 : load_note_source(l, c, path, &name);

	if (r < 0)
		return r;
	if (launch_source_is_fd(path)) {
		r = launch_source_read(
			path, strchr(path, ':') + 1, NODE_INPUT_MAX, ret, file, c->error);
		return r < 0 ? r : load_note_stream(l, c, file);
	}
	r = file_read(name, NODE_INPUT_MAX, ret);
	if (r == -EFBIG)
		return error_set(c->error, r, &where,
			"is larger than %d MiB, the maximum for a policy", NODE_INPUT_MAX >> 20);
	if (r < 0)
		return error_set(c->error, r, &where, "cannot be read: %s", strerror(-r));
	return strcmp(path, "-") == 0 ? load_leave_input(l, c) : 0;
}

/* A long file that was read before need not be read by its grammar again. */
static int load_read_manifest(const struct load *l, struct call *c, const char *path,
	const struct policy_cache_input *in, struct manifest *m)
{
	bool uses_cache = l->uses_cache && in->len >= POLICY_CACHE_LEAST && !load_is_stream(path);
	int r;

	if (uses_cache && policy_cache_find(in, m))
		return 0;
	r = manifest_read(m, in->kind, in->file, in->text, in->len, c->error);
	if (r == 0 && uses_cache)
		policy_cache_keep(in, m);
	return r;
}

static int load_read_file(struct load *l, struct call *c, const char *path, enum manifest_kind kind)
{
	const bool is_fd = launch_source_is_fd(path);
	struct policy_cache_input in = { .file = strcmp(path, "-") == 0 ? "standard input"
						 : is_fd && l->fd_name  ? l->fd_name
									: path,
		.kind = kind };
	auto_buffer text = { 0 };
	struct manifest m = { 0 };
	int r = load_read_text(l, c, path, &text);

	in.text = buffer_text(&text);
	in.len = text.len;
	if (r == 0)
		r = load_read_manifest(l, c, path, &in, &m);
	if (r < 0)
		return r;
	if (ARENA_PUSH(c->arena, l->files, l->n, l->cap, m) == 0)
		return 0;
	manifest_deinit(&m);
	return error_no_memory(c->error);
}

/* What describes a skill must not seem to grant. */
static int load_check_description(struct load *l, struct call *c, const char *path)
{
	auto_buffer text = { 0 };
	auto_manifest about = { 0 };
	int r = load_read_text(l, c, path, &text);

	if (r == 0)
		r = launch_skill_read_about(&about, path, buffer_text(&text), text.len, c->error);
	return r < 0 ? r : launch_skill_check_pair(&l->files[l->n - 1], &about, c->error);
}

/* A folder of rules: the files after the first join it. */
static int load_read_rules(struct load *l, struct call *c, const struct folder *f)
{
	int r = load_read_file(l, c, f->files[0], MANIFEST_RULES);

	for (size_t i = 1; r == 0 && i < f->n; i++) {
		auto_buffer text = { 0 };

		r = load_read_text(l, c, f->files[i], &text);
		if (r == 0)
			r = manifest_add_rules(&l->files[l->n - 1], f->files[i], buffer_text(&text),
				text.len, c->error);
	}
	return r;
}

/* Of a skill, SKILL_DIR is where it lies. Which, if there are two skills, only --set can say. */
static int note_skill(struct load *l, struct call *c, const char *file)
{
	const enum manifest_kind kind = l->files[l->n - 1].kind;
	const char **value = &l->variables.values[VARIABLE_SKILL_DIR];
	const char *slash = strrchr(file, '/'), *parent, *path = NULL;
	int r;

	if ((kind != MANIFEST_SKILL && kind != MANIFEST_SKILL_MD && kind != MANIFEST_NANOCRAB) ||
		l->is_set[VARIABLE_SKILL_DIR] || l->many_skills || load_is_stream(file))
		return 0;
	parent = slash ? arena_strndup(c->arena, file, (size_t)(slash - file) + 1) : ".";
	r = parent ? load_absolute(c, parent, &path) : error_no_memory(c->error);
	if (r < 0 || !path)
		return r;
	l->many_skills = *value && strcmp(*value, path) != 0;
	*value = l->many_skills ? NULL : path;
	return 0;
}

/* What a file says and Corral does not do: stricter than it reads, so it is no error. */
static void load_tell_notes(const struct manifest *m)
{
	auto_output o = output_for(STDERR_FILENO);

	for (size_t i = 0; i < m->n_notes; i++)
		output_note_at(&o, &m->notes[i].where, m->notes[i].text);
	if (o.text.len)
		(void)output_write(&o, STDERR_FILENO, NULL);
}

/*
 * By default a large block is mapped by itself, and given back when it is freed. Kept in the heap,
 * the pages of a long text are used again for what the text became. A page costs microseconds to
 * get.
 */
static void load_expect_long(void)
{
	enum { LONG_BLOCK = 16 << 20, LONG_HEAP = 64 << 20 };

	(void)mallopt(M_MMAP_THRESHOLD, LONG_BLOCK);
	(void)mallopt(M_TRIM_THRESHOLD, LONG_HEAP);
}

int load_add(struct load *l, struct call *c, const char *path, enum manifest_kind kind)
{
	struct folder f = { 0 };
	const char *absolute = NULL;
	struct stat st;
	int r;

	if (!*path)
		return error_set(c->error, -ENOENT, NULL, "the file name is empty");
	r = load_is_stream(path) ? 0 : load_absolute(c, path, &absolute);
	if (r < 0)
		return r;
	if (absolute && stat(absolute, &st) < 0)
		absolute = NULL;
	if (absolute && st.st_size >= POLICY_CACHE_LEAST)
		load_expect_long();
	if (absolute && S_ISDIR(st.st_mode)) {
		r = load_note_source(l, c, path, &absolute);
		if (r == 0)
			r = folder_open(&f, c, path);
		if (r < 0 || !f.files)
			return r;
		path = f.files[0];
	}
	r = f.is_rules ? load_read_rules(l, c, &f) : load_read_file(l, c, path, kind);
	if (r == 0 && c->extend)
		r = c->extend(l, c, &l->files[l->n - 1]);
	if (r == 0 && f.describes)
		r = load_check_description(l, c, f.describes);
	if (r == 0)
		load_tell_notes(&l->files[l->n - 1]);
	return r < 0 ? r : note_skill(l, c, path);
}

int load_add_text(struct load *l, struct call *c, const char *path, enum manifest_kind kind,
	const struct buffer *text)
{
	const struct policy_cache_input in = {
		.file = path, .kind = kind, .text = buffer_text(text), .len = text->len
	};
	auto_manifest m = { 0 };
	const char *absolute;
	int r = load_note_source(l, c, path, &absolute);

	if (r == 0)
		r = load_read_manifest(l, c, path, &in, &m);
	if (r == 0 && c->extend)
		r = c->extend(l, c, &m);
	if (r < 0)
		return r;
	load_tell_notes(&m);
	if (ARENA_PUSH(c->arena, l->files, l->n, l->cap, m) < 0)
		return error_no_memory(c->error);
	m = (struct manifest){ 0 };
	return 0;
}

int load_join_text(struct load *l, struct call *c, const char *path, const struct buffer *text)
{
	struct manifest *m = &l->files[l->n - 1];
	const size_t told = m->n_notes;
	const char *absolute = NULL;
	int r = load_note_source(l, c, path, &absolute);

	if (r == 0)
		r = manifest_add_rules(m, path, buffer_text(text), text->len, c->error);
	if (r == 0 && m->n_notes > told)
		load_tell_notes(&(struct manifest){
			.notes = m->notes + told, .n_notes = m->n_notes - told });
	return r;
}

int load_add_all(
	struct load *l, struct call *c, const char *const *paths, size_t n, enum manifest_kind kind)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = load_add(l, c, paths[i], kind);
	return r;
}

void load_deinit(struct load *l)
{
	for (size_t i = 0; i < l->n; i++)
		manifest_deinit(&l->files[i]);
	*l = (struct load){ 0 };
}

/* Using what was read */

struct policy_options load_options(const struct load *l)
{
	return (struct policy_options){ .variables = &l->variables, .resolver = &resolver_system };
}

int load_compile(const struct load *l, struct call *c, struct policy **ret)
{
	const struct permissions **layers = arena_calloc(c->arena, l->n, sizeof(*layers));
	struct policy_options options = load_options(l);

	if (!layers)
		return error_no_memory(c->error);
	for (size_t i = 0; i < l->n; i++) {
		if (system_links_grant(l->files[i].permissions) < 0)
			return error_no_memory(c->error);
		layers[i] = l->files[i].permissions;
	}
	/* As corral run does. */
	if (policy_inspected(layers, l->n, c->arena, &options.opened, &options.n_opened) < 0)
		return error_no_memory(c->error);
	return policy_new(ret, layers, l->n, &options, c->error);
}

int load_combine(
	const struct load *l, struct call *c, load_operation *operation, struct permissions **ret)
{
	auto_permissions *all = permissions_copy(l->files[0].permissions);
	int r = all ? 0 : -ENOMEM;

	for (size_t i = 1; r == 0 && i < l->n; i++) {
		struct permissions *both;

		r = operation(&both, all, l->files[i].permissions);
		if (r < 0)
			break;
		permissions_free(all);
		all = both;
	}
	if (r == -ENOMEM)
		return error_no_memory(c->error);
	if (r < 0)
		return error_set(c->error, r, NULL, "the result would have too many layers");
	*ret = all;
	all = NULL;
	return 0;
}
