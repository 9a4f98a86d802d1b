/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/enclave/files.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "codec/encoding.h"
#include "codec/json-writer.h"

enum { FILES_ENTRIES_MAX = 10000, FILES_NS_PER_MS = 1000000 };

static bool files_is_base64(const struct reply *c)
{
	const char *encoding = route_value(&c->call, "encoding");

	return encoding && strcmp(encoding, "base64") == 0;
}

static bool files_is_flag(const struct reply *c, const char *name)
{
	const char *value = route_value(&c->call, name);

	return value && strcmp(value, "true") == 0;
}

void files_read(struct bridge *b, struct reply *c)
{
	struct json_writer w = { .out = &c->json };
	struct corral_file file = { .size = sizeof(file) };
	struct corral_error *e = NULL;
	char room[PATH_BYTES], *data = NULL;
	const char *path;
	size_t len = 0;
	int r;

	if (!reply_path(c, "path", room, &path))
		return;
	r = corral_enclave_fs_read_file(b->enclave, BRIDGE_BY, path, &file, &data, &len, &e);
	if (r < 0) {
		reply_refuse(c, r, e);
		return;
	}
	json_open_map(&w, NULL);
	reply_data(&w, "content", data, len, files_is_base64(c));
	json_put_count(&w, "size", len);
	json_put_number(&w, "modified_ms", file.modified_ns / FILES_NS_PER_MS);
	json_end_line(&w);
	corral_free(data);
}

void files_write(struct bridge *b, struct reply *c)
{
	const char *content = route_value(&c->call, "content"), *data = NULL, *path;
	char room[PATH_BYTES];
	struct json_writer w = { .out = &c->json };
	struct corral_error *e = NULL;
	auto_arena a = { 0 };
	size_t len = 0;
	int r = encoding_decode(files_is_base64(c) ? ENCODING_BASE64 : ENCODING_UTF8, content,
		strlen(content), &a, &data, &len);

	if (!reply_path(c, "path", room, &path))
		return;
	if (r == -EINVAL) {
		reply_fail(c, 400, "the content is not base64");
		return;
	}
	if (r == 0)
		r = corral_enclave_fs_write(b->enclave, BRIDGE_BY, path, data, len, &e);
	if (r < 0) {
		reply_refuse(c, r, e);
		return;
	}
	json_open_map(&w, NULL);
	json_put_count(&w, "written", len);
	json_end_line(&w);
}

struct files_listing {
	struct json_writer w;
	size_t n;
	bool is_cut;
};

static int files_on_entry(void *context, const struct corral_file *f)
{
	static const char *const kinds[] = { [CORRAL_FILE] = "file",
		[CORRAL_FOLDER] = "folder",
		[CORRAL_LINK] = "link",
		[CORRAL_OTHER] = "other" };
	struct files_listing *l = context;

	l->is_cut = l->n == FILES_ENTRIES_MAX || l->w.out->len > BRIDGE_ANSWER_MAX - (64 << 10);
	if (l->is_cut)
		return 1;
	l->n++;
	json_open_map(&l->w, NULL);
	json_put_text(&l->w, "name", f->name);
	json_put_text(&l->w, "kind", kinds[f->kind]);
	json_put_count(&l->w, "size", f->bytes);
	json_put_count(&l->w, "mode", f->mode);
	json_put_number(&l->w, "modified_ms", f->modified_ns / FILES_NS_PER_MS);
	json_close(&l->w);
	return 0;
}

void files_list(struct bridge *b, struct reply *c)
{
	const struct corral_list_options o = { .size = sizeof(o),
		.pattern = route_value(&c->call, "pattern"),
		.recursive = files_is_flag(c, "recursive") };
	struct files_listing l = { .w.out = &c->json };
	struct corral_error *e = NULL;
	char room[PATH_BYTES];
	const char *path;
	long r;

	if (!reply_path(c, "path", room, &path))
		return;
	json_open_map(&l.w, NULL);
	json_open_list(&l.w, "entries");
	r = corral_enclave_fs_list_matching(
		b->enclave, BRIDGE_BY, path, &o, files_on_entry, &l, &e);
	if (r < 0) {
		reply_refuse(c, (int)r, e);
		return;
	}
	json_close(&l.w);
	json_put_flag(&l.w, "truncated", l.is_cut);
	json_close(&l.w);
	buffer_addc(&c->json, '\n');
}
