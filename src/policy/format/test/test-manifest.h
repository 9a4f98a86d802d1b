/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the tests of permissions and manifests share. */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "policy/format/manifest.h"
#include "policy/format/permissions-text.h"

/* A document that is read, and what its permissions are in canonical YAML. */
struct reading {
	const char *text, *expected;
};

/* One that is refused: where, and with which words (parts of them; a hint of NULL: none). */
struct refusal {
	const char *text;
	unsigned line, column;
	const char *says, *hint;
};

static inline void check_error(
	const char *text, int code, const struct error *e, const struct refusal *row)
{
	bool same = code == -EINVAL && e->line == row->line && e->column == row->column &&
		    strstr(e->text, row->says) &&
		    (row->hint ? strstr(e->hint, row->hint) != NULL : e->hint[0] == '\0');

	if (!same)
		fail_msg("<%s>: %d at %u:%u \"%s\" (%s), want %u:%u \"%s\" (%s)", text, code,
			e->line, e->column, e->text, e->hint, row->line, row->column, row->says,
			row->hint ? row->hint : "");
}

/* Equality of what permissions say; places do not count. */

static inline bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static inline bool same_list(const struct grant_list *a, const struct grant_list *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (a->items[i].n != b->items[i].n)
			return false;
		for (size_t k = 0; k < a->items[i].n; k++) {
			if (!same_text(a->items[i].all[k], b->items[i].all[k]))
				return false;
		}
	}
	return true;
}

static inline bool same_services(const struct permissions *a, const struct permissions *b)
{
	if (a->n_services != b->n_services)
		return false;
	for (size_t i = 0; i < a->n_services; i++) {
		const struct service *s = &a->services[i], *t = &b->services[i];

		if (!same_text(s->name, t->name) || s->access != t->access ||
			memcmp(&s->bounds, &t->bounds, sizeof(s->bounds)) != 0 ||
			s->n_scopes != t->n_scopes)
			return false;
		for (size_t k = 0; k < s->n_scopes; k++) {
			if (!same_text(s->scopes[k].key, t->scopes[k].key) ||
				!same_list(&s->scopes[k].values, &t->scopes[k].values))
				return false;
		}
	}
	return true;
}

static inline bool same_rules(const struct permissions *a, const struct permissions *b)
{
	if (a->n_rules != b->n_rules)
		return false;
	for (size_t i = 0; i < a->n_rules; i++) {
		const struct rule *r = &a->rules[i], *s = &b->rules[i];

		if (!same_text(r->id, s->id) || !same_text(r->name, s->name) ||
			r->action != s->action || r->priority != s->priority ||
			r->operations != s->operations || r->disabled != s->disabled ||
			!same_list(&r->patterns, &s->patterns) ||
			!same_list(&r->methods, &s->methods))
			return false;
	}
	return true;
}

static inline bool same_guest_paths(const struct permissions *a, const struct permissions *b)
{
	if (a->n_guest_paths != b->n_guest_paths)
		return false;
	for (size_t i = 0; i < a->n_guest_paths; i++) {
		const struct guest_path *g = &a->guest_paths[i], *h = &b->guest_paths[i];

		if (!same_text(g->guest, h->guest) || !same_text(g->host, h->host) ||
			g->writable != h->writable)
			return false;
	}
	return true;
}

static inline bool same_permissions(const struct permissions *a, const struct permissions *b)
{
	bool same = same_list(&a->fs_read, &b->fs_read) && same_list(&a->fs_write, &b->fs_write) &&
		    same_list(&a->fs_deny, &b->fs_deny) &&
		    same_list(&a->network_allow, &b->network_allow) &&
		    same_list(&a->network_deny, &b->network_deny) &&
		    same_list(&a->listen, &b->listen) &&
		    same_list(&a->network.methods, &b->network.methods) &&
		    a->network.rate.count == b->network.rate.count &&
		    a->network.rate.seconds == b->network.rate.seconds &&
		    a->network.max_bytes == b->network.max_bytes &&
		    a->network.max_request_size == b->network.max_request_size &&
		    a->exec_listed == b->exec_listed && same_list(&a->exec, &b->exec) &&
		    same_list(&a->env, &b->env) && same_services(a, b) &&
		    memcmp(&a->limits, &b->limits, sizeof(a->limits)) == 0 &&
		    same_guest_paths(a, b) &&
		    same_list(&a->dangerously_allow, &b->dangerously_allow) && same_rules(a, b) &&
		    a->fallback == b->fallback && a->mode == b->mode && a->n_all_of == b->n_all_of;

	for (size_t i = 0; same && i < a->n_all_of; i++)
		same = same_permissions(a->all_of[i], b->all_of[i]);
	return same;
}

/* Reads text that was printed from permissions back into new ones. */
static inline struct permissions *read_back(const char *file, const char *text)
{
	auto_document d = { 0 };
	struct permissions *p = permissions_new();
	struct error e = { 0 };
	int r = strcmp(file, "x.json") == 0 ? json_read(&d, file, text, strlen(text), &e)
					    : yaml_read(&d, file, 1, text, strlen(text), &e);

	if (r == 0)
		r = permissions_read_node(p, &d, d.root, &e);
	if (r < 0)
		fail_msg("cannot read back: %u:%u: %s in <%s>", e.line, e.column, e.text, text);
	return p;
}

/* print → read → print, in both languages: the same tree, and the same permissions. */
static inline void check_round_trip(const struct permissions *p)
{
	auto_arena trees = { 0 };
	auto_buffer yaml_text = { 0 }, json_text = { 0 };
	const struct node *tree = permissions_to_node(p, &trees);

	permissions_print_yaml(p, &yaml_text);
	permissions_print_json(p, &json_text);
	assert_non_null(tree);
	assert_false(yaml_text.failed || json_text.failed);

	auto_permissions *from_yaml = read_back("x.yaml", buffer_text(&yaml_text));
	auto_permissions *from_json = read_back("x.json", buffer_text(&json_text));

	assert_true(node_equal(tree, permissions_to_node(from_yaml, &trees)));
	assert_true(node_equal(tree, permissions_to_node(from_json, &trees)));
	assert_true(same_permissions(from_yaml, from_json));
}

/* Reads a document of some kind under some name, and compares its permissions. */
static inline void check_manifest(
	enum manifest_kind kind, const char *file, const struct reading *row)
{
	auto_manifest m = { 0 };
	auto_buffer out = { 0 };
	struct error e = { 0 };
	int r = manifest_read(&m, kind, file, row->text, strlen(row->text), &e);

	if (r < 0)
		fail_msg("<%s>: %u:%u: %s", row->text, e.line, e.column, e.text);
	permissions_print_yaml(m.permissions, &out);
	if (strcmp(buffer_text(&out), row->expected) != 0)
		fail_msg("<%s>:\n%swant:\n%s", row->text, buffer_text(&out), row->expected);
	check_round_trip(m.permissions);
}

/* A document that must be refused; nothing of it is left. */
static inline void check_refused(
	enum manifest_kind kind, const char *file, const struct refusal *row)
{
	struct manifest m;
	struct error e = { 0 };
	int r = manifest_read(&m, kind, file, row->text, strlen(row->text), &e);

	check_error(row->text, r, &e, row);
	assert_null(m.permissions);
	assert_int_equal(manifest_read(&m, kind, file, row->text, strlen(row->text), NULL), r);
}

/* A file of tests/data/manifests. */
static inline void load_sample(const char *name, struct buffer *out)
{
	const char *samples = getenv("CORRAL_TEST_SAMPLES");
	char path[4096];

	assert_non_null(samples);
	(void)snprintf(path, sizeof(path), "%s/%s", samples, name);
	if (file_read(path, 1 << 20, out) < 0)
		fail_msg("cannot read %s", path);
}
