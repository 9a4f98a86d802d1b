/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the baseline does to this run, said before the command starts: grants that it takes back as
 * a whole, each with the line that lifts it, and what --dangerously-allow has lifted. A folder in
 * which the baseline protects some files is not named: it is granted, and they are masked.
 */
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/output.h"
#include "cli/preset/preset.h"
#include "cli/run/run.h"
#include "codec/json.h"
#include "policy/baseline.h"
#include "policy/match/glob.h"

enum { LEAVES_MAX = 256, TOLD_MAX = 32 };

static const char lift_option[] = "--dangerously-allow";

struct baseline_notes {
	struct run *run;
	struct output output;
	const char *told[TOLD_MAX]; /* an option stands in every layer */
	size_t n_told;
};

/* Whether this is the first time; beyond what there is room for, nothing is the first. */
static bool baseline_notes_is_new(struct baseline_notes *n, const char *text)
{
	for (size_t i = 0; i < n->n_told; i++) {
		if (strcmp(n->told[i], text) == 0)
			return false;
	}
	if (n->n_told == TOLD_MAX)
		return false;
	n->told[n->n_told++] = text;
	return true;
}

/* The path that all matches of a pattern are, or lie in: absolute, in the arena. NULL: none. */
static const char *baseline_notes_path(struct run *r, const struct glob_alternative *alt)
{
	size_t len = alt->literal_len;

	if (alt->kind == GLOB_TRUE) {
		while (len > 0 && alt->literal[len - 1] != '/')
			len--;
		len -= len > 0;
	}
	return len ? arena_strndup(r->call->arena, alt->literal, len) : NULL;
}

/* A value for an option: as a shell and a pattern read it. */
static void baseline_notes_put_value(
	const char *path, const struct glob_alternative *alt, struct buffer *out)
{
	auto_buffer pattern = { 0 };

	if (strpbrk(path, "*?[]{}\\$")) {
		glob_print(alt, &pattern);
		path = buffer_text(&pattern);
	}
	output_shell_word(out, path);
}

static void baseline_notes_put_line(const char *text, const char *file, struct buffer *out)
{
	buffer_adds(out, "add dangerously_allow: [");
	json_print_string(out, text, strlen(text));
	buffer_printf(out, "] to %s", file);
}

/* A layer of a file is changed in that file; options join every layer of the base, and none of the
 * ceiling. */
static void baseline_notes_put_remedy(const struct run *r, const struct permissions *p,
	const struct grant *g, const char *path, const struct glob_alternative *alt,
	struct buffer *out)
{
	bool is_file = g->where.line && r->n_base == 1 && p->line_place == LINE_AT_TOP;

	if (is_file) {
		baseline_notes_put_line(g->all[0], g->where.file, out);
	} else {
		buffer_printf(out, "add %s ", lift_option);
		baseline_notes_put_value(path, alt, out);
	}
	for (size_t i = 0; i < r->ceiling.n; i++) {
		const struct permissions *bound = r->ceiling.files[i].permissions;
		auto_buffer pattern = { 0 };

		glob_print(alt, &pattern);
		if (bound->line_place == LINE_IN_OTHER_WORDS) {
			buffer_printf(out,
				", but %s does not allow it either, and its format "
				"cannot lift the baseline",
				bound->origin);
			continue;
		}
		buffer_adds(out, ", and ");
		baseline_notes_put_line(buffer_text(&pattern), bound->origin, out);
	}
}

/* One alternative of a grant. */
static void baseline_notes_judge(struct baseline_notes *n, const struct permissions *p,
	const struct grant *g, enum operation op, const struct glob_alternative *alt)
{
	struct run *r = n->run;
	struct request request = { .op = op, .target = baseline_notes_path(r, alt) };
	struct decision d;
	auto_buffer text = { 0 };

	if (!request.target || policy_decide(r->policy, &request, &d) < 0 ||
		d.why != DECISION_BASELINE || !baseline_notes_is_new(n, request.target))
		return;
	request.op = OPERATION_FS_READ;
	buffer_printf(&text, "%s cannot be %s: the baseline protects it (%s); to lift that, ",
		request.target,
		policy_allows(r->policy, &request) ? "written"
		: op == OPERATION_FS_READ          ? "read"
						   : "read or written",
		d.baseline_why);
	baseline_notes_put_remedy(r, p, g, request.target, alt, &text);
	output_note_at(&n->output, &g->where, buffer_text(&text));
}

/* --dangerously-allow: what is open now, and what is missing for it to do something. */
static void baseline_notes_lifted(struct baseline_notes *n, const struct permissions *p,
	const struct grant *g, enum operation op, const struct glob_alternative *alt)
{
	struct run *r = n->run;
	const struct baseline_home home =
		baseline_paths_home(r->load.variables.values[VARIABLE_HOME]);
	const char *path = baseline_notes_path(r, alt);
	const struct baseline_path *entry =
		path ? baseline_paths_match(&home, true, path, strlen(path)) : NULL;
	auto_buffer text = { 0 };

	(void)p;
	if (!path || strcmp(g->where.file, lift_option) != 0 || !baseline_notes_is_new(n, path))
		return;
	if (entry)
		buffer_printf(&text, "the baseline does not protect %s in this run (%s)", path,
			baseline_path_why(entry));
	else if (baseline_paths_reach(&home, path, strlen(path)) & BASELINE_BELOW)
		buffer_printf(
			&text, "the baseline does not protect the secrets in %s in this run", path);
	else
		buffer_printf(&text, "the baseline protects nothing at %s, so this changes nothing",
			path);
	if (entry && !policy_allows(r->policy, &(struct request){ .op = op, .target = path })) {
		buffer_adds(&text, "; it is not granted: add --read ");
		baseline_notes_put_value(path, alt, &text);
	}
	output_note_at(&n->output, &g->where, buffer_text(&text));
}

typedef void baseline_notes_one(struct baseline_notes *n, const struct permissions *p,
	const struct grant *g, enum operation op, const struct glob_alternative *alt);

/* Whether the baseline spares each of a list's folders, with all in them; NULL: not known. */
static bool *baseline_notes_spared(
	struct run *r, const struct baseline_home *home, const struct folders *folders)
{
	bool *spared =
		folders ? arena_calloc(r->call->arena, folders->n + 1, sizeof(*spared)) : NULL;

	for (size_t i = 0; spared && i < folders->n; i++)
		spared[i] = baseline_paths_spare(
			home, folders->items[i].path, folders->items[i].in.len);
	return spared;
}

/* Nearly all: a path that no entry of the baseline matches, told without parsing or asking. */
static bool baseline_notes_is_free(
	const struct baseline_home *home, const char *text, enum operation op)
{
	enum glob_kind kind;
	size_t len;

	return glob_plain(text, &len, &kind) && len > 0 &&
	       !baseline_paths_match(home, op == OPERATION_FS_WRITE, text, len);
}

/* What a built-in profile and a mode grant was not written for this run. */
static void baseline_notes_each(struct baseline_notes *n, const struct permissions *p,
	const struct grant_list *list, enum operation op, baseline_notes_one *one)
{
	struct run *r = n->run;
	const struct baseline_home home =
		baseline_paths_home(r->load.variables.values[VARIABLE_HOME]);
	const struct folders *folders =
		one == baseline_notes_judge ? policy_folders(r->policy, list) : NULL;
	const bool *spared = baseline_notes_spared(r, &home, folders);

	for (size_t i = 0; i < list->n; i++) {
		const struct grant *g = &list->items[i];
		uint32_t folder = folders_of(folders, i);
		const char *expanded;
		struct glob glob;

		if (spared && folder != FOLDERS_NONE && spared[folder])
			continue;
		if (g->n != 1 || !g->where.file || preset_is_origin(g->where.file) ||
			(one == baseline_notes_judge &&
				baseline_notes_is_free(&home, g->all[0], op)) ||
			(p->origin && !g->where.line && strcmp(p->origin, g->where.file) == 0) ||
			variable_expand(&r->load.variables, g->all[0], r->call->arena, &expanded,
				NULL, NULL) < 0 ||
			glob_parse(&glob, r->call->arena, expanded, NULL, NULL) < 0)
			continue;
		for (size_t k = 0; k < glob.n; k++)
			one(n, p, g, op, &glob.alternatives[k]);
	}
}

void run_baseline_notes(struct run *r)
{
	struct baseline_notes n = { .run = r, .output = output_for(STDERR_FILENO) };
	const struct permissions *leaves[LEAVES_MAX];

	for (size_t i = 0; !r->options.json && i < r->n_base; i++) {
		int count = permissions_layers(r->base[i], leaves, LEAVES_MAX);

		for (int k = 0; k < count; k++) {
			const struct permissions *p = leaves[k];

			baseline_notes_each(
				&n, p, &p->fs_write, OPERATION_FS_WRITE, baseline_notes_judge);
			baseline_notes_each(
				&n, p, &p->fs_read, OPERATION_FS_READ, baseline_notes_judge);
			baseline_notes_each(&n, p, &p->dangerously_allow, OPERATION_FS_READ,
				baseline_notes_lifted);
		}
	}
	if (n.output.text.len)
		(void)output_write(&n.output, STDERR_FILENO, NULL);
	output_deinit(&n.output);
}
