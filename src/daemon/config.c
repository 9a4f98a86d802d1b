/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/formats.h"
#include "base/path.h"
#include "base/suggest.h"
#include "base/words.h"
#include "codec/json.h"
#include "codec/yaml.h"

enum { CONFIG_FILE_MAX = 64 << 10, CONFIG_PORT = 3847, CONFIG_HEARTBEAT = 15, CONFIG_WATCH = 10 };

static const char *const config_levels[] = { "error", "warn", "info", "debug", NULL };

struct config config_default(void)
{
	return (struct config){ .port = CONFIG_PORT,
		.level = CONFIG_INFO,
		.heartbeat_ms = CONFIG_HEARTBEAT * 1000,
		.watch_ms = CONFIG_WATCH * 1000,
		.sandbox_mode = "sandbox" };
}

static const char *const config_modes[] = { "enforce", "audit", "monitor", NULL };

const char *config_mode_name(enum config_mode mode)
{
	return config_modes[mode];
}

const char *config_level_name(enum config_level level)
{
	return config_levels[level];
}

/* Keys. Each returns what is expected, or NULL if the value is that. */

static const char *config_set_port(struct config *c, const struct node *n)
{
	int64_t port;

	c->no_port = n->type == NODE_STRING && strcmp(n->text, "none") == 0;
	if (c->no_port)
		return NULL;
	if (n->type != NODE_NUMBER || node_integer(n, &port) < 0 || port < 0 || port > UINT16_MAX)
		return "a port, 0 for any that is free, or \"none\"";
	c->port = (uint16_t)port;
	return NULL;
}

static const char *config_set_host(struct config *c, const struct node *n)
{
	static const char *const hosts[] = { "127.0.0.1", "localhost", "::1", NULL };
	const int i = n->type == NODE_STRING ? words_find(hosts, n->text, strlen(n->text)) : -1;

	c->is_v6 = i == 2;
	return i < 0 ? "\"127.0.0.1\", \"localhost\" or \"::1\": the API is for this machine alone"
		     : NULL;
}

static const char *config_set_level(struct config *c, const struct node *n)
{
	const int i =
		n->type == NODE_STRING ? words_find(config_levels, n->text, strlen(n->text)) : -1;

	if (i < 0)
		return "\"error\", \"warn\", \"info\" or \"debug\"";
	c->level = (enum config_level)i;
	return NULL;
}

static const char *config_set_seconds(uint32_t *ms, const struct node *n)
{
	int64_t seconds;

	if (n->type != NODE_NUMBER || node_integer(n, &seconds) < 0 || seconds < 1 ||
		seconds > 3600)
		return "seconds, from 1 to 3600";
	*ms = (uint32_t)seconds * 1000;
	return NULL;
}

static const char *config_set_heartbeat(struct config *c, const struct node *n)
{
	return config_set_seconds(&c->heartbeat_ms, n);
}

static const char *config_set_watch(struct config *c, const struct node *n)
{
	return config_set_seconds(&c->watch_ms, n);
}

static const char *config_set_log(struct config *c, const struct node *n)
{
	if (n->type != NODE_STRING || n->text[0] != '/' || strlen(n->text) >= sizeof(c->log_file))
		return "an absolute path";
	(void)snprintf(c->log_file, sizeof(c->log_file), "%s", n->text);
	return NULL;
}

static const char *config_set_mode(struct config *c, const struct node *n)
{
	const int i =
		n->type == NODE_STRING ? words_find(config_modes, n->text, strlen(n->text)) : -1;

	if (i < 0)
		return "\"enforce\", \"audit\" or \"monitor\"";
	c->has_mode = true;
	c->mode = (enum config_mode)i;
	return NULL;
}

/* A list of folders, one behind the other. */
static const char *config_set_skills(struct config *c, const struct node *n)
{
	static const char expected[] = "a list of absolute paths, 4,000 bytes in all";
	size_t used = 0;

	if (n->type != NODE_LIST)
		return expected;
	memset(c->skills, 0, sizeof(c->skills));
	node_for_each(child, n) {
		const size_t len = child->type == NODE_STRING ? strlen(child->text) : 0;

		if (!len || child->text[0] != '/' || used + len + 2 > sizeof(c->skills))
			return expected;
		memcpy(c->skills + used, child->text, len + 1);
		used += len + 1;
	}
	return NULL;
}

/* As Omega has it, beside `daemon`. */
static const char *config_set_sandbox(struct config *c, const struct node *n)
{
	static const char *const modes[] = { "sandbox", "rx", "rwx", NULL };
	const struct node *mode = n->type == NODE_MAP ? node_get(n, "mode") : NULL;

	if (!mode || n->count != 1 || mode->type != NODE_STRING ||
		words_find(modes, mode->text, strlen(mode->text)) < 0)
		return "a map with `mode` alone: \"sandbox\", \"rx\" or \"rwx\"";
	(void)snprintf(c->sandbox_mode, sizeof(c->sandbox_mode), "%s", mode->text);
	return NULL;
}

static const char *config_set_version(struct config *c, const struct node *n)
{
	(void)c;
	return node_text(n) ? NULL : "a version, as text";
}

static const struct {
	const char *name;
	const char *(*set)(struct config *c, const struct node *n);
	bool outside; /* beside `daemon`, not in it */
} config_keys[] = {
	{ "port", config_set_port, false },
	{ "host", config_set_host, false },
	{ "logLevel", config_set_level, false },
	{ "logFile", config_set_log, false },
	{ "heartbeat", config_set_heartbeat, false },
	{ "watch", config_set_watch, false },
	{ "mode", config_set_mode, false },
	{ "skills", config_set_skills, false },
	{ "sandbox", config_set_sandbox, true },
	{ "version", config_set_version, true },
};

static int config_unknown(
	const struct document *d, const struct node *n, bool outside, struct error *e)
{
	const struct location where = node_key_location(d, n);
	const char *names[ROWS(config_keys) + 1], *near;
	size_t count = 0;

	for (size_t i = 0; i < ROWS(config_keys); i++)
		if (config_keys[i].outside == outside)
			names[count++] = config_keys[i].name;
	if (outside)
		names[count++] = "daemon";
	near = suggest(n->key, names, count);
	(void)error_set(e, -EINVAL, &where, "unknown key `%.64s`", n->key);
	if (near)
		error_hint(e, "did you mean `%s`? corrald(8) lists the keys", near);
	else
		error_hint(e, "corrald(8) lists the keys");
	return -EINVAL;
}

static int config_read_map(struct config *c, const struct document *d, const struct node *map,
	bool outside, struct error *e)
{
	node_for_each(n, map) {
		const struct location where = node_location(d, n);
		const char *expected = NULL;
		size_t i = 0;

		if (outside && strcmp(n->key, "daemon") == 0) {
			int r = n->type == NODE_MAP
					? config_read_map(c, d, n, false, e)
					: error_set(e, -EINVAL, &where, "`daemon` must be a map");

			if (r < 0)
				return r;
			continue;
		}
		while (i < ROWS(config_keys) && (config_keys[i].outside != outside ||
							strcmp(config_keys[i].name, n->key) != 0))
			i++;
		if (i == ROWS(config_keys))
			return config_unknown(d, n, outside, e);
		expected = config_keys[i].set(c, n);
		if (expected)
			return error_set(e, -EINVAL, &where, "`%s` must be %s", n->key, expected);
	}
	return 0;
}

/* "1", "1.2.0": what stands before the dot counts. Other texts are AgenShield's matter. */
static int config_check_version(const struct node *root, const char *file, struct error *e)
{
	const char *text = node_get_text(root, "version");
	const size_t digits = strspn(text, "0123456789");
	int r;

	if (digits == 0 || (text[digits] && text[digits] != '.'))
		return 0;
	r = formats_check(FORMAT_DAEMON, strtoull(text, NULL, 10), file, e);
	return r < 0 ? r : 0;
}

int config_read(struct config *c, const char *file, const char *text, size_t len, struct error *e)
{
	const size_t n = strlen(file);
	const bool is_json = n > 5 && strcmp(file + n - 5, ".json") == 0;
	struct config changed = *c;
	auto_document d = { 0 };
	int r = is_json ? json_read(&d, file, text, len, e) : yaml_read(&d, file, 1, text, len, e);

	if (r < 0)
		return r;
	if (d.root->type != NODE_MAP && d.root->type != NODE_NULL) {
		const struct location where = node_location(&d, d.root);

		return error_set(e, -EINVAL, &where, "a map with the key `daemon` is expected");
	}
	/* Before its keys, which may be others in another version. */
	if (d.root->type == NODE_MAP)
		r = config_check_version(d.root, file, e);
	if (r == 0)
		r = config_read_map(&changed, &d, d.root, true, e);
	if (r < 0)
		return r;
	(void)snprintf(changed.source, sizeof(changed.source), "%s", file);
	*c = changed;
	return 0;
}

int config_load(struct config *c, const char *file, struct error *e)
{
	auto_buffer text = { 0 };
	int r = file_read_regular(file, CONFIG_FILE_MAX, &text);

	if (r < 0)
		return error_set(e, r, NULL, "cannot read %s: %s", file, file_words(r));
	return config_read(c, file, buffer_text(&text), text.len, e);
}

int config_find(struct config *c, const char *folder, struct error *e)
{
	char json[PATH_BYTES], yaml[PATH_BYTES];
	bool has_json, has_yaml;
	struct stat st;

	(void)snprintf(json, sizeof(json), "%s/daemon.json", folder);
	(void)snprintf(yaml, sizeof(yaml), "%s/daemon.yaml", folder);
	/* A link that leads nowhere is one that cannot be read, not one that is missing. */
	has_json = lstat(json, &st) == 0;
	has_yaml = lstat(yaml, &st) == 0;
	if (has_json && has_yaml) {
		(void)error_set(e, -EINVAL, NULL, "there are both %s and %s", json, yaml);
		error_hint(e, "remove one of them");
		return -EINVAL;
	}
	return has_json || has_yaml ? config_load(c, has_json ? json : yaml, e) : 0;
}

/* Changes */

static bool config_is_changed(const struct config_change *changes, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(changes[i].key, key) == 0)
			return true;
	return false;
}

/* A value is a number if it is written as one. */
static struct node *config_value(struct arena *a, const char *value)
{
	struct node *n = node_new_text(a, value);

	if (n && *value && strspn(value, "0123456789") == strlen(value))
		n->type = NODE_NUMBER;
	return n;
}

/* Of a file that is made here. */
#define CONFIG_VERSION "1.0"

/* The tree with these keys of `daemon`; NULL: out of memory. */
static struct node *config_merge(
	struct arena *a, const struct node *old, const struct config_change *changes, size_t n)
{
	struct node *root = node_new(a, NODE_MAP), *inner = node_new(a, NODE_MAP);
	const struct node *was = old ? node_get(old, "daemon") : NULL;
	bool is_whole = root && inner;

	if (was) {
		node_for_each(child, was) {
			if (!config_is_changed(changes, n, child->key))
				is_whole = is_whole &&
					   node_put(a, inner, child->key, node_copy(a, child));
		}
	}
	for (size_t i = 0; i < n; i++)
		is_whole = is_whole &&
			   node_put(a, inner, changes[i].key, config_value(a, changes[i].value));
	if (old) {
		node_for_each(child, old) {
			if (strcmp(child->key, "daemon") != 0)
				is_whole = is_whole &&
					   node_put(a, root, child->key, node_copy(a, child));
		}
	} else {
		is_whole =
			is_whole && node_put(a, root, "version", node_new_text(a, CONFIG_VERSION));
	}
	is_whole = is_whole && node_put(a, root, "daemon", inner);
	return is_whole ? root : NULL;
}

/* The folder of a file, with those above it. */
static int config_make_folder(const char *file)
{
	char path[PATH_BYTES];

	if (snprintf(path, sizeof(path), "%s", file) >= PATH_BYTES)
		return -ENAMETOOLONG;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

int config_write(const char *file, unsigned mode, const struct config_change *changes, size_t n,
	struct config *ret, struct error *e)
{
	const size_t len = strlen(file);
	const bool is_json = len > 5 && strcmp(file + len - 5, ".json") == 0;
	auto_buffer old = { 0 }, text = { 0 };
	auto_document d = { 0 };
	auto_arena a = { 0 };
	struct config c = config_default();
	const struct node *root;
	int r = file_read_regular(file, CONFIG_FILE_MAX, &old);

	if (r < 0 && r != -ENOENT)
		return error_set(e, r, NULL, "cannot read %s: %s", file, file_words(r));
	/* What is broken is not written over. */
	if (r == 0)
		r = config_read(&c, file, buffer_text(&old), old.len, e);
	else
		r = 0;
	if (r == 0 && old.len)
		r = is_json ? json_read(&d, file, old.data, old.len, e)
			    : yaml_read(&d, file, 1, old.data, old.len, e);
	if (r < 0)
		return r;
	root = config_merge(&a, d.root && d.root->type == NODE_MAP ? d.root : NULL, changes, n);
	if (!root)
		return error_no_memory(e);
	if (is_json) {
		json_print(&text, root, JSON_PRETTY);
		buffer_addc(&text, '\n');
	} else {
		yaml_print(&text, root);
	}
	if (text.failed)
		return error_no_memory(e);
	c = config_default();
	r = config_read(&c, file, text.data, text.len, e);
	if (r < 0)
		return r;
	r = config_make_folder(file);
	if (r == 0)
		r = file_replace(file, text.data, text.len, mode);
	if (r < 0)
		return error_set(e, r, NULL, "cannot write %s: %s", file, strerror(-r));
	*ret = c;
	return 0;
}
