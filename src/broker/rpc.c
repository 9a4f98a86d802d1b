/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/rpc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/suggest.h"
#include "base/words.h"
#include "codec/json-writer.h"

/* The name of a parameter, in a sentence. */
enum { RPC_WHAT_BYTES = 96 };

/* Codes */

static const struct {
	int code, shield;
	const char *name;
} classes[RPC_CLASS_COUNT] = {
	[RPC_INTERNAL] = { -32603, -32603, "internal" },
	[RPC_PARSE] = { -32700, -32700, "parse" },
	[RPC_REQUEST] = { -32600, -32600, "request" },
	[RPC_METHOD] = { -32601, -32601, "method" },
	[RPC_PARAMS] = { -32602, 1003, "parameters" },
	[RPC_PERMISSION] = { -32001, 1001, "permission" },
	[RPC_SCOPE] = { -32002, 1001, "scope" },
	[RPC_RATE] = { -32003, 1001, "rate" },
	[RPC_TIMEOUT] = { -32004, 1004, "timeout" },
	[RPC_SERVICE] = { -32005, 1006, "service" },
	[RPC_NETWORK] = { -32006, 1004, "network" },
	[RPC_PATH] = { -32007, 1005, "path" },
	[RPC_CHANNEL] = { -32001, 1008, "channel" },
};

int rpc_code(enum rpc_class class, bool by_shield)
{
	return by_shield ? classes[class].shield : classes[class].code;
}

const char *rpc_class_name(enum rpc_class class)
{
	return classes[class].name;
}

/* The error that was just set, as a refusal. Returns 1. */
static int rpc_refuse(struct rpc_refusal *why, enum rpc_class class, const struct error *e)
{
	*why = (struct rpc_refusal){
		.class = class, .message = e->text, .hint = e->hint[0] ? e->hint : NULL
	};
	return 1;
}

/* Lines */

int rpc_read(
	struct document *d, const char *line, size_t len, struct error *e, struct rpc_refusal *why)
{
	static const struct node_bounds bounds = { RPC_LINE_MAX, 2 * METHOD_DATA_MAX };
	int r = json_read_within(d, NULL, line, len, &bounds, e);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		e->line = e->column = 0;
		return rpc_refuse(why, RPC_PARSE, e);
	}
	if (d->root->type != NODE_LIST || (d->root->count > 0 && d->root->count <= RPC_BATCH_MAX))
		return 0;
	(void)error_set(e, -EINVAL, NULL, "a batch has 1 to %d calls", RPC_BATCH_MAX);
	return rpc_refuse(why, RPC_REQUEST, e);
}

/* Calls: values */

/* n: as it was sent; NULL: what it stands for is not allowed. */
static int rpc_bad_value(const struct schema_field *f, const char *called, const struct node *n,
	struct error *e, struct rpc_refusal *why)
{
	char what[RPC_WHAT_BYTES];

	(void)snprintf(what, sizeof(what), "parameter `%s`", called);
	if (n)
		(void)schema_refuse_node(f, what, n, NULL, e);
	else
		(void)schema_refuse(f, what, NULL, NULL, e);
	return rpc_refuse(why, RPC_PARAMS, e);
}

static int rpc_read_items(struct arena *a, const struct node *n, struct value *v)
{
	struct value_item *items = arena_calloc(a, n->count + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	node_for_each(child, n)
		items[v->n++] = (struct value_item){ child->key, child->text };
	v->items = items;
	return 0;
}

static int rpc_read_lone(struct arena *a, const struct node *n, struct value *v)
{
	struct value_item *item = arena_calloc(a, 1, sizeof(*item));

	if (!item)
		return -ENOMEM;
	item->text = n->text;
	*v = (struct value){ .type = SCHEMA_WORDS, .items = item, .n = 1 };
	return 0;
}

static int rpc_read_json(struct arena *a, const struct node *n, struct value *v)
{
	auto_buffer text = { 0 };

	json_print(&text, n, JSON_COMPACT);
	v->text = text.failed ? NULL : arena_strndup(a, buffer_text(&text), text.len);
	v->len = text.len;
	return v->text ? 0 : -ENOMEM;
}

/* -EINVAL: it is not what the row says, so far as its type goes. */
static int rpc_read_value(
	struct arena *a, const struct schema_field *f, const struct node *n, struct value *v)
{
	uint64_t number = 0;
	int r;

	/* Bytes are not known before the encoding is; how long a text may be is checked at the end.
	 */
	v->type = f->type;
	if (f->type == SCHEMA_TEXT || f->type == SCHEMA_PATH || f->type == SCHEMA_DATA) {
		v->text = n->text;
		v->len = n->type == NODE_STRING ? strlen(n->text) : 0;
		return n->type == NODE_STRING ? 0 : -EINVAL;
	}
	r = schema_parse_node(f, n, &number);
	v->number = number;
	if (r < 0)
		return r == -ENOMEM ? r : -EINVAL;
	switch (f->type) {
	case SCHEMA_WORDS:
	case SCHEMA_PAIRS:
		return rpc_read_items(a, n, v);
	case SCHEMA_JSON:
		return rpc_read_json(a, n, v);
	case SCHEMA_TIME:
	case SCHEMA_FILES:
		return -EINVAL;
	default:
		return 0;
	}
}

/* Bytes that a text stands for, once the encoding is known. */
static int rpc_decode_data(
	struct arena *a, struct rpc_call *c, struct error *e, struct rpc_refusal *why)
{
	const int wanted = rpc_wanted(c);
	const enum encoding encoding = wanted < 0 ? ENCODING_UTF_8 : (enum encoding)wanted;

	for (size_t i = 0; c->method->params[i].name; i++) {
		struct value *v = &c->params.v[i];
		int r = 0;

		if (v->type == SCHEMA_DATA)
			r = encoding_decode(encoding, v->text, v->len, a, &v->text, &v->len);
		if (r == -EINVAL) {
			(void)error_set(e, r, NULL, "parameter `%s`: it is not %s",
				method_called_field(&c->method->params[i], c->by_shield),
				method_encodings[encoding]);
			return rpc_refuse(why, RPC_PARAMS, e);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* Calls: parameters */

static int rpc_unknown_param(
	const struct rpc_call *c, const char *name, struct error *e, struct rpc_refusal *why)
{
	struct schema_names known = { .n = 0 };

	for (size_t i = 0; c->method->params[i].name; i++) {
		const char *called = method_called_field(&c->method->params[i], c->by_shield);

		if (called)
			schema_names_add(&known, called);
	}
	(void)error_set(e, -EINVAL, NULL, "%s has no parameter `%s`",
		method_called(c->method, c->by_shield), name);
	schema_names_hint(&known, name, "it has: ", e);
	return rpc_refuse(why, RPC_PARAMS, e);
}

static int rpc_check_params(struct rpc_call *c, struct error *e, struct rpc_refusal *why)
{
	for (size_t i = 0; c->method->params[i].name; i++) {
		const struct schema_field *f = &c->method->params[i];
		const char *called = method_called_field(f, c->by_shield);

		if (value_is_allowed(f, &c->params.v[i]))
			continue;
		if (c->params.v[i].type != SCHEMA_NONE)
			return rpc_bad_value(f, called, NULL, e, why);
		(void)error_set(e, -EINVAL, NULL, "%s needs the parameter `%s`",
			method_called(c->method, c->by_shield), called);
		return rpc_refuse(why, RPC_PARAMS, e);
	}
	return 0;
}

static int rpc_read_params(struct document *d, const struct node *params, struct rpc_call *c,
	struct error *e, struct rpc_refusal *why)
{
	int r;

	if (params && params->type != NODE_MAP) {
		(void)error_set(e, -EINVAL, NULL, "`params` must be a map: parameters have names");
		return rpc_refuse(why, RPC_PARAMS, e);
	}
	for (const struct node *n = params ? params->first : NULL; n; n = n->next) {
		int at = method_param(c->method, n->key, c->by_shield);

		if (at < 0)
			return rpc_unknown_param(c, n->key, e, why);
		if (c->method->lone_words && n->type == NODE_STRING &&
			c->method->params[at].type == SCHEMA_WORDS)
			r = rpc_read_lone(&d->arena, n, &c->params.v[at]);
		else
			r = rpc_read_value(&d->arena, &c->method->params[at], n, &c->params.v[at]);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			return rpc_bad_value(&c->method->params[at], n->key, n, e, why);
	}
	r = rpc_decode_data(&d->arena, c, e, why);
	return r != 0 ? r : rpc_check_params(c, e, why);
}

/* Calls: the envelope */

static int rpc_bad_request(struct error *e, struct rpc_refusal *why, const char *text)
{
	(void)error_set(e, -EINVAL, NULL, "%s", text);
	return rpc_refuse(why, RPC_REQUEST, e);
}

/* First of all, so that whatever is wrong can be answered under it. */
static int rpc_read_id(struct document *d, const struct node *n, struct rpc_call *c,
	struct error *e, struct rpc_refusal *why)
{
	const struct node *id = node_get(n, "id");
	auto_buffer text = { 0 };

	if (!id)
		return 0;
	c->id = "null";
	if (id->type != NODE_STRING && id->type != NODE_NUMBER && id->type != NODE_NULL)
		return rpc_bad_request(e, why, "`id` must be text, a number or null");
	if (id->type == NODE_NULL)
		return 0;
	if (strlen(id->text) > RPC_ID_MAX)
		return rpc_bad_request(e, why, "`id` is too long: at most 1024 bytes");
	json_print(&text, id, JSON_COMPACT);
	c->id = text.failed ? NULL : arena_strndup(&d->arena, buffer_text(&text), text.len);
	return c->id ? 0 : -ENOMEM;
}

static int rpc_check_envelope(const struct node *n, struct error *e, struct rpc_refusal *why)
{
	static const char *const keys[] = { "jsonrpc", "id", "method", "params", NULL };
	const struct node *version = node_get(n, "jsonrpc"), *method = node_get(n, "method");

	if (!version || version->type != NODE_STRING || strcmp(version->text, "2.0") != 0)
		return rpc_bad_request(e, why, "`jsonrpc` must be \"2.0\"");
	if (!method || method->type != NODE_STRING)
		return rpc_bad_request(e, why, "`method` must be text");
	node_for_each(child, n) {
		if (!words_has(keys, child->key)) {
			(void)error_set(e, -EINVAL, NULL, "a request has no `%s`", child->key);
			return rpc_refuse(why, RPC_REQUEST, e);
		}
	}
	return 0;
}

static int rpc_unknown_method(const char *name, struct error *e, struct rpc_refusal *why)
{
	const char *known[2 * METHOD_COUNT], *near;
	size_t n = 0;

	for (size_t i = 0; i < METHOD_COUNT; i++) {
		if (method_rows[i].name)
			known[n++] = method_rows[i].name;
		if (method_rows[i].shield)
			known[n++] = method_rows[i].shield;
	}
	near = suggest(name, known, n);
	(void)error_set(e, -EINVAL, NULL, "there is no method `%s`", name);
	if (near)
		error_hint(e, "did you mean `%s`? sandbox-call --list shows all", near);
	else
		error_hint(e, "sandbox-call --list shows all");
	return rpc_refuse(why, RPC_METHOD, e);
}

static int rpc_find_method(const char *name, unsigned channel, struct rpc_call *c, struct error *e,
	struct rpc_refusal *why)
{
	const struct method *m = method_find(name, strlen(name), &c->by_shield);

	c->method = m;
	if (!m)
		return rpc_unknown_method(name, e, why);
	if (!(m->channels & channel)) {
		(void)error_set(e, -EACCES, NULL, "%s cannot be called by HTTP", name);
		error_hint(e, "call it by the socket that SANDBOX_SOCKET names");
		return rpc_refuse(why, RPC_CHANNEL, e);
	}
	if (m->refused) {
		(void)error_set(e, -EACCES, NULL, "%s", m->refused);
		return rpc_refuse(why, RPC_PERMISSION, e);
	}
	return 0;
}

int rpc_call_read(struct document *d, const struct node *n, unsigned channel, struct rpc_call *ret,
	struct error *e, struct rpc_refusal *why)
{
	int r;

	*ret = (struct rpc_call){ 0 };
	*e = (struct error){ 0 };
	if (n->type != NODE_MAP) {
		ret->id = "null";
		return rpc_bad_request(e, why, "a request is a map");
	}
	r = rpc_read_id(d, n, ret, e, why);
	if (r == 0) {
		r = rpc_check_envelope(n, e, why);
		/* Whoever is not understood has not said that no answer is wanted. */
		if (r > 0 && !ret->id)
			ret->id = "null";
	}
	if (r == 0)
		r = rpc_find_method(node_get(n, "method")->text, channel, ret, e, why);
	return r != 0 ? r : rpc_read_params(d, node_get(n, "params"), ret, e, why);
}

int rpc_wanted(const struct rpc_call *c)
{
	int at = method_param(c->method, "encoding", c->by_shield);

	return at < 0 || c->params.v[at].type == SCHEMA_NONE ? -1 : (int)c->params.v[at].number;
}

/* Answers */

static void rpc_put_some(struct json_writer *w, const char *key, const char *text)
{
	if (text)
		json_put_text(w, key, text);
}

static void rpc_open(struct json_writer *w, const char *id)
{
	json_open_map(w, NULL);
	json_put_text(w, "jsonrpc", "2.0");
	json_put_raw(w, "id", id);
}

void rpc_print_refusal(
	struct buffer *out, const char *id, bool by_shield, const struct rpc_refusal *r)
{
	struct json_writer w = { .out = out };

	rpc_open(&w, id);
	json_open_map(&w, "error");
	json_put_number(&w, "code", rpc_code(r->class, by_shield));
	rpc_put_some(&w, "message", r->message);
	json_open_map(&w, "data");
	json_put_text(&w, "class", classes[r->class].name);
	rpc_put_some(&w, "hint", r->hint);
	rpc_put_some(&w, "rule", r->rule);
	if (r->n_allowed > 0) {
		json_open_list(&w, "allowed");
		for (size_t i = 0; i < r->n_allowed; i++)
			json_put_text(&w, NULL, r->allowed[i].text);
		json_close(&w);
	}
	(void)json_end(&w);
}

static void rpc_put_time(struct json_writer *w, const char *key, uint64_t ns)
{
	const int64_t since = (int64_t)ns;
	time_t seconds = (time_t)(since / 1000000000);
	int ms = (int)(since % 1000000000 / 1000000);
	char text[64];
	struct tm tm;

	if (ms < 0) {
		ms += 1000;
		seconds--;
	}
	if (!gmtime_r(&seconds, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm))
		json_put_null(w, key);
	else
		json_put_format(w, key, "%s.%03dZ", text, ms);
}

static void rpc_put_items(struct json_writer *w, const char *key, const struct value *v)
{
	const bool is_map = v->type == SCHEMA_PAIRS;

	if (is_map)
		json_open_map(w, key);
	else
		json_open_list(w, key);
	for (size_t i = 0; i < v->n; i++)
		json_put_text(w, is_map ? v->items[i].key : NULL, v->items[i].text);
	json_close(w);
}

static void rpc_put_files(struct json_writer *w, const char *key, const struct value *v)
{
	static const char *const kinds[] = {
		[VALUE_KIND_FILE] = "file",
		[VALUE_KIND_FOLDER] = "directory",
		[VALUE_KIND_LINK] = "symlink",
		[VALUE_KIND_OTHER] = "other",
	};

	json_open_list(w, key);
	for (size_t i = 0; i < v->n; i++) {
		const struct value_file *f = &v->files[i];

		json_open_map(w, NULL);
		json_put_text(w, "name", f->name);
		json_put_text(w, "path", f->path);
		json_put_text(w, "type", kinds[f->kind]);
		json_put_count(w, "size", f->size);
		rpc_put_time(w, "mtime", (uint64_t)f->modified_ns);
		json_close(w);
	}
	json_close(w);
}

/*
 * It was written by a back end, which may have been taken over: read and printed anew, it is one
 * value on one line, and cannot become a part of the answer, or an answer of its own.
 */
static void rpc_put_json(struct json_writer *w, const char *key, const struct value *v)
{
	static const struct node_bounds bounds = { RPC_LINE_MAX, 2 * METHOD_DATA_MAX };
	auto_document d = { 0 };

	if (json_read_within(&d, NULL, v->text, v->len, &bounds, NULL) == 0)
		json_put_node(w, key, d.root);
	else
		json_put_null(w, key);
}

static void rpc_put_value(struct json_writer *w, const char *key, const struct schema_field *f,
	const struct value *v, enum encoding encoding)
{
	switch (v->type) {
	case SCHEMA_TEXT:
	case SCHEMA_PATH:
		json_put_bytes(w, key, v->text, v->len);
		break;
	case SCHEMA_DATA:
		json_put_encoded(w, key, encoding, v->text, v->len);
		break;
	case SCHEMA_JSON:
		rpc_put_json(w, key, v);
		break;
	case SCHEMA_NUMBER:
		json_put_count(w, key, v->number);
		break;
	case SCHEMA_FLAG:
		json_put_flag(w, key, v->number);
		break;
	case SCHEMA_TIME:
		rpc_put_time(w, key, v->number);
		break;
	case SCHEMA_WORDS:
	case SCHEMA_PAIRS:
		rpc_put_items(w, key, v);
		break;
	case SCHEMA_FILES:
		rpc_put_files(w, key, v);
		break;
	case SCHEMA_CHOICE:
		json_put_text(w, key, f->words[v->number]);
		break;
	default:
		break;
	}
}

/* The members of a map. */
static void rpc_put_fields(struct json_writer *w, const struct schema_field *fields, bool by_shield,
	enum encoding encoding, const struct values *values)
{
	for (size_t i = 0; fields[i].name; i++) {
		const char *called = method_called_field(&fields[i], by_shield);
		const bool is_encoding = strcmp(fields[i].name, "encoding") == 0;

		if (!called || (values->v[i].type == SCHEMA_NONE && !is_encoding))
			continue;
		if (is_encoding)
			json_put_text(w, called, method_encodings[encoding]);
		else
			rpc_put_value(w, called, &fields[i], &values->v[i], encoding);
	}
}

/* How all bytes of a result are written: one way, so that one field can say it. */
static int rpc_choose_encoding(const struct method *m, bool by_shield, int wanted,
	const struct values *results, enum encoding *ret)
{
	bool fits = true, says = false;

	*ret = wanted < 0 ? ENCODING_UTF_8 : (enum encoding)wanted;
	for (size_t i = 0; m->results[i].name; i++) {
		const struct value *v = &results->v[i];

		if (v->type == SCHEMA_DATA)
			fits = fits && encoding_fits(*ret, v->text, v->len);
		if (strcmp(m->results[i].name, "encoding") == 0)
			says = method_called_field(&m->results[i], by_shield) != NULL;
	}
	if (fits)
		return 0;
	if (wanted < 0 && says)
		*ret = ENCODING_BASE64;
	return (wanted < 0 && says) || m->is_lossy ? 0 : -EILSEQ;
}

int rpc_print_result(struct buffer *out, const char *id, const struct method *m, bool by_shield,
	int wanted, const struct values *results)
{
	struct json_writer w = { .out = out };
	enum encoding encoding;

	if (rpc_choose_encoding(m, by_shield, wanted, results, &encoding) < 0) {
		const struct rpc_refusal r = { .class = RPC_PATH,
			.message = "the content is not UTF-8 text",
			.hint = "ask for the encoding base64" };

		rpc_print_refusal(out, id, by_shield, &r);
		return 1;
	}
	rpc_open(&w, id);
	json_open_map(&w, "result");
	rpc_put_fields(&w, m->results, by_shield, encoding, results);
	json_close(&w);
	json_close(&w);
	return 0;
}

void rpc_print_note(struct buffer *out, const char *id, const struct method *m, bool by_shield,
	int wanted, const struct values *notes)
{
	enum encoding encoding = wanted < 0 ? ENCODING_UTF_8 : (enum encoding)wanted;
	struct json_writer w = { .out = out };

	for (size_t i = 0; m->notes[i].name; i++)
		if (notes->v[i].type == SCHEMA_DATA &&
			!encoding_fits(encoding, notes->v[i].text, notes->v[i].len))
			encoding = ENCODING_BASE64;
	json_open_map(&w, NULL);
	json_put_text(&w, "jsonrpc", "2.0");
	json_put_text(&w, "method", m->note);
	json_open_map(&w, "params");
	json_put_raw(&w, "id", id);
	rpc_put_fields(&w, m->notes, by_shield, encoding, notes);
	(void)json_end(&w);
}
