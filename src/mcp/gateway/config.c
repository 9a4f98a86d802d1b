/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/gateway/config.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "codec/json.h"
#include "codec/schema.h"
#include "codec/yaml.h"
#include "mcp/gateway/shape.h"
#include "mcp/remote/endpoint.h"

enum server_key {
	KEY_COMMAND,
	KEY_OPTIONS,
	KEY_TIMEOUT,
	KEY_START,
	KEY_RESULT,
	KEY_TOOLS, /* and on: in the order of enum gateway_kind */
	KEY_PROMPTS,
	KEY_RESOURCES,
	KEY_URL,
	KEY_SECRET,
	KEY_HEADERS,
	KEYS,
};

#define RESULT_LIMIT (UINT64_C(8) << 20)
#define DAY_MS (UINT64_C(24) * 60 * 60 * 1000)

static const struct schema_field server_keys[KEYS + 1] = {
	[KEY_COMMAND] = { "command", SCHEMA_WORDS, .max = 64 << 10 },
	[KEY_OPTIONS] = { "options", SCHEMA_WORDS, .max = 64 << 10 },
	[KEY_TIMEOUT] = { "timeout", SCHEMA_DURATION, .max = DAY_MS, .min = 1 },
	[KEY_START] = { "start_timeout", SCHEMA_DURATION, .max = DAY_MS, .min = 1 },
	[KEY_RESULT] = { "result_max", SCHEMA_SIZE, .max = RESULT_LIMIT, .min = 1024 },
	[KEY_TOOLS] = { "tools", SCHEMA_MAP },
	[KEY_PROMPTS] = { "prompts", SCHEMA_OTHER },
	[KEY_RESOURCES] = { "resources", SCHEMA_OTHER },
	[KEY_URL] = { "url", SCHEMA_TEXT, .max = ENDPOINT_URL_MAX },
	[KEY_SECRET] = { "secret", SCHEMA_TEXT, .max = 256 },
	[KEY_HEADERS] = { "headers", SCHEMA_MAP },
};

static const struct schema_field list_keys[] = {
	{ .name = "allow", .type = SCHEMA_LIST },
	{ .name = "ask", .type = SCHEMA_LIST },
	{ .name = "deny", .type = SCHEMA_LIST },
	{ .name = NULL },
};
static const enum verdict list_verdicts[] = { VERDICT_ALLOW, VERDICT_ASK, VERDICT_DENY };

struct gateway_reader {
	struct gateway_config *config;
	const char *home;
	struct error *e;
};

/* Evaluates to -EINVAL, with the place of n. */
#define CONFIG_REFUSE(r, n, ...)                                                           \
	({                                                                                 \
		const struct location refused_ = node_location(&(r)->config->document, n); \
		error_set((r)->e, -EINVAL, &refused_, __VA_ARGS__);                        \
	})

static int config_unknown(
	const struct gateway_reader *r, const struct schema_field *keys, const struct node *n)
{
	const struct location where = node_key_location(&r->config->document, n);
	struct schema_names names = { .n = 0 };

	(void)error_set(r->e, -EINVAL, &where, "unknown key `%.64s`", n->key);
	for (const struct schema_field *f = keys; f->name; f++)
		schema_names_add(&names, f->name);
	schema_names_hint(&names, n->key, "there are: ", r->e);
	return -EINVAL;
}

/* Rules */

static bool config_has_pattern(const struct node *schema)
{
	if (schema->type == NODE_MAP && node_get(schema, "pattern"))
		return true;
	node_for_each(child, schema) {
		if (config_has_pattern(child))
			return true;
	}
	return false;
}

static int config_read_rule(const struct gateway_reader *r, struct gateway_server *s,
	enum gateway_kind kind, enum verdict v, const struct node *n)
{
	struct gateway_rules *rules = &s->rules[kind];
	struct gateway_rule rule = { .verdict = v, .line = n->line };
	const struct node *name = n->type == NODE_MAP ? node_get(n, "name") : n;
	int ret;

	if (!name || name->type != NODE_STRING || !*name->text)
		return CONFIG_REFUSE(r, n,
			"a rule is the %s of a %s, with * and ?, or a map of `name` and "
			"`arguments`",
			kind == GATEWAY_RESOURCE ? "URI" : "name", gateway_kind_name(kind));
	rule.name = name->text;
	for (const struct node *k = n->type == NODE_MAP ? n->first : NULL; k; k = k->next) {
		static const struct schema_field keys[] = { { .name = "name", .type = SCHEMA_TEXT },
			{ .name = "arguments", .type = SCHEMA_MAP }, { .name = NULL } };

		if (!schema_find(keys, k->key))
			return config_unknown(r, keys, k);
	}
	rule.arguments = n->type == NODE_MAP ? node_get(n, "arguments") : NULL;
	if (rule.arguments && kind == GATEWAY_RESOURCE)
		return CONFIG_REFUSE(r, rule.arguments, "a resource has no arguments");
	ret = rule.arguments ? shape_check(rule.arguments, &r->config->document, r->e) : 0;
	if (ret < 0)
		return ret;
	rules->has_patterns |= rule.arguments && config_has_pattern(rule.arguments);
	if (rules->n == GATEWAY_RULES_MAX)
		return CONFIG_REFUSE(r, n, "%s has too many rules", s->name);
	ret = ARENA_PUSH(&r->config->document.arena, rules->items, rules->n, rules->cap, rule);
	return ret < 0 ? error_no_memory(r->e) : 0;
}

static int config_read_rules(const struct gateway_reader *r, struct gateway_server *s,
	enum gateway_kind kind, const struct node *lists)
{
	struct gateway_rules *rules = &s->rules[kind];

	if (kind != GATEWAY_TOOL && node_boolean(lists, &rules->is_on) == 0)
		return 0;
	if (lists->type != NODE_MAP)
		return CONFIG_REFUSE(r, lists, "`%s` is %sa map of allow, ask and deny", lists->key,
			kind == GATEWAY_TOOL ? "" : "true, or ");
	rules->is_on = true;
	node_for_each(list, lists) {
		const struct schema_field *f = schema_find(list_keys, list->key);
		enum verdict v;

		if (!f)
			return config_unknown(r, list_keys, list);
		if (list->type != NODE_LIST)
			return CONFIG_REFUSE(r, list, "`%s` is a list of %ss", list->key,
				gateway_kind_name(kind));
		v = list_verdicts[f - list_keys];
		rules->has_allow |= v == VERDICT_ALLOW;
		node_for_each(rule, list) {
			int ret = config_read_rule(r, s, kind, v, rule);

			if (ret < 0)
				return ret;
		}
	}
	return 0;
}

/* Servers */

static int config_read_words(
	const struct gateway_reader *r, const struct node *list, const char *const **ret)
{
	struct arena *a = &r->config->document.arena;
	const char **words = arena_calloc(a, (list ? list->count : 0) + 1, sizeof(*words));
	size_t n = 0;

	if (!words)
		return error_no_memory(r->e);
	if (list && list->count > GATEWAY_WORDS_MAX)
		return CONFIG_REFUSE(r, list, "too many words in `%s`", list->key);
	for (const struct node *w = list ? list->first : NULL; w; w = w->next) {
		const bool is_home = strncmp(w->text, "~/", 2) == 0 && r->home;

		words[n++] = is_home ? arena_printf(a, "%s%s", r->home, w->text + 1) : w->text;
		if (!words[n - 1])
			return error_no_memory(r->e);
	}
	*ret = words;
	return 0;
}

static int config_check_name(const struct gateway_reader *r, const struct node *n)
{
	const struct location where = node_key_location(&r->config->document, n);
	const char *name = n->key;
	const size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (len == 0 || name[len] || len > GATEWAY_NAME_MAX || name[0] == '-')
		return error_set(r->e, -EINVAL, &where,
			"`%.64s` cannot be the name of a server: it has up to %d of a-z, 0-9 and "
			"-, and stands before its tools, as in notes__read_file",
			name, GATEWAY_NAME_MAX);
	if (strcmp(name, "corral") == 0)
		return error_set(r->e, -EINVAL, &where,
			"no server can be called corral: the gateway's own tools are");
	return 0;
}

/* A header, as `corral mcp remote` takes it; NULL: the error says why not. */
static const char *config_read_header(const struct gateway_reader *r, const struct node *n)
{
	const struct location where = node_location(&r->config->document, n);
	const char *text = n->type == NODE_STRING || n->type == NODE_NUMBER ? n->text : NULL;
	const char *line;

	if (!text) {
		(void)CONFIG_REFUSE(r, n, "the header %.64s is a text", n->key);
		return NULL;
	}
	if (endpoint_check_header(n->key, text, &where, r->e) < 0)
		return NULL;
	line = arena_printf(&r->config->document.arena, "%s: %s", n->key, text);
	if (!line)
		(void)error_no_memory(r->e);
	return line;
}

static int config_read_headers(
	const struct gateway_reader *r, const struct node *headers, const char **words, size_t *at)
{
	if (headers->type != NODE_MAP || headers->count > GATEWAY_HEADERS_MAX)
		return CONFIG_REFUSE(r, headers,
			"`headers` is a map of names and texts, of %d at most",
			GATEWAY_HEADERS_MAX);
	node_for_each(h, headers) {
		const char *line = config_read_header(r, h);

		if (!line)
			return -EINVAL;
		words[(*at)++] = "--header";
		words[(*at)++] = line;
	}
	return 0;
}

/* The URL of a server over HTTP, and what stands behind it. */
static int config_read_remote(
	const struct gateway_reader *r, const struct node *n, struct gateway_server *s)
{
	const struct node *url = node_get(n, "url"), *secret = node_get(n, "secret");
	const struct node *headers = node_get(n, "headers");
	const struct location where = node_location(&r->config->document, url);
	const char **words = arena_calloc(
		&r->config->document.arena, 4 + 2 * (size_t)GATEWAY_HEADERS_MAX, sizeof(*words));
	struct remote_endpoint endpoint;
	size_t at = 0;
	int ret;

	if (!words)
		return error_no_memory(r->e);
	ret = endpoint_read(&endpoint, url->text, &where, r->e);
	if (ret < 0)
		return ret;
	if (secret && (!secret->text[0] || secret->text[0] == '-' || strpbrk(secret->text, "=,")))
		return CONFIG_REFUSE(r, secret,
			"`secret` is the name of a secret in the vault, such as API_TOKEN");
	if (secret && !endpoint.is_https)
		return CONFIG_REFUSE(
			r, secret, "secrets go over https:// alone, and the url is http://");
	words[at++] = url->text;
	if (secret) {
		words[at++] = "--secret";
		words[at++] = secret->text;
	}
	ret = headers ? config_read_headers(r, headers, words, &at) : 0;
	s->command = words;
	s->is_remote = true;
	return ret;
}

static int config_check_kind(const struct gateway_reader *r, const struct node *n)
{
	const struct node *command = node_get(n, "command"), *url = node_get(n, "url");

	if (command && url)
		return CONFIG_REFUSE(
			r, url, "the server %s has both a `command` and a `url`", n->key);
	for (size_t i = KEY_SECRET; !url && i <= KEY_HEADERS; i++)
		if (node_get(n, server_keys[i].name))
			return CONFIG_REFUSE(r, node_get(n, server_keys[i].name),
				"`%s` is for servers with a `url`; of others, put "
				"`--secret` among their `options`",
				server_keys[i].name);
	return 0;
}

/* Each server is in a sandbox, which hides this file from it. */
static int config_check_options(const struct gateway_reader *r, const struct node *options)
{
	/* The folder of a mode chooses one, too: that of daemon.json. */
	static const char *const weaker[] = { "--mode", "--data-dir", "--tier" };

	node_for_each(w, options) {
		for (size_t i = 0; i < ROWS(weaker); i++) {
			const size_t len = strlen(weaker[i]);

			if (strncmp(w->text, weaker[i], len) == 0 &&
				(!w->text[len] || w->text[len] == '='))
				return CONFIG_REFUSE(r, w,
					"`%s` is not for servers of a gateway: each is in a whole "
					"sandbox; grant what it needs by `--read`, `--write`, "
					"`--net` and `--exec`",
					weaker[i]);
		}
	}
	return 0;
}

/* What is needed. */
static int config_check_server(const struct gateway_reader *r, const struct node *n)
{
	const struct node *command = node_get(n, "command"), *options = node_get(n, "options");
	int ret = config_check_kind(r, n);

	if (ret < 0)
		return ret;
	if (!node_get(n, "url") && (!command || command->count == 0))
		return CONFIG_REFUSE(r, n,
			"the server %s needs a `command`, a list of words, or a `url`", n->key);
	if (command && !*command->first->text)
		return CONFIG_REFUSE(r, command, "the first word of `command` is empty");
	for (const struct node *w = options ? options->first : NULL; w; w = w->next)
		if (strcmp(w->text, "--") == 0)
			return CONFIG_REFUSE(
				r, w, "`%s` stands before the command by itself", w->text);
	return options ? config_check_options(r, options) : 0;
}

static int config_read_server(
	const struct gateway_reader *r, const struct node *n, struct gateway_server *s)
{
	uint64_t values[KEYS] = {
		[KEY_TIMEOUT] = 120 * 1000, [KEY_START] = 30 * 1000, [KEY_RESULT] = 1 << 20
	};
	int ret = config_check_name(r, n);

	if (ret < 0)
		return ret;
	s->name = n->key;
	if (n->type != NODE_MAP)
		return CONFIG_REFUSE(
			r, n, "the server %s is a map with a `command` or a `url`", n->key);
	node_for_each(k, n) {
		const struct location where = node_location(&r->config->document, k);
		const struct schema_field *f = schema_find(server_keys, k->key);

		if (!f)
			return config_unknown(r, server_keys, k);
		if (f->type != SCHEMA_OTHER &&
			schema_parse_node(f, k, &values[f - server_keys]) < 0)
			return schema_refuse_node(f, f->name, k, &where, r->e);
	}
	ret = config_check_server(r, n);
	s->timeout_ms = values[KEY_TIMEOUT];
	s->start_ms = values[KEY_START];
	s->result_max = values[KEY_RESULT];
	if (ret == 0)
		ret = node_get(n, "url")
			      ? config_read_remote(r, n, s)
			      : config_read_words(r, node_get(n, "command"), &s->command);
	if (ret == 0)
		ret = config_read_words(r, node_get(n, "options"), &s->options);
	s->rules[GATEWAY_TOOL].is_on = true;
	for (int i = 0; ret == 0 && i < GATEWAY_KINDS; i++) {
		const struct node *rules = node_get(n, server_keys[KEY_TOOLS + i].name);

		if (rules)
			ret = config_read_rules(r, s, (enum gateway_kind)i, rules);
	}
	return ret;
}

static int config_read_servers(const struct gateway_reader *r)
{
	static const struct schema_field keys[] = { { .name = "servers", .type = SCHEMA_MAP },
		{ .name = NULL } };
	struct gateway_config *c = r->config;
	const struct node *root = c->document.root, *servers = node_get(root, "servers");

	if (root->type != NODE_MAP || !servers || servers->type != NODE_MAP || servers->count == 0)
		return CONFIG_REFUSE(r, root, "a map `servers` is expected, with a server in it");
	node_for_each(k, root) {
		if (!schema_find(keys, k->key))
			return config_unknown(r, keys, k);
	}
	if (servers->count > GATEWAY_SERVERS_MAX)
		return CONFIG_REFUSE(r, servers, "there are too many servers");
	c->servers = arena_calloc(&c->document.arena, servers->count, sizeof(*c->servers));
	if (!c->servers)
		return error_no_memory(r->e);
	node_for_each(n, servers) {
		int ret = config_read_server(r, n, &c->servers[c->n]);

		if (ret < 0)
			return ret;
		c->n++;
	}
	return 0;
}

int gateway_config_read(struct gateway_config *c, const char *file, const char *text, size_t len,
	const char *home, struct error *e)
{
	const struct gateway_reader reader = { c, home, e };
	const size_t n = file ? strlen(file) : 0;
	const bool is_json = n > 5 && strcmp(file + n - 5, ".json") == 0;
	int r;

	*c = (struct gateway_config){ 0 };
	r = is_json ? json_read(&c->document, file, text, len, e)
		    : yaml_read(&c->document, file, 1, text, len, e);
	if (r == 0)
		r = config_read_servers(&reader);
	if (r < 0)
		gateway_config_deinit(c);
	return r;
}

void gateway_config_deinit(struct gateway_config *c)
{
	document_deinit(&c->document);
	*c = (struct gateway_config){ 0 };
}
