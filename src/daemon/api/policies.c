/* SPDX-License-Identifier: Apache-2.0 */
/* Stored policies: each call is a use of `corral policy`, which checks names, texts and etags. */
#include <stddef.h>

#include "base/arena.h"
#include "daemon/api/api.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/supervisor.h"

enum { API_WORDS = 12 };

/* The words of a tool, as they are gathered. */
struct api_words {
	struct arena arena;
	const char *argv[API_WORDS + 1];
	size_t n;
};

static void api_words_add(struct api_words *w, const char *word)
{
	if (word && w->n < API_WORDS)
		w->argv[w->n++] = word;
}

static void api_words_deinit(struct api_words *w)
{
	arena_deinit(&w->arena);
}
#define auto_words __attribute__((cleanup(api_words_deinit))) struct api_words

static void api_words_option(struct api_words *w, const struct route_call *c, const char *name)
{
	const char *value = route_value(c, name);

	if (value)
		api_words_add(w, tool_option(&w->arena, name, value));
}

static void api_words_begin(struct api_words *w, const struct supervisor *s, const char *verb)
{
	api_words_add(w, "policy");
	api_words_add(w, verb);
	api_words_add(w, "--json");
	if (s->is_system)
		api_words_add(w, "--system");
}

/* Behind "--" a name is a name, whatever it begins with. */
static void api_words_name(struct api_words *w, const struct route_call *c)
{
	api_words_add(w, "--");
	api_words_add(w, route_value(c, "name"));
}

void api_policies(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_words w = { 0 };

	(void)c;
	api_words_begin(&w, s, "list");
	tool_start(s, c, &(struct tool_request){ .argv = w.argv, .id = id });
}

void api_policy(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_words w = { 0 };

	api_words_begin(&w, s, "history");
	api_words_name(&w, c);
	tool_start(s, c, &(struct tool_request){ .argv = w.argv, .refuses = true, .id = id });
}

void api_policy_put(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_words w = { 0 };

	api_words_begin(&w, s, "save");
	api_words_option(&w, c, "etag");
	api_words_name(&w, c);
	api_words_add(&w, "-");
	tool_start(s, c,
		&(struct tool_request){ .argv = w.argv,
			.input = route_value(c, "text"),
			.refuses = true,
			.id = id });
}

void api_policy_remove(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_words w = { 0 };

	api_words_begin(&w, s, "remove");
	api_words_option(&w, c, "etag");
	api_words_name(&w, c);
	tool_start(s, c, &(struct tool_request){ .argv = w.argv, .refuses = true, .id = id });
}

void api_policy_version(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_words w = { 0 };

	api_words_begin(&w, s, "history");
	api_words_option(&w, c, "version");
	api_words_name(&w, c);
	tool_start(s, c, &(struct tool_request){ .argv = w.argv, .refuses = true, .id = id });
}

void api_policy_undo(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_words w = { 0 };

	api_words_begin(&w, s, "undo");
	api_words_option(&w, c, "version");
	api_words_option(&w, c, "etag");
	api_words_name(&w, c);
	tool_start(s, c, &(struct tool_request){ .argv = w.argv, .refuses = true, .id = id });
}
