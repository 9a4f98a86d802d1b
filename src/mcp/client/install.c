/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an install makes of a client's file. Our server is put behind the others; a server that is
 * wrapped keeps its bytes: the command moves to the arguments as it is written, behind what runs
 * it. What came out is read once more, and has to say what was meant.
 */
#include <errno.h>
#include <string.h>

#include "mcp/client/edit.h"
#include "mcp/client/wrapping.h"

static struct location install_place(const struct client_edit *x, const struct text_place *p)
{
	return place_location(x->old.file, x->old.text, x->old.len, p->key_at);
}

static bool install_is_same(const char *const *a, const char *const *b)
{
	size_t i = 0;

	if (!a || !b)
		return false;
	while (a[i] && b[i] && strcmp(a[i], b[i]) == 0)
		i++;
	return !a[i] && !b[i];
}

/* Our server */

static void install_put_key(struct buffer *out, const char *key)
{
	edit_put_text(out, key);
	buffer_adds(out, ": ");
}

/* "name": value, with the keys that the client wants. `indent` is that of the line. */
static void install_put_server(const struct client_edit *x, const struct client_install *in,
	const char *const *words, const char *indent, bool is_flat, struct buffer *out)
{
	const struct mcp_client *c = in->client;
	auto_buffer line = { 0 };

	if (is_flat)
		buffer_adds(&line, " ");
	else
		buffer_printf(&line, "%s%s%s", x->line, indent, x->unit);
	install_put_key(out, in->name);
	buffer_printf(out, "{%s", is_flat ? "" : buffer_text(&line));
	if (c->type) {
		install_put_key(out, "type");
		edit_put_text(out, c->type);
		buffer_printf(out, ",%s", buffer_text(&line));
	}
	install_put_key(out, "command");
	if (c->shape == CLIENT_COMMAND_LIST) {
		buffer_addc(out, '[');
		edit_put_words(out, words);
	} else {
		edit_put_text(out, words[0]);
		buffer_printf(out, ",%s", buffer_text(&line));
		install_put_key(out, "args");
		buffer_addc(out, '[');
		edit_put_words(out, words + 1);
	}
	buffer_addc(out, ']');
	if (c->says_enabled) {
		buffer_printf(out, ",%s", buffer_text(&line));
		install_put_key(out, "enabled");
		buffer_adds(out, "true");
	}
	if (!is_flat)
		buffer_printf(out, "%s%s", x->line, indent);
	buffer_addc(out, '}');
	out->failed |= line.failed;
}

/* The keys of the path that are missing, and our server in the last of them. */
static void install_put_path(struct client_edit *x, const struct client_install *in,
	const char *const *words, size_t level, const char *indent, bool is_flat,
	struct buffer *out)
{
	const char *key = in->client->path[level], *deeper;

	if (!key) {
		install_put_server(x, in, words, indent, is_flat, out);
		return;
	}
	deeper = arena_printf(x->arena, "%s%s", indent, x->unit);
	if (!deeper) {
		x->failed = true;
		return;
	}
	install_put_key(out, key);
	buffer_addc(out, '{');
	if (!is_flat)
		buffer_printf(out, "%s%s", x->line, deeper);
	install_put_path(x, in, words, level + 1, deeper, is_flat, out);
	if (!is_flat)
		buffer_printf(out, "%s%s", x->line, indent);
	buffer_addc(out, '}');
}

static void install_add_toml(
	struct client_edit *x, const struct client_install *in, const char *const *words)
{
	const char *s = x->old.text;
	const size_t len = x->old.len;
	auto_buffer put = { 0 };

	if (len && s[len - 1] != '\n')
		buffer_adds(&put, x->line);
	if (len)
		buffer_adds(&put, x->line);
	buffer_printf(&put, "[%s.%s]%scommand = ", in->client->path[0], in->name, x->line);
	edit_put_text(&put, words[0]);
	buffer_printf(&put, "%sargs = [", x->line);
	edit_put_words(&put, words + 1);
	buffer_printf(&put, "]%s", x->line);
	edit_cut(x, len, 0, edit_keep(x, &put));
}

/* The first missing key is `level` of the path. */
static int install_add(struct client_edit *x, const struct client_install *in,
	struct text_place *servers, size_t level, const char *const *words, struct error *e)
{
	struct text_place *map = x->root;
	auto_buffer put = { 0 };
	bool is_flat = false;
	const char *indent;

	for (size_t i = 0; map && i < level; i++)
		map = place_get(map, in->client->path[i]);
	map = servers ? servers : map;
	if (in->client->dialect == PLACES_TOML) {
		if (map && !map->is_open) {
			const struct location where = install_place(x, map);

			(void)error_set(e, -EINVAL, &where,
				"`%s` is a table in {}, to which no other table can be added",
				in->client->path[0]);
			error_hint(e, "write its servers as [%s.NAME]", in->client->path[0]);
			return -EINVAL;
		}
		install_add_toml(x, in, words);
	} else if (!map) {
		buffer_printf(&put, "{%s%s", x->line, x->unit);
		install_put_path(x, in, words, 0, x->unit, false, &put);
		buffer_printf(&put, "%s}%s", x->line, x->line);
		edit_cut(x, x->old.len, 0, edit_keep(x, &put));
	} else {
		indent = edit_member_indent(x, map, &is_flat);
		install_put_path(x, in, words, level, indent, is_flat, &put);
		edit_add_member(x, map, edit_keep(x, &put));
	}
	return 0;
}

/* Where the command and the arguments of a server stand, they are replaced. */
static void install_replace(
	struct client_edit *x, const struct text_place *server, const char *const *words)
{
	const bool is_list = x->client->shape == CLIENT_COMMAND_LIST;
	const struct text_place *command = place_get(server, "command");
	const struct text_place *list = is_list ? command : place_get(server, "args");
	auto_buffer put = { 0 };

	if (!is_list) {
		edit_put_text(&put, words[0]);
		edit_cut(x, command->at, command->end - command->at, edit_keep(x, &put));
		words++;
	}
	buffer_addc(&put, '[');
	edit_put_words(&put, words);
	buffer_addc(&put, ']');
	edit_cut(x, list->at, list->end - list->at, edit_keep(x, &put));
}

static int install_ours(struct client_edit *x, const struct client_install *in,
	struct text_place *servers, size_t level, struct client_changes *ret, struct error *e)
{
	const struct text_place *there = place_get(servers, in->name);
	const char **has = there ? edit_words(x, there) : NULL;
	const bool is_serve = edit_is_ours(has, "serve");
	const bool keeps = is_serve && !in->has_options;
	const char **words = edit_command(x, in->program, "serve",
		keeps ? (const char *const *)has + 3 : in->options, NULL, false);
	struct client_change c = { CLIENT_ADDED, in->name, NULL, NULL, words };

	if (!words)
		return 0;
	if (!there) {
		edit_note(x, ret, &c);
		return install_add(x, in, servers, level, (const char *const *)words, e);
	}
	c.before = has;
	c.kind = CLIENT_SAME;
	if (install_is_same((const char *const *)has, (const char *const *)words)) {
		edit_note(x, ret, &c);
		return 0;
	}
	if (!is_serve || !in->is_ours) {
		const struct location where = install_place(x, there);

		(void)error_set(e, -EEXIST, &where, "a server `%s` is there already, and %s",
			in->name,
			is_serve ? "`corral mcp install` did not put it there"
				 : "it is another one");
		error_hint(e,
			"it stays as it is: choose another name with --name, or remove it first");
		return -EEXIST;
	}
	c.kind = CLIENT_UPDATED;
	install_replace(x, there, (const char *const *)words);
	edit_note(x, ret, &c);
	return 0;
}

/* Reads what came out as the client does. */
static int install_check(const struct client_install *in, struct arena *a,
	const struct client_text *new, const struct client_changes *changes, struct error *e)
{
	struct client_edit x;
	struct text_place *servers = NULL;
	size_t level;
	int r = edit_open(&x, a, in->client, new, e);

	r = r < 0 ? r : edit_servers(&x, &servers, &level, e);
	for (size_t i = 0; r == 0 && i < changes->n; i++) {
		const struct client_change *c = &changes->items[i];
		const struct text_place *server = place_get(servers, c->server);

		if (c->after &&
			(!server || !install_is_same((const char *const *)edit_words(&x, server),
					    (const char *const *)c->after)))
			r = error_set(e, -EINVAL, NULL,
				"the changed text would not name the server `%s` as it should: "
				"nothing was "
				"written",
				c->server);
	}
	return r;
}

int client_install(const struct client_install *in, struct arena *a, const struct client_text *old,
	struct buffer *out, struct client_changes *ret, struct error *e)
{
	struct text_place *servers = NULL;
	size_t level = 0, start = out->len;
	struct client_edit x;
	int r = edit_open(&x, a, in->client, old, e);

	r = r < 0 ? r : edit_servers(&x, &servers, &level, e);
	r = r < 0 ? r : install_ours(&x, in, servers, level, ret, e);
	if (r == 0)
		wrapping_apply(&x, in, servers, ret);
	r = r < 0 ? r : edit_apply(&x, out, e);
	if (r == 0) {
		const struct client_text new = { old->file, buffer_text(out) + start,
			out->len - start };

		r = install_check(in, a, &new, ret, e);
	}
	return r;
}
