/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/client/arguments.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/words.h"
#include "codec/encoding.h"
#include "broker/rpc.h"
#include "codec/json.h"

struct arguments {
	const struct method *method;
	bool by_shield;
	struct arena *arena;
	struct node *map;
	bool is_base64; /* a value that was read had to be */
	struct error *error;
};

/* One word, taken apart. */
struct argument {
	const struct schema_field *field;
	const char *name;  /* of the parameter, as it is called */
	const char *key;   /* behind the dot, of a map; NULL: there is none */
	const char *value; /* behind the sign */
	bool is_json;
};

/* Names */

static const char *arguments_method(const struct arguments *s)
{
	return method_called(s->method, s->by_shield);
}

static int arguments_unknown(const struct arguments *s, const char *name)
{
	struct schema_names known = { .n = 0 };

	for (size_t i = 0; s->method->params[i].name; i++) {
		const char *called = method_called_field(&s->method->params[i], s->by_shield);

		if (called)
			schema_names_add(&known, called);
	}
	(void)error_set(
		s->error, -EINVAL, NULL, "%s has no parameter `%s`", arguments_method(s), name);
	error_hint(s->error, "sandbox-call --help %s shows all", arguments_method(s));
	schema_names_hint(&known, name, "", s->error);
	return -EINVAL;
}

static int arguments_split(struct arguments *s, const char *word, struct argument *ret)
{
	const char *sign = strchr(word, '=');
	const char *dot = strchr(word, '.');
	size_t len;
	char *name;
	int at;

	if (!sign || sign == word) {
		(void)error_set(
			s->error, -EINVAL, NULL, "`%s` is no parameter: write NAME=VALUE", word);
		return -EINVAL;
	}
	ret->is_json = sign[-1] == ':';
	ret->value = sign + 1;
	len = (size_t)(sign - word) - ret->is_json;
	ret->key = NULL;
	if (dot && dot < word + len) {
		ret->key = arena_strndup(s->arena, dot + 1, len - (size_t)(dot + 1 - word));
		len = (size_t)(dot - word);
	}
	name = arena_strndup(s->arena, word, len);
	if (!name || (dot && dot < sign && !ret->key)) {
		(void)error_no_memory(s->error);
		return -ENOMEM;
	}
	at = method_param(s->method, name, s->by_shield);
	if (at < 0)
		return arguments_unknown(s, name);
	ret->field = &s->method->params[at];
	ret->name = name;
	if (ret->key && ret->field->type != SCHEMA_PAIRS)
		return error_set(s->error, -EINVAL, NULL,
			"parameter `%s` is no map: write %s=VALUE", name, name);
	return 0;
}

/* Values */

/* The text that is meant, which may stand in a file. */
static int argument_text(
	struct arguments *s, const struct argument *g, const char **ret, size_t *ret_len)
{
	auto_buffer bytes = { 0 };
	int r;

	*ret = g->value;
	if (g->value[0] == '@' && g->value[1] == '@')
		*ret = g->value + 1;
	*ret_len = strlen(*ret);
	if (g->value[0] != '@' || g->value[1] == '@')
		return 0;
	r = file_read(g->value + 1, METHOD_DATA_MAX, &bytes);
	if (r == -EFBIG)
		return error_set(s->error, r, NULL, "`%s`: more than %d bytes", g->value + 1,
			METHOD_DATA_MAX);
	if (r < 0)
		return error_set(
			s->error, r, NULL, "cannot read `%s`: %s", g->value + 1, strerror(-r));
	*ret = arena_strndup(s->arena, buffer_text(&bytes), bytes.len);
	*ret_len = bytes.len;
	return *ret ? 0 : error_no_memory(s->error);
}

static struct node *argument_base64(struct arena *a, const char *data, size_t len)
{
	auto_buffer text = { 0 };

	encoding_print(ENCODING_BASE64, data, len, &text);
	return text.failed ? NULL : node_new_text(a, buffer_text(&text));
}

static int argument_string(struct arguments *s, const struct argument *g, struct node **ret)
{
	const char *text;
	size_t len;
	int r = argument_text(s, g, &text, &len);

	if (r < 0)
		return r;
	if (encoding_fits(ENCODING_UTF_8, text, len)) {
		*ret = node_new_text(s->arena, text);
	} else if (g->field->type == SCHEMA_DATA &&
		   method_param(s->method, "encoding", s->by_shield) >= 0) {
		s->is_base64 = true;
		*ret = argument_base64(s->arena, text, len);
	} else {
		return error_set(
			s->error, -EINVAL, NULL, "parameter `%s`: it is no UTF-8 text", g->name);
	}
	return *ret ? 0 : error_no_memory(s->error);
}

static int argument_number(struct arguments *s, const struct argument *g, struct node **ret)
{
	const bool is_octal = g->value[0] == '0' && g->value[1] == 'o';
	const char *digits = g->value + (is_octal ? 2 : 0);
	int64_t number = 0;

	for (const char *p = digits; *p; p++) {
		if (*p < '0' || *p > (is_octal ? '7' : '9') || number > INT64_MAX / 16)
			digits = "";
		number = number * (is_octal ? 8 : 10) + (*p - '0');
	}
	/* 0644 could be meant either way. */
	if (!*digits || (!is_octal && digits[0] == '0' && digits[1])) {
		(void)error_set(s->error, -EINVAL, NULL, "parameter `%s`: `%s` is no whole number",
			g->name, g->value);
		error_hint(s->error, "write 420, or 0o644 for octal digits");
		return -EINVAL;
	}
	*ret = node_new_integer(s->arena, number);
	return *ret ? 0 : error_no_memory(s->error);
}

static int argument_flag(struct arguments *s, const struct argument *g, struct node **ret)
{
	static const char *const yes[] = { "true", "yes", "on", "1", NULL };
	static const char *const no[] = { "false", "no", "off", "0", NULL };

	if (!words_has(yes, g->value) && !words_has(no, g->value))
		return error_set(s->error, -EINVAL, NULL,
			"parameter `%s`: expected true or false, not `%s`", g->name, g->value);
	*ret = node_new_boolean(s->arena, words_has(yes, g->value));
	return *ret ? 0 : error_no_memory(s->error);
}

static int argument_json(struct arguments *s, const struct argument *g, struct node **ret)
{
	static const struct node_bounds bounds = { RPC_LINE_MAX, 2 * METHOD_DATA_MAX };
	auto_document d = { 0 };
	const char *text;
	struct error e;
	size_t len;
	int r = argument_text(s, g, &text, &len);

	if (r < 0)
		return r;
	r = json_read_within(&d, NULL, text, len, &bounds, &e);
	if (r < 0)
		return error_set(
			s->error, r, NULL, "parameter `%s`: it is no JSON: %s", g->name, e.text);
	*ret = node_copy(s->arena, d.root);
	return *ret ? 0 : error_no_memory(s->error);
}

static int argument_value(struct arguments *s, const struct argument *g, struct node **ret)
{
	if (g->is_json || g->field->type == SCHEMA_JSON)
		return argument_json(s, g, ret);
	switch (g->field->type) {
	case SCHEMA_NUMBER:
		return argument_number(s, g, ret);
	case SCHEMA_FLAG:
		return argument_flag(s, g, ret);
	default:
		return argument_string(s, g, ret);
	}
}

/* The map */

/* The list or map that one more value belongs to; NULL: out of memory. */
static struct node *arguments_collection(struct arguments *s, const struct argument *g)
{
	struct node *have = node_get(s->map, g->name);

	return have ? have
		    : node_put(s->arena, s->map, g->name,
			      node_new(s->arena,
				      g->field->type == SCHEMA_PAIRS ? NODE_MAP : NODE_LIST));
}

static int arguments_twice(struct arguments *s, const char *name)
{
	return error_set(s->error, -EINVAL, NULL, "parameter `%s` is given twice", name);
}

static int arguments_add(struct arguments *s, const struct argument *g)
{
	const bool is_item = !g->is_json && g->field->type == SCHEMA_WORDS;
	struct node *value = NULL, *into;
	int r = argument_value(s, g, &value);

	if (r < 0)
		return r;
	if (g->field->type == SCHEMA_PAIRS && !g->key && !g->is_json)
		return error_set(s->error, -EINVAL, NULL,
			"parameter `%s` is a map: write %s.NAME=VALUE", g->name, g->name);
	if (!is_item && !g->key) {
		if (node_get(s->map, g->name))
			return arguments_twice(s, g->name);
		return node_put(s->arena, s->map, g->name, value) ? 0 : error_no_memory(s->error);
	}
	into = arguments_collection(s, g);
	if (!into)
		return error_no_memory(s->error);
	if (into->type != (is_item ? NODE_LIST : NODE_MAP) || (g->key && node_get(into, g->key)))
		return arguments_twice(s, g->name);
	return (is_item ? node_append(into, value) : node_put(s->arena, into, g->key, value))
		       ? 0
		       : error_no_memory(s->error);
}

/* Bytes that had to be encoded say how. */
static int arguments_add_encoding(struct arguments *s)
{
	if (!s->is_base64)
		return 0;
	if (node_get(s->map, "encoding"))
		return error_set(s->error, -EINVAL, NULL,
			"a file with bytes that are no text goes as base64: leave `encoding` out");
	return node_put(s->arena, s->map, "encoding", node_new_text(s->arena, "base64"))
		       ? 0
		       : error_no_memory(s->error);
}

int arguments_read(const struct method *m, bool by_shield, const char *const *words, size_t n,
	struct arena *a, struct node **ret, struct error *e)
{
	struct arguments s = { .method = m,
		.by_shield = by_shield,
		.arena = a,
		.map = node_new(a, NODE_MAP),
		.error = e };
	bool has_stdin = false;
	int r = s.map ? 0 : error_no_memory(e);

	for (size_t i = 0; r == 0 && i < n; i++) {
		struct argument g = { 0 };

		r = arguments_split(&s, words[i], &g);
		if (r == 0 && strcmp(g.value, "@-") == 0) {
			if (has_stdin)
				return error_set(
					e, -EINVAL, NULL, "standard input can be read only once");
			has_stdin = true;
		}
		if (r == 0)
			r = arguments_add(&s, &g);
	}
	if (r == 0)
		r = arguments_add_encoding(&s);
	if (r == 0)
		*ret = s.map;
	return r;
}
