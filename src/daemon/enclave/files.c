/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "codec/encoding.h"
#include "daemon/enclave/internal.h"

enum { FILES_ENTRIES_MAX = 10000, FILES_NS_PER_MS = 1000000 };

static bool files_is_base64(const struct bridge_call *c)
{
	const char *encoding = route_value(&c->call, "encoding");

	return encoding && strcmp(encoding, "base64") == 0;
}

static bool files_is_flag(const struct bridge_call *c, const char *name)
{
	const char *value = route_value(&c->call, name);

	return value && strcmp(value, "true") == 0;
}

void bridge_fs_read(struct bridge_call *c)
{
	struct corral_file file = { .size = sizeof(file) };
	struct corral_error *e = NULL;
	char room[PATH_BYTES], *data = NULL;
	const char *path;
	size_t len = 0;
	int r;

	if (!bridge_path(c, "path", room, &path))
		return;
	r = corral_enclave_fs_read_file(
		c->bridge->enclave, &bridge_by, path, &file, &data, &len, &e);
	if (r < 0) {
		reply_refuse(c, r, e);
		return;
	}
	buffer_addc(&c->json, '{');
	reply_data(&c->json, "content", data, len, files_is_base64(c));
	buffer_printf(&c->json, ",\"size\":%zu,\"modified_ms\":%" PRId64 "}\n", len,
		file.modified_ns / FILES_NS_PER_MS);
	corral_free(data);
}

void bridge_fs_write(struct bridge_call *c)
{
	const char *content = route_value(&c->call, "content"), *data = NULL, *path;
	char room[PATH_BYTES];
	struct corral_error *e = NULL;
	auto_arena a = { 0 };
	size_t len = 0;
	int r = encoding_decode(files_is_base64(c) ? ENCODING_BASE64 : ENCODING_UTF8, content,
		strlen(content), &a, &data, &len);

	if (!bridge_path(c, "path", room, &path))
		return;
	if (r == -EINVAL) {
		reply_fail(c, 400, "the content is not base64");
		return;
	}
	if (r == 0)
		r = corral_enclave_fs_write(c->bridge->enclave, &bridge_by, path, data, len, &e);
	if (r < 0)
		reply_refuse(c, r, e);
	else
		buffer_printf(&c->json, "{\"written\":%zu}\n", len);
}

struct files_listing {
	struct buffer *json;
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

	l->is_cut = l->n == FILES_ENTRIES_MAX || l->json->len > BRIDGE_ANSWER_MAX - (64 << 10);
	if (l->is_cut)
		return 1;
	buffer_adds(l->json, l->n++ ? ",{" : "{");
	reply_text(l->json, "name", f->name);
	buffer_printf(l->json,
		",\"kind\":\"%s\",\"size\":%" PRIu64 ",\"mode\":%u,\"modified_ms\":%" PRId64 "}",
		kinds[f->kind], f->bytes, f->mode, f->modified_ns / FILES_NS_PER_MS);
	return 0;
}

void bridge_fs_list(struct bridge_call *c)
{
	const struct corral_list_options o = { .size = sizeof(o),
		.pattern = route_value(&c->call, "pattern"),
		.recursive = files_is_flag(c, "recursive") };
	struct files_listing l = { .json = &c->json };
	struct corral_error *e = NULL;
	char room[PATH_BYTES];
	const char *path;
	long r;

	if (!bridge_path(c, "path", room, &path))
		return;
	buffer_adds(&c->json, "{\"entries\":[");
	r = corral_enclave_fs_list_matching(
		c->bridge->enclave, &bridge_by, path, &o, files_on_entry, &l, &e);
	if (r < 0)
		reply_refuse(c, (int)r, e);
	else
		buffer_printf(&c->json, "],\"truncated\":%s}\n", l.is_cut ? "true" : "false");
}
