/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/client/wrapping.h"

#include <string.h>

#include "base/ascii.h"

static bool wrapping_is_variable(const char *name)
{
	const size_t len = strlen(name);
	size_t i = 0;

	while (i < len && (ascii_is_alnum(name[i]) || name[i] == '_'))
		i++;
	return len && i == len && !ascii_is_digit(name[0]);
}

/*
 * --env NAME for each variable that the entry sets, or (Codex: env_vars) takes from the client's
 * environment, or the server would not see it.
 */
static const char **wrapping_variables(struct client_edit *x, const struct text_place *server)
{
	const struct text_place *map = place_get(server, x->client->variables);
	const struct text_place *list = place_get(server, "env_vars");
	const char **words;
	size_t n = 0;

	map = map && map->kind == PLACE_MAP ? map : NULL;
	list = place_is_texts(list) ? list : NULL;
	words = arena_calloc(x->arena, 2 * ((map ? map->count : 0) + (list ? list->count : 0)) + 1,
		sizeof(*words));
	if (!words) {
		x->failed = true;
		return NULL;
	}
	for (const struct text_place *p = map ? map->first : NULL; p; p = p->next)
		if (wrapping_is_variable(p->key)) {
			words[n++] = "--env";
			words[n++] = p->key;
		}
	for (const struct text_place *p = list ? list->first : NULL; p; p = p->next)
		if (wrapping_is_variable(p->text)) {
			words[n++] = "--env";
			words[n++] = p->text;
		}
	return words;
}

/* What stands before "command" in its key: "notes." of notes.command. NULL: it is not to be had. */
static const char *wrapping_key_before(struct client_edit *x, const struct text_place *command)
{
	const char *s = x->old.text + command->key_at, *end = s;
	const size_t len = strlen("command");

	if (x->client->dialect != PLACES_TOML)
		return "";
	while (end < x->old.text + x->old.len && (ascii_is_alnum(*end) || strchr("._-", *end)))
		end++;
	if ((size_t)(end - s) < len || memcmp(end - len, "command", len) != 0)
		return NULL;
	return arena_strndup(x->arena, s, (size_t)(end - s) - len);
}

/* No list of arguments: one is put before the command. */
static void wrapping_add_args(struct client_edit *x, const struct text_place *server,
	const struct text_place *command, const char *before, const char *items)
{
	const char *s = x->old.text;
	const bool is_toml = x->client->dialect == PLACES_TOML;
	const bool is_line = is_toml && server->is_open;
	size_t start = command->key_at;
	auto_buffer put = { 0 };

	while (start > 0 && strchr(is_line ? " \t" : " \t\r\n", s[start - 1]))
		start--;
	if (is_toml)
		buffer_printf(&put, "%sargs = ", before);
	else
		edit_put_text(&put, "args");
	buffer_printf(&put, "%s[%s]%s", is_toml ? "" : ": ", items, is_line ? x->line : ",");
	if (start < command->key_at)
		buffer_add(&put, s + start, command->key_at - start);
	else if (!is_line)
		buffer_addc(&put, ' ');
	edit_cut(x, command->key_at, 0, edit_keep(x, &put));
}

/* A server's own folder may have a program of our name, and modes and tiers enforce less. */
static bool wrapping_is_confined(const struct client_install *in, const char *const *words)
{
	bool is = strcmp(words[0], in->program) == 0 || strcmp(words[0], "corral") == 0;

	for (size_t i = 3; is && words[i] && strcmp(words[i], "--") != 0; i++)
		is = strncmp(words[i], "--mode", 6) != 0 &&
		     strncmp(words[i], "--data-dir", 10) != 0 &&
		     strncmp(words[i], "--tier", 6) != 0;
	return is;
}

/* NULL: it was wrapped; else why it is left. */
static const char *wrapping_wrap(struct client_edit *x, const struct client_install *in,
	const struct text_place *server, struct client_change *c)
{
	const bool is_list = x->client->shape == CLIENT_COMMAND_LIST;
	const struct text_place *command = place_get(server, "command");
	const struct text_place *args = is_list ? NULL : place_get(server, "args");
	const char **variables, *before, *items;
	auto_buffer put = { 0 };

	if (!command)
		return place_get(server, "url") || place_get(server, "httpUrl") ||
				       place_get(server, "serverUrl")
			       ? "it is reached over HTTP, and no process here"
			       : "it has no command";
	c->before = edit_words(x, server);
	if (!c->before)
		return "its command or arguments are not text";
	if (edit_is_ours(c->before, "wrap") || edit_is_ours(c->before, "serve") ||
		edit_is_ours(c->before, "gateway"))
		return wrapping_is_confined(in, c->before)
			       ? "it runs by Corral already"
			       : "it names Corral, but is another program or not confined; look "
				 "at it";
	before = wrapping_key_before(x, command);
	if (!before)
		return "its keys are written in a form that is not changed here";
	variables = wrapping_variables(x, server);
	c->after = edit_command(x, in->program, "wrap", in->wrap_options, variables, true);
	if (!c->after)
		return NULL;
	edit_put_words(&put, c->after + !is_list);
	if (!is_list) {
		buffer_adds(&put, ", ");
		buffer_add(&put, x->old.text + command->at, command->end - command->at);
	}
	items = edit_keep(x, &put);
	if (is_list)
		edit_add_front(x, command, items);
	else if (args)
		edit_add_front(x, args, items);
	else
		wrapping_add_args(x, server, command, before, items);
	if (!is_list) {
		edit_put_text(&put, in->program);
		edit_cut(x, command->at, command->end - command->at, edit_keep(x, &put));
	}
	return NULL;
}

/* What runs in the end, for the list of changes. */
static const char **wrapping_joined(
	struct client_edit *x, const char **wrapper, const char **command)
{
	size_t n = 0, m = 0;
	const char **words;

	while (wrapper[n])
		n++;
	while (command[m])
		m++;
	words = arena_calloc(x->arena, n + m + 1, sizeof(*words));
	if (!words) {
		x->failed = true;
		return NULL;
	}
	memcpy(words, wrapper, n * sizeof(*words));
	memcpy(words + n, command, m * sizeof(*words));
	return words;
}

void wrapping_apply(struct client_edit *x, const struct client_install *in,
	const struct text_place *servers, struct client_changes *ret)
{
	if (!servers || !in->wraps)
		return;
	place_for_each(p, servers)
	{
		struct client_change c = { .kind = CLIENT_LEFT, .server = p->key };

		if (strcmp(p->key, in->name) == 0)
			continue;
		c.why = p->kind == PLACE_MAP ? wrapping_wrap(x, in, p, &c) : "it is no map";
		if (!c.why && c.after) {
			c.kind = CLIENT_WRAPPED;
			c.after = wrapping_joined(x, c.after, c.before);
		}
		edit_note(x, ret, &c);
	}
}
