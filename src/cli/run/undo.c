/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --undo: keeps the working folder before the command starts, and says what of it is not kept
 * (cli/undo/undo.h); finds what changed when all processes of the command are dead.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/output.h"
#include "cli/run/internal.h"
#include "codec/json-writer.h"

/* Of a line for a person. */
enum { NAMED_MAX = 5 };

static bool run_undo_may_read(const void *context, const char *path)
{
	const struct policy *policy = context;

	return policy_allows(policy, &(struct request){ .op = OPERATION_FS_READ, .target = path });
}

static void run_undo_tell_kept(const struct undo *u, struct output *o)
{
	size_t named = 0;

	output_note(o);
	buffer_adds(&o->text, "--undo keeps ");
	undo_print_count(u->n_files, &o->text);
	buffer_printf(&o->text, " file%s (", u->n_files == 1 ? "" : "s");
	undo_print_bytes(u->bytes, &o->text);
	buffer_addc(&o->text, ')');
	for (size_t i = 0; i < u->before.n && named < NAMED_MAX; i++) {
		const struct undo_entry *e = &u->before.items[i];

		if (!e->why)
			continue;
		buffer_adds(&o->text, named++ ? ", " : "; not kept: ");
		output_name(o, e->path);
		buffer_printf(&o->text, " (%s)", e->why);
	}
	if (u->n_not_kept > named)
		buffer_printf(&o->text, " and %zu more", u->n_not_kept - named);
	if (u->n_attributes) {
		buffer_adds(&o->text, "; extended attributes that are not kept: of ");
		output_name(o, u->attributes);
	}
	if (u->n_attributes > 1)
		buffer_printf(&o->text, " and %zu more", u->n_attributes - 1);
	buffer_addc(&o->text, '\n');
}

/* The command's words, as a person would write them. */
static const char *run_undo_command(struct run *r)
{
	auto_buffer line = { 0 };

	for (size_t i = 0; i < r->n_argv && line.len < 400; i++) {
		if (i)
			buffer_addc(&line, ' ');
		output_shell_word(&line, r->argv[i]);
	}
	return line.failed ? NULL : arena_strdup(r->call->arena, buffer_text(&line));
}

int run_undo_begin(struct run *r)
{
	struct undo_options o = {
		.limit = r->options.undo_limit, .may_read = run_undo_may_read, .context = r->policy
	};
	auto_output out = output_for(STDERR_FILENO);
	int ret;

	if (!r->options.undo)
		return 0;
	ret = run_real_folder(r, "--undo", r->load.variables.values[VARIABLE_WORK_DIR], &o.folder);
	o.command = ret < 0 ? NULL : run_undo_command(r);
	if (ret < 0 || !o.command)
		return ret < 0 ? ret : error_no_memory(r->call->error);
	ret = undo_keep(&r->undo, &o, r->call->error);
	if (ret < 0)
		return ret;
	run_undo_tell_kept(&r->undo, &out);
	if (!r->options.json)
		(void)output_write(&out, STDERR_FILENO, NULL);
	return 0;
}

void run_undo_finish(struct run *r)
{
	auto_output o = output_for(STDERR_FILENO);
	struct error e = { 0 };

	if (!r->options.undo || !r->undo.is_kept)
		return;
	r->undo.changes.ended = undo_now();
	/* The record stays as it is, and `corral undo` finds the changes. */
	if (undo_finish(&r->undo, &e) < 0) {
		output_note(&o);
		output_foreign(&o, e.text);
		buffer_addc(&o.text, '\n');
		(void)output_write(&o, STDERR_FILENO, NULL);
	}
}

void run_undo_tell(const struct run *r, struct output *o)
{
	const struct undo_changes *c = &r->undo.changes;

	if (!r->options.undo)
		return;
	if (c->n_lost > 0) {
		output_note(o);
		buffer_adds(&o->text, "was not kept, and is gone or changed: ");
		output_name(o, c->lost);
		if (c->n_lost > 1)
			buffer_printf(&o->text, " and %zu more", c->n_lost - 1);
		buffer_addc(&o->text, '\n');
	}
	if (!undo_has_changes(&r->undo))
		return;
	output_note(o);
	undo_print_changed(c, &o->text);
	buffer_adds(&o->text, "; `corral undo` takes it back");
	if (c->is_cut)
		buffer_adds(&o->text,
			", except new names that are too many to record, or cannot be read");
	buffer_addc(&o->text, '\n');
}

void run_undo_print(const struct run *r, struct json_writer *w)
{
	const struct undo *u = &r->undo;
	const struct undo_changes *c = &u->changes;

	if (!r->options.undo)
		return;
	json_open_map(w, "undo");
	if (undo_has_changes(u))
		json_put_count(w, "run", u->number);
	else
		json_put_null(w, "run");
	json_put_count(w, "kept_files", u->n_files);
	json_put_count(w, "kept_bytes", u->bytes);
	json_open_list(w, "not_kept");
	for (size_t i = 0; i < u->before.n; i++) {
		if (!u->before.items[i].why)
			continue;
		json_open_map(w, NULL);
		json_put_text(w, "path", u->before.items[i].path);
		json_put_text(w, "why", u->before.items[i].why);
		json_close(w);
	}
	json_close(w);
	json_put_count(w, "attributes_not_kept", u->n_attributes);
	json_put_count(w, "created", c->count[UNDO_CREATED]);
	json_put_count(
		w, "changed", c->count[UNDO_CHANGED] + c->count[UNDO_MODE] + c->count[UNDO_TIME]);
	json_put_count(w, "removed", c->count[UNDO_REMOVED]);
	json_put_count(w, "lost", c->n_lost);
	json_put_flag(w, "complete", !c->is_cut);
	json_close(w);
}
