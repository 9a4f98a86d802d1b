/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/skill/reading.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/skill/changes.h"
#include "cli/skill/confined.h"
#include "cli/skill/inspection.h"
#include "codec/json.h"
#include "skill/inventory.h"

enum {
	/* What an entry of the list may take, so that all of them fit into an answer. */
	READING_ENTRY_MAX = 10 << 10,
	READING_ENTRY_FINDINGS = 8,
	READING_ENTRY_LINES = 16,
	READING_TEXT_MAX = 400,
};

/* In the child: what is printed */

/* A text that may be long, cut at a character. */
static void reading_put_cut(
	struct json_tree *t, struct node *map, const char *key, const char *text)
{
	size_t len = text ? strnlen(text, READING_TEXT_MAX) : 0;
	char *cut;

	if (!text || !text[len]) {
		tree_put_text(t, map, key, text);
		return;
	}
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	cut = arena_printf(t->arena, "%.*s…", (int)len, text);
	t->failed = t->failed || !cut;
	tree_put_text(t, map, key, cut);
}

/* The worst ones. */
static void reading_put_findings(
	const struct skill_inspection *i, struct json_tree *t, struct node *root, size_t max)
{
	struct node *list = tree_put_list(t, root, "findings");
	size_t n = 0;

	for (int severity = SKILL_HIGH; severity >= SKILL_LOW; severity--) {
		for (size_t k = 0; k < i->findings.n; k++) {
			const struct skill_finding *f = &i->findings.items[k];
			struct node *finding;

			if ((int)f->severity != severity || n == max)
				continue;
			n++;
			finding = tree_append_map(t, list);
			tree_put_text(t, finding, "severity", skill_severity_name(f->severity));
			tree_put_text(t, finding, "rule", f->id);
			reading_put_cut(t, finding, "file", f->file);
			tree_put_number(t, finding, "line", f->line);
			tree_put_text(t, finding, "text", f->what);
		}
	}
}

static void reading_put_lines(
	const struct skill_inspection *i, struct json_tree *t, struct node *root, size_t max)
{
	struct node *list = tree_put_list(t, root, "permissions");
	size_t n = 0;

	for (size_t k = 0; k < i->description.n; k++) {
		const struct description_lines *lines = &i->description.sections[k].lines;

		for (size_t j = 0; j < lines->n; j++)
			if (strncmp(lines->items[j], "nothing", 7) != 0 && n++ < max)
				tree_append_text(t, list, lines->items[j]);
	}
}

/* Why it cannot run, though it can be looked at: "its manifest cannot be read: SKILL.md:3: …" */
static void reading_put_fault(
	const struct skill_inspection *i, struct json_tree *t, struct node *root)
{
	const struct error *fault = &i->skill.fault;
	const char *slash = strrchr(fault->file, '/'), *text = fault->text;

	if (i->skill.unreadable && fault->line)
		text = arena_printf(t->arena, "its manifest cannot be read: %s:%u: %s",
			slash ? slash + 1 : fault->file, fault->line, fault->text);
	t->failed = t->failed || !text;
	reading_put_cut(t, root, "fault", text && *text ? text : NULL);
}

static struct node *reading_entry_tree(
	const struct skill_inspection *i, struct json_tree *t, size_t findings, size_t lines)
{
	struct node *root = tree_map(t);
	char hex[SKILL_DIGEST_HEX];

	skill_digest_hex(&i->skill.content.digest, hex);
	reading_put_cut(t, root, "name", inspection_name(i));
	reading_put_cut(t, root, "version", i->skill.manifest.version);
	reading_put_cut(t, root, "description", inspection_description(i));
	tree_put_text(t, root, "risk", describe_risk_name(i->description.risk));
	tree_put_text(t, root, "risk_confined", describe_risk_name(i->description.confined));
	tree_put_number(t, root, "n_findings", (int64_t)i->findings.n);
	reading_put_findings(i, t, root, findings);
	reading_put_lines(i, t, root, lines);
	reading_put_fault(i, t, root);
	tree_put_text(t, root, "digest", hex);
	tree_put_flag(t, root, "approved", i->skill.outcome == APPROVAL_CURRENT);
	return root;
}

static int reading_print(struct call *c, struct json_tree *t, const struct node *root)
{
	auto_buffer text = { 0 };

	if (!t->failed && root)
		json_print(&text, root, JSON_COMPACT);
	if (t->failed || !root || text.failed)
		return error_no_memory(c->error);
	return file_write_all(STDOUT_FILENO, text.data, text.len);
}

static int reading_print_entry(struct call *c, const struct skill_inspection *i)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = reading_entry_tree(i, &t, READING_ENTRY_FINDINGS, READING_ENTRY_LINES);
	auto_buffer text = { 0 };

	json_print(&text, root, JSON_COMPACT);
	return reading_print(
		c, &t, text.len > READING_ENTRY_MAX ? reading_entry_tree(i, &t, 0, 0) : root);
}

static int reading_print_approval(struct call *c, const struct skill_inspection *i)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);
	auto_buffer stream = { 0 };
	char hex[SKILL_DIGEST_HEX];
	int r;

	skill_digest_hex(&i->skill.content.digest, hex);
	tree_put_text(&t, root, "name", inspection_name(i));
	tree_put_text(&t, root, "digest", hex);
	tree_put_text(&t, root, "permissions", i->skill.approval.permissions);
	tree_put_flag(&t, root, "approved", i->skill.outcome == APPROVAL_CURRENT);
	r = reading_print(c, &t, root);
	skill_digest_print(&i->skill.content, &stream);
	if (r < 0 || stream.failed || stream.len > SKILL_INVENTORY_MAX)
		return r;
	/* JSON has no NUL. */
	r = file_write_all(STDOUT_FILENO, "", 1);
	return r < 0 ? r : file_write_all(STDOUT_FILENO, stream.data, stream.len);
}

static int reading_print_changes(
	struct call *c, const struct skill_inspection *i, const struct approval_record *record)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = NULL;
	int r = changes_tree(i, c, &t, record, &root);

	return r < 0 ? r : reading_print(c, &t, root);
}

static int reading_print_text(struct call *c, const struct skill_inspection *i, bool colour)
{
	auto_output o = { .colour = colour };

	inspection_print(i, &o);
	return output_write(&o, STDOUT_FILENO, c->error);
}

struct reading_task {
	struct call *call;
	const struct reading *reading;
};

static int reading_answer(const struct reading_task *task, const struct skill_inspection *i)
{
	struct json_tree t = { .arena = task->call->arena };

	switch (task->reading->kind) {
	case READING_ENTRY:
		return reading_print_entry(task->call, i);
	case READING_WHOLE:
		return reading_print(task->call, &t, inspection_tree(i, &t));
	case READING_TEXT:
		return reading_print_text(task->call, i, task->reading->colour);
	case READING_CHANGES:
		return reading_print_changes(task->call, i, task->reading->item->record);
	case READING_APPROVE:
		return reading_print_approval(task->call, i);
	}
	return -EINVAL;
}

/* Its status is 1 where it could not be read, and then it says why. */
static int reading_main(void *data)
{
	const struct reading_task *task = data;
	struct call *c = task->call;
	struct json_tree t = { .arena = c->arena };
	auto_inspection i = { .skill = LAUNCH_SKILL_NONE, .is_anywhere = true };
	struct node *root;
	int r = inspection_open(&i, c, task->reading->item->path,
		task->reading->kind == READING_APPROVE ? LAUNCH_SKILL_LOOK : LAUNCH_SKILL_SCAN);

	if (r == 0)
		r = inspection_rate(&i, c);
	if (r == 0)
		r = reading_answer(task, &i);
	if (r == 0)
		return 0;
	root = tree_map(&t);
	tree_put_text(&t, root, "error", c->error->text[0] ? c->error->text : strerror(-r));
	tree_put_text(&t, root, "hint", c->error->hint);
	tree_put_text(&t, root, "file", c->error->file);
	tree_put_number(&t, root, "line", c->error->line);
	(void)reading_print(c, &t, root);
	return 1;
}

/* In the parent: what is read */

/* The child's reason is the call's error. */
static int reading_fail(struct call *c, const struct document *d)
{
	const struct node *line = node_get(d->root, "line");
	struct location where = { .file = node_get_text(d->root, "file") };
	int64_t number = 0;

	if (line && node_integer(line, &number) == 0 && number > 0 && number <= UINT32_MAX)
		where.line = (uint32_t)number;
	(void)error_set(c->error, -EINVAL, where.file[0] ? &where : NULL, "%s",
		node_get_text(d->root, "error"));
	if (node_get_text(d->root, "hint")[0])
		error_hint(c->error, "%s", node_get_text(d->root, "hint"));
	return -EINVAL;
}

int reading_run(
	struct call *c, const struct reading *r, struct document *ret, struct buffer *ret_rest)
{
	static const struct node_bounds bounds = { 16 << 20, NODE_SCALAR_MAX };
	const char *const reads[] = { r->item->path, r->catalog->approvals, NULL };
	const struct confined confined = {
		.reads = reads, .ms = r->ms < READING_MS ? r->ms : READING_MS, .max = 16 << 20
	};
	struct reading_task task = { c, r };
	auto_buffer text = { 0 };
	size_t len;
	int status;

	*ret = (struct document){ 0 };
	if (r->item->is_gone) {
		(void)error_set(c->error, -ENOENT, &(struct location){ .file = r->item->path },
			"its folder is gone");
		error_hint(c->error, "`corral approve --remove FOLDER` removes its approval");
		return -ENOENT;
	}
	status = confined_run(&confined, reading_main, &task, &text, c->error);
	if (status < 0)
		return status;
	if (status == 0 && r->kind == READING_TEXT) {
		buffer_add(ret_rest, buffer_text(&text), text.len);
		return 0;
	}
	len = strlen(buffer_text(&text));
	if (json_read_within(ret, NULL, buffer_text(&text), len, &bounds, NULL) < 0 ||
		ret->root->type != NODE_MAP)
		return error_set(c->error, -EIO, NULL,
			"the process that read it gave no answer that makes sense");
	if (status != 0)
		return reading_fail(c, ret);
	if (ret_rest && len < text.len)
		buffer_add(ret_rest, text.data + len + 1, text.len - len - 1);
	return 0;
}

const char *reading_state(const struct catalog_item *item, const struct document *d)
{
	const struct node *approved = d && d->root ? node_get(d->root, "approved") : NULL;
	bool is_approved = false;

	if (item->is_gone)
		return "gone";
	if (!approved || node_boolean(approved, &is_approved) < 0)
		return "unreadable";
	if (!item->record)
		return "new";
	return is_approved && strcmp(node_get_text(d->root, "digest"), item->record->digest) == 0
		       ? "approved"
		       : "changed";
}

/* "2026-01-31T12:00:00Z"; 0: it is none. */
static int64_t reading_ms(const char *text)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm);

	return end && !*end ? (int64_t)timegm(&tm) * 1000 : 0;
}

void reading_put_head(struct json_tree *t, struct node *map, const struct catalog_item *item,
	const struct document *d)
{
	const struct approval_record *record = item->record;

	tree_put_text(t, map, "id", item->id);
	tree_put_text(t, map, "path", item->path);
	tree_put_text(t, map, "state", reading_state(item, d));
	tree_put_text(t, map, "approved_digest", record ? record->digest : NULL);
	if (record)
		tree_put_number(t, map, "approved_ms", reading_ms(record->approved_at));
	else
		tree_put(t, map, "approved_ms", NULL);
}

void reading_put_rest(struct json_tree *t, struct node *map, const struct document *d)
{
	node_for_each(child, d->root) {
		struct node *copy;

		if (node_get(map, child->key))
			continue;
		copy = node_copy(t->arena, child);
		t->failed = t->failed || !copy;
		if (copy)
			tree_put(t, map, child->key, copy);
	}
}
