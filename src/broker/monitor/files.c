/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fs.*: calls of the enclave, each in a thread because file systems may be slow. What a thread
 * found is kept in the call's state until the loop answers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/utf8.h"
#include "broker/monitor/handlers.h"

enum {
	FILES_ENTRIES_MAX = 20000,
	FILES_ENTRIES_BYTES = 4 << 20, /* of names and paths of one list */
	FILES_DEFAULT_MODE = 0644,
};

/* Parameters, by the table. */
enum { READ_PATH };
enum { WRITE_PATH, WRITE_CONTENT, WRITE_ENCODING, WRITE_MODE };
enum { LIST_PATH, LIST_GLOB, LIST_RECURSIVE };

struct files_call {
	int code;
	struct corral_error *error;
	struct corral_file file;
	char *data;
	size_t len;
	char path[PATH_BYTES];
	/* Of a list; names and paths are in the call's arena. */
	struct value_file *entries;
	size_t n, cap, bytes;
	bool is_truncated;
};

static void files_free(struct monitor_call *c)
{
	struct files_call *f = c->state;

	c->state = NULL;
	corral_error_free(f->error);
	corral_free(f->data);
	free(f);
}

/* The state is as it was before the handler was called: it may be called again. */
static void files_fail(struct monitor_call *c)
{
	struct files_call *f = c->state;
	struct corral_error *e = f->error;
	const int code = f->code;

	f->error = NULL;
	files_free(c);
	monitor_fail(c, RPC_PATH, code, e);
}

static void files_begin(struct monitor_call *c, void (*work)(struct monitor_call *c),
	void (*done)(struct monitor_call *c))
{
	struct files_call *f = calloc(1, sizeof(*f));
	int r = f ? 0 : -ENOMEM;

	if (r == 0) {
		f->file.size = sizeof(f->file);
		c->state = f;
		c->cancel = files_free;
		r = monitor_work(c, work, done);
		if (r < 0)
			files_free(c);
	}
	if (r < 0)
		monitor_fail(c, RPC_INTERNAL, r, NULL);
}

static void files_answer(struct monitor_call *c, const struct values *v)
{
	struct files_call *f = c->state;

	/* The values point into it. */
	c->state = NULL;
	monitor_answer(c, v);
	corral_error_free(f->error);
	corral_free(f->data);
	free(f);
}

/* Reading */

static void files_read_work(struct monitor_call *c)
{
	struct files_call *f = c->state;

	f->code = corral_enclave_fs_read_file(monitor_enclave(c->monitor), &c->by,
		c->call.params.v[READ_PATH].text, &f->file, &f->data, &f->len, &f->error);
}

static void files_read_done(struct monitor_call *c)
{
	enum { CONTENT, ENCODING, SIZE, MODIFIED };
	const struct files_call *f = c->state;
	struct values v = { 0 };

	if (f->code < 0) {
		files_fail(c);
		return;
	}
	v.v[CONTENT] = (struct value){ .type = SCHEMA_DATA, .text = f->data, .len = f->len };
	v.v[SIZE] = value_number(SCHEMA_NUMBER, f->len);
	v.v[MODIFIED] = value_number(SCHEMA_TIME, (uint64_t)f->file.modified_ns);
	files_answer(c, &v);
}

void files_read(struct monitor_call *c)
{
	files_begin(c, files_read_work, files_read_done);
}

/* Writing */

static void files_write_work(struct monitor_call *c)
{
	struct files_call *f = c->state;
	const struct value *p = c->call.params.v;
	const uint32_t mode = p[WRITE_MODE].type == SCHEMA_NONE ? FILES_DEFAULT_MODE
								: (uint32_t)p[WRITE_MODE].number;

	f->code = corral_enclave_fs_write_file(monitor_enclave(c->monitor), &c->by,
		p[WRITE_PATH].text, mode, p[WRITE_CONTENT].text, p[WRITE_CONTENT].len, &f->error);
}

static void files_write_done(struct monitor_call *c)
{
	enum { WRITTEN, PATH };
	struct files_call *f = c->state;
	const struct value *p = c->call.params.v;
	struct values v = { 0 };
	const char *path = f->path;

	if (f->code < 0) {
		files_fail(c);
		return;
	}
	if (handlers_absolute(c, p[WRITE_PATH].text, f->path) < 0)
		path = p[WRITE_PATH].text;
	v.v[WRITTEN] = value_number(SCHEMA_NUMBER, p[WRITE_CONTENT].len);
	v.v[PATH] = (struct value){ .type = SCHEMA_PATH, .text = path, .len = strlen(path) };
	files_answer(c, &v);
}

void files_write(struct monitor_call *c)
{
	files_begin(c, files_write_work, files_write_done);
}

/* Listing */

static const enum value_file_kind files_kinds[] = {
	[CORRAL_FILE] = VALUE_KIND_FILE,
	[CORRAL_FOLDER] = VALUE_KIND_FOLDER,
	[CORRAL_LINK] = VALUE_KIND_LINK,
	[CORRAL_OTHER] = VALUE_KIND_OTHER,
};

static int files_visit(void *context, const struct corral_file *file)
{
	struct monitor_call *c = context;
	struct files_call *f = c->state;
	struct value_file entry = { .kind = files_kinds[file->kind],
		.size = file->bytes,
		.modified_ns = file->modified_ns };
	const char *last = strrchr(file->name, '/');
	/* Names need not be text; JSON has nothing else. */
	const bool is_text = utf8_valid(file->name, strlen(file->name), NULL);

	f->bytes += 2 * strlen(file->name) + strlen(f->path) + sizeof(entry);
	f->is_truncated = f->is_truncated || f->n == FILES_ENTRIES_MAX ||
			  f->bytes > FILES_ENTRIES_BYTES || !is_text;
	if (!is_text)
		return 0;
	if (f->is_truncated)
		return 1;
	entry.name = arena_strdup(&c->arena, last ? last + 1 : file->name);
	entry.path = arena_printf(
		&c->arena, "%s/%s", strcmp(f->path, "/") == 0 ? "" : f->path, file->name);
	if (!entry.name || !entry.path)
		return -ENOMEM;
	return ARENA_PUSH(&c->arena, f->entries, f->n, f->cap, entry);
}

static void files_list_work(struct monitor_call *c)
{
	struct files_call *f = c->state;
	const struct value *p = c->call.params.v;
	const struct corral_list_options o = { .size = sizeof(o),
		.pattern = p[LIST_GLOB].type == SCHEMA_NONE ? NULL : p[LIST_GLOB].text,
		.recursive = (int)p[LIST_RECURSIVE].number };
	long n;

	/* One that is not a path the enclave refuses, with words. */
	(void)handlers_absolute(c, p[LIST_PATH].text, f->path);
	n = corral_enclave_fs_list_matching(monitor_enclave(c->monitor), &c->by, p[LIST_PATH].text,
		&o, files_visit, c, &f->error);
	f->code = n < 0 ? (int)n : 0;
}

static void files_list_done(struct monitor_call *c)
{
	enum { ENTRIES, TRUNCATED };
	const struct files_call *f = c->state;
	struct values v = { 0 };

	if (f->code < 0) {
		files_fail(c);
		return;
	}
	v.v[ENTRIES] = (struct value){ .type = SCHEMA_FILES, .files = f->entries, .n = f->n };
	if (f->is_truncated)
		v.v[TRUNCATED] = value_number(SCHEMA_FLAG, 1);
	files_answer(c, &v);
}

void files_list(struct monitor_call *c)
{
	files_begin(c, files_list_work, files_list_done);
}

/* The rest */

static void files_stat_work(struct monitor_call *c)
{
	struct files_call *f = c->state;

	f->code = corral_enclave_fs_stat(monitor_enclave(c->monitor), &c->by,
		c->call.params.v[READ_PATH].text, &f->file, f->path, &f->error);
}

static void files_stat_done(struct monitor_call *c)
{
	enum { PATH, TYPE, SIZE, MODE, MODIFIED };
	static const char *const types[] = {
		[CORRAL_FILE] = "file",
		[CORRAL_FOLDER] = "directory",
		[CORRAL_LINK] = "symlink",
		[CORRAL_OTHER] = "other",
	};
	const struct files_call *f = c->state;
	struct values v = { 0 };

	if (f->code < 0) {
		files_fail(c);
		return;
	}
	v.v[PATH] = (struct value){ .type = SCHEMA_PATH, .text = f->path, .len = strlen(f->path) };
	v.v[TYPE] = value_text(types[f->file.kind], strlen(types[f->file.kind]));
	v.v[SIZE] = value_number(SCHEMA_NUMBER, f->file.bytes);
	v.v[MODE] = value_number(SCHEMA_NUMBER, f->file.mode);
	v.v[MODIFIED] = value_number(SCHEMA_TIME, (uint64_t)f->file.modified_ns);
	files_answer(c, &v);
}

void files_stat(struct monitor_call *c)
{
	files_begin(c, files_stat_work, files_stat_done);
}

static void files_delete_work(struct monitor_call *c)
{
	struct files_call *f = c->state;

	f->code = corral_enclave_fs_delete(
		monitor_enclave(c->monitor), &c->by, c->call.params.v[READ_PATH].text, &f->error);
}

static void files_delete_done(struct monitor_call *c)
{
	const struct files_call *f = c->state;
	struct values v = { 0 };

	if (f->code < 0) {
		files_fail(c);
		return;
	}
	v.v[0] = value_number(SCHEMA_FLAG, 1);
	files_answer(c, &v);
}

void files_delete(struct monitor_call *c)
{
	files_begin(c, files_delete_work, files_delete_done);
}
