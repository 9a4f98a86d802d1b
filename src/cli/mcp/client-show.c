/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/client-show.h"

#include <string.h>
#include <unistd.h>

#include "cli/diff.h"
#include "cli/output.h"
#include "cli/verb.h"
#include "codec/json-writer.h"

enum { LINES_MAX = 4096 }; /* a longer line is not shown by --print */

static const char *const client_show_kinds[] = { [CLIENT_ADDED] = "added",
	[CLIENT_UPDATED] = "updated",
	[CLIENT_SAME] = "unchanged",
	[CLIENT_WRAPPED] = "wrapped",
	[CLIENT_LEFT] = "left",
	[CLIENT_REMOVED] = "removed",
	[CLIENT_UNWRAPPED] = "unwrapped" };

static void client_show_words(struct output *o, const char *label, const char *const *words)
{
	buffer_printf(&o->text, "    %s", label);
	for (size_t i = 0; words && words[i]; i++) {
		buffer_addc(&o->text, ' ');
		output_shell_word(&o->text, words[i]);
	}
	if (!words)
		buffer_adds(&o->text, " (nothing)");
	buffer_addc(&o->text, '\n');
}

static void client_show_change(struct output *o, const struct client_change *ch)
{
	static const enum output_style styles[] = { [CLIENT_ADDED] = OUTPUT_GREEN,
		[CLIENT_UPDATED] = OUTPUT_GREEN,
		[CLIENT_WRAPPED] = OUTPUT_GREEN,
		[CLIENT_LEFT] = OUTPUT_YELLOW,
		[CLIENT_UNWRAPPED] = OUTPUT_GREEN };

	buffer_adds(&o->text, "  ");
	output_styled(o, styles[ch->kind], client_show_kinds[ch->kind]);
	buffer_addc(&o->text, ' ');
	output_name(o, ch->server);
	if (ch->why)
		buffer_printf(&o->text, ": %s", ch->why);
	buffer_addc(&o->text, '\n');
	if (ch->kind == CLIENT_LEFT)
		return;
	if (ch->before && ch->kind != CLIENT_SAME)
		client_show_words(o, "before:", ch->before);
	if (ch->after)
		client_show_words(o,
			ch->before && ch->kind != CLIENT_SAME ? "after: " : "runs:  ", ch->after);
}

static bool client_show_has_long_line(const struct buffer *text)
{
	const char *s = buffer_text(text), *end = s + text->len;

	while (s < end) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));

		if ((newline ? newline : end) - s > LINES_MAX)
			return true;
		s = newline ? newline + 1 : end;
	}
	return false;
}

static void client_show_diff(struct mcp_clients *m, struct output *o)
{
	const struct buffer *old = &m->place.text;

	if (m->removes) {
		buffer_adds(&o->text, "\nThe file would be removed.\n");
		return;
	}
	buffer_adds(&o->text, "\n");
	if (client_show_has_long_line(old) || client_show_has_long_line(&m->text))
		buffer_adds(&o->text, "Its lines are too long to show what changes in them.\n");
	else
		diff_print(o, "  ", buffer_text(old), old->len, buffer_text(&m->text), m->text.len);
}

static int client_show_text(struct mcp_clients *m, bool is_written)
{
	auto_output o = output_for(STDOUT_FILENO);

	buffer_printf(&o.text, "%s: ", m->place.client->title);
	output_name(&o, m->place.named);
	if (strcmp(m->place.named, m->place.path) != 0) {
		buffer_adds(&o.text, ", which leads to ");
		output_name(&o, m->place.path);
	}
	buffer_addc(&o.text, '\n');
	for (size_t i = 0; i < m->changes.n; i++)
		client_show_change(&o, &m->changes.items[i]);
	if (m->note)
		buffer_printf(&o.text, "%s\n", m->note);
	if (m->prints)
		client_show_diff(m, &o);
	else if (is_written && m->is_install)
		buffer_printf(&o.text, "%s. `corral mcp uninstall %s%s` takes it back.\n",
			m->place.client->note, m->place.client->name,
			m->is_project ? " --project" : "");
	else if (!is_written)
		buffer_adds(&o.text, "Nothing changes in the file.\n");
	return output_write(&o, STDOUT_FILENO, m->call->error);
}

static void client_show_put_words(struct json_writer *w, const char *key, const char *const *words)
{
	if (!words) {
		json_put_null(w, key);
		return;
	}
	json_open_list(w, key);
	for (size_t i = 0; words[i]; i++)
		json_put_text(w, NULL, words[i]);
	json_close(w);
}

static int client_show_json(struct mcp_clients *m, bool is_written)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_writer w = { .out = &o.text, .style = JSON_PRETTY };

	json_open_map(&w, NULL);
	json_put_text(&w, "client", m->place.client->name);
	json_put_text(&w, "file", m->place.path);
	json_put_flag(&w, "written", is_written);
	json_put_flag(&w, "removed", is_written && m->removes);
	json_open_list(&w, "changes");
	for (size_t i = 0; i < m->changes.n; i++) {
		const struct client_change *ch = &m->changes.items[i];

		json_open_map(&w, NULL);
		json_put_text(&w, "server", ch->server);
		json_put_text(&w, "change", client_show_kinds[ch->kind]);
		json_put_text(&w, "reason", ch->why);
		client_show_put_words(&w, "before", ch->before);
		client_show_put_words(&w, "after", ch->after);
		json_close(&w);
	}
	json_close(&w);
	json_put_text(&w, "note", m->note);
	json_end_line(&w);
	return output_write(&o, STDOUT_FILENO, m->call->error);
}

int client_show(struct mcp_clients *m, bool is_written)
{
	const int r = m->json ? client_show_json(m, is_written) : client_show_text(m, is_written);

	return r < 0 ? r : STATUS_YES;
}
