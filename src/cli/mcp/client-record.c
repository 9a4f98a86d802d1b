/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file for each file of a client: a line of JSON, then the text as it was before. It may have
 * keys in it, as the client's file has, so it is the user's alone, in a folder that no command sees
 * (host/state-cache.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "cli/mcp/client-file.h"
#include "cli/verb.h"
#include "codec/json-writer.h"
#include "codec/json.h"
#include "host/state-cache.h"

enum {
	RECORD_HEX = 2 * crypto_generichash_BYTES + 1,
	RECORD_MAX = PLACES_BYTES_MAX + (1 << 20),
	RECORD_PATIENCE_MS = 10000,
};

static const char record_folder[] = "mcp-clients";

static void record_digest(const void *data, size_t len, char ret[RECORD_HEX])
{
	unsigned char hash[crypto_generichash_BYTES];

	(void)crypto_generichash(hash, sizeof(hash), data, len, NULL, 0);
	(void)sodium_bin2hex(ret, RECORD_HEX, hash, sizeof(hash));
}

static int record_no_folder(struct call *c)
{
	(void)error_set(c->error, -EACCES, NULL, "no folder of yours can keep the file as it was");
	error_hint(c->error, "set HOME or XDG_STATE_HOME to a folder that you own");
	return -EACCES;
}

static int record_damaged(const struct client_place *p, struct call *c)
{
	(void)error_set(c->error, -EINVAL, NULL, "what was kept of the install into %s is damaged",
		p->path);
	error_hint(c->error, "remove our entries by hand; it is in corral/%s of your state folder",
		record_folder);
	return -EINVAL;
}

int client_record_lock(struct call *c, int *ret)
{
	auto_fd folder = state_cache_open(record_folder, true);
	int r;

	if (folder < 0)
		return record_no_folder(c);
	r = file_lock(folder, RECORD_PATIENCE_MS);
	if (r < 0)
		return error_set(c->error, r, NULL,
			"another `corral mcp install` or `uninstall` does not come to an end");
	*ret = fd_take(&folder);
	return 0;
}

/* From the node of the first line. */
static int record_take(
	struct client_record *r, const struct node *n, const struct client_place *p, struct call *c)
{
	const struct node *wrapped = node_get(n, "wrapped");
	const char *wrote = node_get_text(n, "wrote");
	const char **names =
		arena_calloc(c->arena, (wrapped ? wrapped->count : 0) + 1, sizeof(*names));
	char now[RECORD_HEX];
	size_t i = 0;

	record_digest(buffer_text(&p->text), p->text.len, now);
	r->was_changed = !p->exists || strcmp(now, wrote) != 0;
	r->is.client = p->client;
	r->is.name = arena_strdup(c->arena, node_get_text(n, "name"));
	r->is.wrapped = names;
	(void)node_boolean(node_get(n, "existed"), &r->is.existed);
	if (!names || !r->is.name)
		return error_no_memory(c->error);
	if (wrapped && wrapped->type == NODE_LIST)
		node_for_each(w, wrapped)
			if (node_text(w))
				names[i++] = arena_strdup(c->arena, node_text(w));
	return strcmp(node_get_text(n, "client"), p->client->name) == 0 && r->is.name[0]
		       ? 0
		       : record_damaged(p, c);
}

int client_record_read(struct client_record *ret, const struct client_place *p, struct call *c)
{
	auto_fd folder = state_cache_open(record_folder, false), fd = -1;
	struct client_record r = { 0 };
	auto_document d = { 0 };
	char name[RECORD_HEX];
	const char *end;
	size_t size = 0;
	int res;

	record_digest(p->path, strlen(p->path), name);
	if (folder >= 0)
		fd = state_cache_open_file(folder, name, RECORD_MAX, &size);
	if (fd < 0)
		return -ENOENT;
	res = file_read_fd(fd, RECORD_MAX, &r.text);
	end = res == 0 ? memchr(buffer_text(&r.text), '\n', r.text.len) : NULL;
	if (!end || json_read(&d, "record", r.text.data, (size_t)(end - r.text.data), NULL) < 0) {
		buffer_deinit(&r.text);
		return record_damaged(p, c);
	}
	r.is.original = (struct client_text){ p->path, end + 1,
		r.text.len - (size_t)(end + 1 - r.text.data) };
	res = record_take(&r, d.root, p, c);
	if (res < 0)
		buffer_deinit(&r.text);
	else
		*ret = r;
	return res;
}

void client_record_deinit(struct client_record *r)
{
	buffer_deinit(&r->text);
}

int client_record_write(const struct client_installed *is, const struct client_place *p,
	const struct buffer *wrote, struct call *c)
{
	auto_fd folder = state_cache_open(record_folder, true);
	auto_buffer text = { 0 };
	struct json_writer w = { .out = &text };
	char name[RECORD_HEX], digest[RECORD_HEX];
	int r;

	if (folder < 0)
		return record_no_folder(c);
	record_digest(p->path, strlen(p->path), name);
	record_digest(buffer_text(wrote), wrote->len, digest);
	json_open_map(&w, NULL);
	json_put_text(&w, "client", is->client->name);
	json_put_text(&w, "file", p->path);
	json_put_text(&w, "name", is->name);
	json_put_flag(&w, "existed", is->existed);
	json_put_text(&w, "wrote", digest);
	json_open_list(&w, "wrapped");
	for (size_t i = 0; is->wrapped[i]; i++)
		json_put_text(&w, NULL, is->wrapped[i]);
	json_close(&w);
	json_end_line(&w);
	buffer_add(&text, is->original.text, is->original.len);
	r = text.failed ? -ENOMEM : state_cache_put(folder, name, text.data, text.len);
	return r < 0 ? error_set(c->error, r, NULL, "cannot keep the file as it was: %s",
			       strerror(-r))
		     : 0;
}

void client_record_restore(const struct client_record *was, const struct client_place *p)
{
	auto_fd folder = state_cache_open(record_folder, false);
	char name[RECORD_HEX];

	record_digest(p->path, strlen(p->path), name);
	if (folder >= 0 && !was)
		(void)unlinkat(folder, name, 0);
	else if (folder >= 0)
		(void)state_cache_put(folder, name, was->text.data, was->text.len);
}

int client_record_remove(const struct client_place *p, struct call *c)
{
	auto_fd folder = state_cache_open(record_folder, false);
	char name[RECORD_HEX];

	record_digest(p->path, strlen(p->path), name);
	if (folder >= 0 && unlinkat(folder, name, 0) < 0 && errno != ENOENT)
		return error_set(c->error, -errno, NULL,
			"cannot remove what was kept of the install: %s", strerror(errno));
	return 0;
}
