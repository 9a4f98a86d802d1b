/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an uninstall leaves of a file that was changed since the install: our server is cut out, and
 * servers that we wrapped get back their commands, as they were written.
 */
#include <errno.h>
#include <string.h>

#include "mcp/client/edit.h"

/* Where the lines that an install puts at the end of a TOML begin. */
static size_t undo_table_start(const struct client_edit *x, const struct client_installed *in,
	const struct text_place *table)
{
	const struct client_text *was = &in->original;
	const char *s = x->old.text;
	size_t at = table->at, n = 0;

	/* An empty line is put before it. */
	for (int i = 0; i < 2; i++) {
		if (at > 0 && s[at - 1] == '\n')
			n = at > 1 && s[at - 2] == '\r' ? 2 : 1;
		if (!n || (i == 0 && at > n && s[at - n - 1] != '\n'))
			break;
		at -= n;
		/* And an end of line, where the text had none. */
		if (!was->len || was->text[was->len - 1] == '\n' || table->end != x->old.len)
			break;
		n = 0;
	}
	return at;
}

/* TOML: the lines of a table and of those below it. False: it has none of its own. */
static bool undo_cut_table(
	struct client_edit *x, const struct client_installed *in, const struct text_place *table)
{
	size_t at;

	if (!table->is_open || !table->end)
		return false;
	at = undo_table_start(x, in, table);
	edit_cut(x, at, table->end - at, "");
	place_for_each(p, table) if (p->kind == PLACE_MAP && p->is_open && p->end)
		edit_cut(x, p->at, p->end - p->at, "");
	return true;
}

/* What an empty map had in its brackets before the install. */
static const char *undo_inside(
	struct client_edit *x, const struct client_installed *in, const struct text_place *was)
{
	const char *inside = was && was->kind == PLACE_MAP && !was->count
				     ? arena_strndup(x->arena, in->original.text + was->at + 1,
					       was->end - was->at - 2)
				     : "";

	return inside ? inside : "";
}

/* Our server, with the maps around it that the install made and that have nothing else. */
static void undo_cut_member(struct client_edit *x, const struct client_installed *in,
	const struct text_place *servers, const struct text_place *server)
{
	const char *const *path = in->client->path;
	const struct text_place *map = x->root, *from = NULL, *child = server, *was = NULL,
				*was_from = NULL;
	struct client_edit before = { 0 };
	struct text_place *was_servers = NULL;
	size_t level;

	if (in->existed && edit_open(&before, x->arena, in->client, &in->original, NULL) == 0) {
		was = before.root;
		(void)edit_servers(&before, &was_servers, &level, NULL);
	}
	for (size_t i = 0; path[i]; i++) {
		const struct text_place *next = place_get(map, path[i]);
		const struct text_place *was_next = place_get(was, path[i]);

		if (next->count != 1) {
			from = NULL;
		} else if (!was_next && !from) {
			from = map;
			child = next;
			was_from = was;
		}
		map = next;
		was = was_next;
	}
	if (!from || map != servers) {
		from = servers;
		child = server;
		was_from = was_servers;
	}
	edit_remove_member(x, from, child, undo_inside(x, in, was_from));
}

static void undo_ours(struct client_edit *x, const struct client_installed *in,
	const struct text_place *servers, struct client_changes *ret)
{
	const struct text_place *server = place_get(servers, in->name);
	struct client_change c = { CLIENT_REMOVED, in->name, NULL, NULL, NULL };
	const bool is_toml = in->client->dialect == PLACES_TOML;

	if (!server)
		return;
	c.before = edit_words(x, server);
	if (!edit_is_ours((const char *const *)c.before, "serve"))
		c.why = "it is another server now";
	else if (is_toml && !undo_cut_table(x, in, server))
		c.why = "it is written in another form now";
	else if (!is_toml)
		undo_cut_member(x, in, servers, server);
	if (c.why)
		c.kind = CLIENT_LEFT;
	edit_note(x, ret, &c);
}

/* The words of the wrapper: up to the two dashes, and with them. 0: there are none. */
static size_t undo_wrapper(const char *const *words)
{
	for (size_t i = 3; words[i]; i++)
		if (strcmp(words[i], "--") == 0)
			return words[i + 1] ? i + 1 : 0;
	return 0;
}

static bool undo_had_args(
	struct client_edit *x, const struct client_installed *in, const char *name)
{
	struct text_place *servers = NULL;
	struct client_edit before;
	size_t level;

	return edit_open(&before, x->arena, in->client, &in->original, NULL) < 0 ||
	       edit_servers(&before, &servers, &level, NULL) < 0 ||
	       place_get(place_get(servers, name), "args");
}

/* The list that the install put before the command. */
static void undo_cut_args(struct client_edit *x, const struct text_place *server,
	const struct text_place *args, const struct text_place *command)
{
	if (args->next == command)
		edit_cut(x, args->key_at, command->key_at - args->key_at, "");
	else if (!server->is_open)
		edit_remove_member(x, server, args, "");
	else
		edit_cut(x, args->at, args->end - args->at, "[]");
}

static void undo_unwrap(struct client_edit *x, const struct client_installed *in,
	const struct text_place *server, size_t n)
{
	const bool is_list = x->client->shape == CLIENT_COMMAND_LIST;
	const struct text_place *command = place_get(server, "command");
	const struct text_place *args = is_list ? command : place_get(server, "args"), *item;
	const char *raw;

	if (is_list) {
		edit_remove_front(x, args, n);
		return;
	}
	/* The program is no item, and the command is one: as many items go. */
	item = args->first;
	for (size_t i = 1; i < n; i++)
		item = item->next;
	raw = arena_strndup(x->arena, x->old.text + item->at, item->end - item->at);
	edit_cut(x, command->at, command->end - command->at, raw);
	if (!item->next && !undo_had_args(x, in, server->key))
		undo_cut_args(x, server, args, command);
	else
		edit_remove_front(x, args, n);
}

static void undo_wrapped(struct client_edit *x, const struct client_installed *in,
	const struct text_place *servers, const char *name, struct client_changes *ret)
{
	const struct text_place *server = place_get(servers, name);
	struct client_change c = { CLIENT_UNWRAPPED, name, NULL, NULL, NULL };
	size_t n;

	if (!server)
		return;
	c.before = edit_words(x, server);
	n = edit_is_ours((const char *const *)c.before, "wrap")
		    ? undo_wrapper((const char *const *)c.before)
		    : 0;
	if (n) {
		c.after = c.before + n;
		undo_unwrap(x, in, server, n);
	} else {
		c.kind = CLIENT_LEFT;
		c.why = "it does not run by `corral mcp wrap` any more";
	}
	edit_note(x, ret, &c);
}

int client_uninstall(const struct client_installed *in, struct arena *a,
	const struct client_text *now, struct buffer *out, struct client_changes *ret,
	struct error *e)
{
	struct text_place *servers = NULL;
	struct client_edit x;
	size_t level;
	int r = edit_open(&x, a, in->client, now, e);

	r = r < 0 ? r : edit_servers(&x, &servers, &level, e);
	if (r < 0)
		return r;
	undo_ours(&x, in, servers, ret);
	for (size_t i = 0; in->wrapped && in->wrapped[i]; i++)
		undo_wrapped(&x, in, servers, in->wrapped[i], ret);
	return edit_apply(&x, out, e);
}
