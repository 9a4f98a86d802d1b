/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is approved must be what a person read. So there is one way to write a command: words. A
 * text is split at spaces, and one with a character that a shell would act on is refused: it would
 * look like a script, and run as something else. A list is the words as they are.
 *
 * Keys that would make the file more than a set of grants are refused by name: the file arrives
 * with a clone, and is read by people in a hurry.
 */
#include "policy/format/project.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/formats.h"
#include "codec/yaml.h"
#include "policy/format/internal.h"
#include "policy/format/permissions-text.h"

static const char project_name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789._:-";
/* What a shell gives a meaning. */
static const char project_shell_bytes[] = "'\"\\$`|&;<>()*?[]{}~#!\n\r\t";

static struct location project_location(const struct field *f, const struct project_file *p)
{
	struct location where = field_location(f);

	/* The document goes, this stays. */
	where.file = p->permissions->origin;
	return where;
}

static int project_check_name(const struct field *f, const char *name, const char *what)
{
	if (!*name || name[strspn(name, project_name_bytes)] || strchr("._:-", name[0]) ||
		strlen(name) > PROJECT_NAME_MAX)
		return field_fail(f, "`%s` is not the name of %s", name, what);
	return 0;
}

static int project_read_version(const struct field *f, void *into)
{
	int64_t version = 0;
	int r = field_integer(f, 0, INT32_MAX, &version);

	(void)into;
	if (r == 0)
		r = formats_check(FORMAT_PROJECT, (uint64_t)version,
			f->document->file ? f->document->file : PROJECT_NAME, f->error);
	return r < 0 ? r : 0;
}

static int project_read_preset(const struct field *f, void *into)
{
	struct project_file *p = into;
	const char *name = NULL;
	int r = field_text(f, &name);

	if (r == 0)
		r = project_check_name(f, name, "a profile or an agent");
	if (r < 0)
		return r;
	p->preset = arena_strdup(p->permissions->arena, name);
	p->preset_where = project_location(f, p);
	return field_result(f, p->preset ? 0 : -ENOMEM);
}

static int project_read_ask(const struct field *f, void *into)
{
	struct project_file *p = into;
	const char *word = NULL;
	int r = field_text(f, &word);

	if (r == 0 && strcmp(word, "denied") != 0)
		r = field_fail(f, "expected `denied`");
	p->asks_denied = r == 0;
	return r;
}

static int project_read_pack(const struct field *f, void *into)
{
	struct project_file *p = into;
	const char *name = NULL;
	int r = field_text(f, &name);

	if (r == 0)
		r = project_check_name(f, name, "a pack");
	if (r == 0 && p->n_packs == PROJECT_PACKS_MAX)
		r = field_fail(f, "more than %d packs", PROJECT_PACKS_MAX);
	if (r < 0)
		return r;
	p->packs[p->n_packs] = arena_strdup(p->permissions->arena, name);
	return field_result(f, p->packs[p->n_packs++] ? 0 : -ENOMEM);
}

static int project_read_with(const struct field *f, void *into)
{
	struct project_file *p = into;

	p->packs = arena_calloc(p->permissions->arena, PROJECT_PACKS_MAX, sizeof(*p->packs));
	p->packs_where = project_location(f, p);
	return p->packs ? field_read_list(f, project_read_pack, p) : field_result(f, -ENOMEM);
}

/* Commands */

struct project_words {
	struct arena *arena;
	struct project_command *to;
};

static int project_add_word(
	const struct field *f, struct project_words *w, const char *text, size_t len)
{
	const char *word = arena_strndup(w->arena, text, len);

	if (w->to->n == PROJECT_WORDS_MAX)
		return field_fail(f, "more than %d words", PROJECT_WORDS_MAX);
	if (!w->to->words)
		w->to->words = arena_calloc(w->arena, PROJECT_WORDS_MAX + 1, sizeof(*w->to->words));
	if (!word || !w->to->words)
		return field_result(f, -ENOMEM);
	w->to->words[w->to->n++] = word;
	return 0;
}

static int project_read_word(const struct field *f, void *into)
{
	const char *text = NULL;
	int r = field_text(f, &text);

	return r < 0 ? r : project_add_word(f, into, text, strlen(text));
}

static int project_split(const struct field *f, struct project_words *w)
{
	const char *text = NULL;
	int r = field_text(f, &text);

	if (r < 0)
		return r;
	if (strpbrk(text, project_shell_bytes) || strcspn(text, "=") < strcspn(text, " ")) {
		r = field_fail(
			f, "a command is words, and no script: a shell would read more in it");
		error_hint(f->error,
			"write the words as a list, such as [sh, -c, 'make && make test']");
		return r;
	}
	while (r == 0 && *text) {
		const size_t len = strcspn(text, " ");

		if (len)
			r = project_add_word(f, w, text, len);
		text += len + strspn(text + len, " ");
	}
	return r;
}

static int project_read_command(const struct field *f, void *into)
{
	struct project_file *p = into;
	struct arena *a = p->permissions->arena;
	struct project_command c = { .name = arena_strdup(a, f->node->key),
		.where = project_location(f, p) };
	struct project_words w = { a, &c };
	int r = c.name ? project_check_name(f, c.name, "a command") : field_result(f, -ENOMEM);

	if (r == 0 && p->n_commands == PROJECT_COMMANDS_MAX)
		r = field_fail(f, "more than %d commands", PROJECT_COMMANDS_MAX);
	if (r == 0)
		r = f->node->type == NODE_LIST ? field_read_list(f, project_read_word, &w)
					       : project_split(f, &w);
	if (r == 0 && (!c.n || !c.words[0][0]))
		r = field_fail(f, "needs a program");
	if (r == 0)
		r = field_result(f, ARENA_PUSH(a, p->commands, p->n_commands, p->cap_commands, c));
	return r;
}

static const struct field_table project_command_table = { .other = project_read_command };

/* Keys that are known, and have no place here; `how` is the sentence. */
static int project_refuse(const struct field *f, void *into)
{
	int r = field_fail(f, "has no place in " PROJECT_NAME);

	(void)into;
	error_hint(f->error, "%s", (const char *)f->how);
	return r;
}

/* What permissions_read_node() reads. */
#define PROJECT_GRANT(key)                                                      \
	{                                                                       \
		.is.name = (key), .is.type = SCHEMA_OTHER, .read = field_ignore \
	}
#define PROJECT_REFUSED(key, why)                                                               \
	{                                                                                       \
		.is.name = (key), .is.type = SCHEMA_OTHER, .read = project_refuse, .how = (why) \
	}

static const struct field_key project_keys[] = {
	FIELD("version", NUMBER, project_read_version),
	FIELD("preset", TEXT, project_read_preset),
	FIELD("with", WORDS, project_read_with),
	FIELD("ask", TEXT, project_read_ask),
	FIELD_MAP("commands", project_command_table),
	PROJECT_GRANT("fs"),
	PROJECT_GRANT("network"),
	PROJECT_GRANT("exec"),
	PROJECT_GRANT("env"),
	PROJECT_GRANT("services"),
	PROJECT_GRANT("secrets"),
	PROJECT_GRANT("limits"),
	PROJECT_GRANT("rules"),
	PROJECT_REFUSED("extends", "write `preset: NAME`"),
	PROJECT_REFUSED("dangerously_allow",
		"only who starts a run lifts the baseline: corral run --dangerously-allow PATH"),
	PROJECT_REFUSED("default", "what is not granted is denied"),
	PROJECT_REFUSED("mode", "a project's grants are always enforced"),
	PROJECT_REFUSED("all_of", "a project is one layer; stored policies limit it"),
	PROJECT_REFUSED("guest_paths", "they are for the manifest of a WASM skill"),
};
static const struct field_table project_table = FIELD_TABLE(project_keys);

static bool project_is_grant(const char *key)
{
	const struct field_key *row = field_find_key(&project_table, key);

	return row && row->read == field_ignore;
}

/* The grants of the file as a document of their own, with their places. */
static int project_read_grants(struct project_file *p, struct document *d, struct error *e)
{
	struct node *map = node_new(&d->arena, NODE_MAP);

	node_for_each(child, d->root) {
		struct node *copy = project_is_grant(child->key)
					    ? arena_calloc(&d->arena, 1, sizeof(*copy))
					    : NULL;

		if (!map || (!copy && project_is_grant(child->key)))
			return error_no_memory(e);
		if (!copy)
			continue;
		*copy = *child;
		copy->next = NULL;
		(void)node_append(map, copy);
	}
	if (!map)
		return error_no_memory(e);
	map->line = d->root->line;
	map->column = d->root->column;
	return permissions_read_node(p->permissions, d, map, e);
}

int project_file_read(
	struct project_file *p, const char *file, const char *text, size_t len, struct error *e)
{
	auto_document d = { 0 };
	struct field top = { .document = &d, .error = e };
	const struct location where = { .file = file };
	int r;

	*p = (struct project_file){ 0 };
	if (len > PROJECT_BYTES_MAX)
		return error_set(
			e, -EFBIG, &where, "is larger than %d KiB", PROJECT_BYTES_MAX >> 10);
	r = yaml_read(&d, file, 1, text, len, e);
	if (r < 0)
		return r;
	p->permissions = permissions_new();
	if (p->permissions && file)
		p->permissions->origin = arena_strdup(p->permissions->arena, file);
	if (!p->permissions || (file && !p->permissions->origin))
		r = error_no_memory(e);
	top.node = d.root;
	if (r == 0)
		r = field_read_map(&top, &project_table, p);
	if (r < 0 && d.root->type == NODE_NULL)
		error_hint(e, "write {} for a project that needs nothing");
	if (r == 0)
		r = project_read_grants(p, &d, e);
	if (r < 0)
		project_file_deinit(p);
	return r;
}

void project_file_deinit(struct project_file *p)
{
	permissions_free(p->permissions);
	*p = (struct project_file){ 0 };
}

const struct project_command *project_file_find(const struct project_file *p, const char *name)
{
	for (size_t i = 0; i < p->n_commands; i++) {
		if (strcmp(p->commands[i].name, name) == 0)
			return &p->commands[i];
	}
	return NULL;
}

void project_file_cut_network(struct project_file *p)
{
	struct permissions *g = p->permissions;
	const unsigned net = 1U << OPERATION_NET_CONNECT;
	size_t n = 0;

	g->network_allow.n = g->network_private.n = g->listen.n = g->inspect.n = 0;
	for (size_t i = 0; i < g->n_rules; i++) {
		struct rule *rule = &g->rules[i];

		if (rule->action != VERDICT_DENY)
			rule->operations &= ~net;
		if (rule->operations)
			g->rules[n++] = *rule;
	}
	g->n_rules = n;
}
