/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/gateway/pins.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "base/fd.h"
#include "base/formats.h"
#include "base/path.h"
#include "codec/json-writer.h"
#include "host/state-cache.h"
#include "mcp/canonical.h"

#define PINS_FOLDER "mcp-pins"

enum {
	PINS_BYTES = 16 << 20,
	MARK_BYTES = 32,
	MARK_DIGITS = 2 * MARK_BYTES,
	KEY_BYTES = crypto_generichash_KEYBYTES,
};

static const char *const pins_keys[PIN_KINDS] = { "tools", "prompts" };

static void pins_hex(const char *text, size_t len, char ret[PIN_DIGEST_BYTES])
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	(void)crypto_hash_sha256(hash, (const unsigned char *)text, len);
	(void)encoding_hex(hash, sizeof(hash), ret);
}

/* The file's name. */
static bool pins_name(
	const char *config_path, const struct gateway_server *s, char ret[PIN_DIGEST_BYTES])
{
	auto_buffer text = { 0 };

	buffer_add(&text, config_path, strlen(config_path) + 1);
	buffer_adds(&text, s->name);
	pins_hex(buffer_text(&text), text.len, ret);
	return !text.failed;
}

/* Of the name and all that the file says. */
static bool pins_mark(int folder, bool make, const char *name, const char *text, size_t len,
	char ret[MARK_DIGITS + 1])
{
	unsigned char key[KEY_BYTES], mark[MARK_BYTES];
	crypto_generichash_state state;

	if (!state_cache_key(folder, make, key, sizeof(key)))
		return false;
	(void)crypto_generichash_init(&state, key, sizeof(key), sizeof(mark));
	(void)crypto_generichash_update(&state, (const unsigned char *)name, strlen(name));
	(void)crypto_generichash_update(&state, (const unsigned char *)text, len);
	(void)crypto_generichash_final(&state, mark, sizeof(mark));
	sodium_memzero(key, sizeof(key));
	(void)encoding_hex(mark, sizeof(mark), ret);
	return true;
}

static bool pins_has_words(const struct node *list, const char *const *words)
{
	size_t i = 0;

	if (!list || list->type != NODE_LIST)
		return false;
	node_for_each(w, list) {
		if (!words[i] || w->type != NODE_STRING || strcmp(words[i++], w->text) != 0)
			return false;
	}
	return !words[i];
}

/* text: mark, newline, JSON. false: it is not what was written here. */
static bool pins_take(struct pins *p, int folder, const char *name, const char *text, size_t len)
{
	static const struct node_bounds bounds = { PINS_BYTES, PINS_BYTES };
	const char *json = text + MARK_DIGITS + 1;
	char mark[MARK_DIGITS + 1];

	if (len <= MARK_DIGITS + 1 || json[-1] != '\n')
		return false;
	len -= MARK_DIGITS + 1;
	if (!pins_mark(folder, false, name, json, len, mark) ||
		sodium_memcmp(mark, text, MARK_DIGITS) != 0)
		return false;
	if (json_read_within(&p->document, NULL, json, len, &bounds, NULL) < 0)
		return false;
	p->command = node_get(p->document.root, "command");
	p->url = node_get(p->document.root, "url");
	p->options = node_get(p->document.root, "options");
	for (int i = 0; i < PIN_KINDS; i++)
		p->defined[i] = node_get(p->document.root, pins_keys[i]);
	/* Before there were prompts, their list was not written. */
	return p->defined[GATEWAY_TOOL] && p->defined[GATEWAY_TOOL]->type == NODE_LIST &&
	       (!p->defined[GATEWAY_PROMPT] || p->defined[GATEWAY_PROMPT]->type == NODE_LIST);
}

/* It has a version, which this build reads. */
static int pins_check_version(const struct pins *p, const char *name, struct error *e)
{
	char folder[PATH_BYTES], path[PATH_BYTES + PIN_DIGEST_BYTES];
	int64_t version = 0;

	if (!state_cache_path(PINS_FOLDER, folder))
		folder[0] = '\0';
	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)node_integer(node_get(p->document.root, "version"), &version);
	return formats_check(FORMAT_MCP_PINS, version < 0 ? 0 : (uint64_t)version, path, e);
}

int pins_read(
	struct pins *p, const char *config_path, const struct gateway_server *s, struct error *e)
{
	char name[PIN_DIGEST_BYTES];
	auto_fd folder = state_cache_open(PINS_FOLDER, false);
	auto_buffer text = { 0 };
	auto_fd fd = -1;
	size_t size = 0;
	int r;

	*p = (struct pins){ 0 };
	if (!pins_name(config_path, s, name))
		return error_no_memory(e);
	if (folder >= 0)
		fd = state_cache_open_file(folder, name, PINS_BYTES, &size);
	if (fd < 0)
		return 0;
	for (size_t at = 0; at < size && !text.failed;) {
		char bytes[4096];
		const size_t n = size - at < sizeof(bytes) ? size - at : sizeof(bytes);

		if (!state_cache_read(fd, bytes, n))
			break;
		buffer_add(&text, bytes, n);
		at += n;
	}
	if (text.failed)
		return error_no_memory(e);
	if (text.len != size || !pins_take(p, folder, name, buffer_text(&text), text.len)) {
		pins_deinit(p);
		p->is_damaged = true;
		return 0;
	}
	r = pins_check_version(p, name, e);
	if (r < 0) {
		pins_deinit(p);
		return r;
	}
	p->exists = true;
	p->is_other = !pins_has_words(s->is_remote ? p->url : p->command, s->command) ||
		      !pins_has_words(p->options, s->options);
	return 0;
}

static void pins_put_words(struct json_writer *w, const char *key, const char *const *words)
{
	json_open_list(w, key);
	for (size_t i = 0; words[i]; i++)
		json_put_text(w, NULL, words[i]);
	json_close(w);
}

int pins_write(const char *config_path, const struct gateway_server *s,
	const struct node *const defined[PIN_KINDS])
{
	auto_fd folder = state_cache_open(PINS_FOLDER, true);
	char name[PIN_DIGEST_BYTES], mark[MARK_DIGITS + 1];
	auto_buffer json = { 0 }, file = { 0 };
	struct json_writer w = { .out = &json };

	if (folder < 0)
		return -EACCES;
	json_open_map(&w, NULL);
	json_put_count(&w, "version", formats_rows[FORMAT_MCP_PINS].version);
	json_put_text(&w, "config", config_path);
	json_put_text(&w, "server", s->name);
	pins_put_words(&w, s->is_remote ? "url" : "command", s->command);
	pins_put_words(&w, "options", s->options);
	for (int i = 0; i < PIN_KINDS; i++)
		if (defined[i])
			json_put_node(&w, pins_keys[i], defined[i]);
	json_end_line(&w);
	if (json.failed || !pins_name(config_path, s, name))
		return -ENOMEM;
	if (json.len > PINS_BYTES - MARK_DIGITS - 1)
		return -EFBIG;
	/* Whoever makes the key this moment has filled it by the second look. */
	if (!pins_mark(folder, true, name, json.data, json.len, mark) &&
		!pins_mark(folder, false, name, json.data, json.len, mark))
		return -EACCES;
	buffer_printf(&file, "%s\n", mark);
	buffer_add(&file, json.data, json.len);
	return file.failed ? -ENOMEM : state_cache_put(folder, name, file.data, file.len);
}

void pins_deinit(struct pins *p)
{
	document_deinit(&p->document);
	*p = (struct pins){ 0 };
}

const struct node *pins_first(const struct pins *p, enum gateway_kind kind)
{
	return p->exists && p->defined[kind] ? p->defined[kind]->first : NULL;
}

const struct node *pins_find(const struct pins *p, enum gateway_kind kind, const char *name)
{
	for (const struct node *d = pins_first(p, kind); d; d = d->next)
		if (strcmp(node_get_text(d, "name"), name) == 0)
			return d;
	return NULL;
}

enum pin_state pins_compare(
	const struct pins *p, enum gateway_kind kind, const struct node *definition)
{
	const struct node *pinned = pins_find(p, kind, node_get_text(definition, "name"));
	auto_buffer a = { 0 }, b = { 0 };

	if (!pinned)
		return PIN_NEW;
	mcp_canonical_print(&a, definition);
	mcp_canonical_print(&b, pinned);
	if (a.failed || b.failed || a.len != b.len || memcmp(a.data, b.data, a.len) != 0)
		return PIN_CHANGED;
	return PIN_APPROVED;
}

const char *pin_state_name(enum pin_state s)
{
	static const char *const names[] = { "approved", "new", "changed", "gone" };

	return names[s];
}

bool pin_digest(const struct node *tool, char ret[PIN_DIGEST_BYTES])
{
	auto_buffer text = { 0 };

	mcp_canonical_print(&text, tool);
	pins_hex(buffer_text(&text), text.len, ret);
	return !text.failed;
}

/* A plain name as it is, any other as JSON writes it: no key looks like another place, or line. */
static void pin_print_key(struct buffer *out, const char *key)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$";

	if (*key && !key[strspn(key, plain)])
		buffer_adds(out, key);
	else
		json_print_string(out, key, strlen(key));
}

static void pin_print_value(struct buffer *out, const struct node *n, const char *path)
{
	if ((n->type != NODE_MAP && n->type != NODE_LIST) || !n->first) {
		buffer_printf(out, "%s: ", path);
		json_print(out, n, JSON_SPACED);
		buffer_addc(out, '\n');
		return;
	}
	for (const struct node *child = n->first; child; child = child->next) {
		auto_buffer below = { 0 };

		buffer_printf(&below, "%s%s", path, *path ? "." : "");
		if (n->type == NODE_MAP)
			pin_print_key(&below, child->key);
		else
			buffer_addc(&below, '-');
		out->failed = out->failed || below.failed;
		pin_print_value(out, child, buffer_text(&below));
	}
}

void pin_print(const struct node *tool, struct buffer *out)
{
	static const struct node_bounds bounds = { PINS_BYTES, PINS_BYTES };
	auto_buffer text = { 0 };
	auto_document d = { 0 };

	/* In one order, so that only what differs does. */
	mcp_canonical_print(&text, tool);
	if (!text.failed && json_read_within(&d, NULL, text.data, text.len, &bounds, NULL) == 0)
		pin_print_value(out, d.root, "");
	else
		out->failed = true; /* nothing is approved that is not shown */
}
