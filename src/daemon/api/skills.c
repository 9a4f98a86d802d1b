/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Skills: each call is a use of `corral skills`, which reads them in a confined process. A call
 * names a skill by its id, never by a path, so that it is one that the list has. An approval has
 * the digest that the person saw, and is recorded, as is one that was refused.
 */
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "codec/json-writer.h"
#include "daemon/api/api.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"

enum { API_SKILL_ID = 64, API_SKILL_WORDS = 8 };

/* `corral skills VERB …` of the skill that the call names; of all, if it names none. */
static void api_skills_tool(
	struct supervisor *s, const char *verb, const struct route_call *c, struct tool_request *r)
{
	const char *argv[API_SKILL_WORDS] = { "skills", verb, "--json" };
	const char *skill = route_value(c, "id"), *digest = route_value(c, "digest");
	auto_arena a = { 0 };
	size_t n = 3;

	if (skill && !ascii_is_hex_text(skill, API_SKILL_ID)) {
		api_fail(s, r->id, 404, "there is no such skill; see /api/skills");
		return;
	}
	if (s->config.source[0])
		argv[n++] = tool_option(&a, "config", s->config.source);
	if (digest)
		argv[n++] = tool_option(&a, "digest", digest);
	if (skill)
		argv[n++] = skill;
	r->argv = argv;
	r->refuses = true;
	tool_start(s, c, r);
}

void api_skills(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_skills_tool(s, "list", c, &(struct tool_request){ .id = id });
}

void api_skill(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_skills_tool(s, "show", c, &(struct tool_request){ .id = id });
}

void api_skill_changes(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_skills_tool(s, "changes", c, &(struct tool_request){ .id = id });
}

static void api_skill_publish(struct supervisor *s, const struct document *d)
{
	static const char *const keys[] = { "id", "name", "path", "digest" };
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	json_open_map(&w, NULL);
	json_put_text(&w, "state", "approved");
	for (size_t i = 0; i < ROWS(keys); i++)
		json_put_text(&w, keys[i], node_get_text(d->root, keys[i]));
	json_close(&w);
	if (!json.failed)
		bus_publish(s, "skill", json.data);
}

static void api_skill_tell(
	struct supervisor *s, unsigned status, const char *subject, const struct buffer *text)
{
	const bool is_done = status == 200;
	auto_document d = { 0 };

	if (json_read(&d, NULL, buffer_text(text), text->len, NULL) < 0)
		return;
	journal_record(s, &(struct audit_event){ .action = AUDIT_POLICY,
				  .program = "corrald",
				  .target = is_done ? node_get_text(d.root, "path") : subject,
				  .decision = is_done ? AUDIT_ALLOWED : AUDIT_DENIED,
				  .rule = "approve",
				  .reason = node_get_text(d.root, is_done ? "digest" : "error"),
				  .status = status,
				  .exact = true });
	if (is_done)
		api_skill_publish(s, &d);
}

void api_skill_approve(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_skills_tool(s, "approve", c,
		&(struct tool_request){
			.id = id, .tell = api_skill_tell, .subject = route_value(c, "id") });
}
