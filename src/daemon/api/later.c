/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about files and programs of commands that failed where there was no terminal. They are
 * in the user's state, and each call is a use of `corral questions`: an answer is kept there for
 * the next run.
 */
#include <string.h>

#include "base/ascii.h"
#include "daemon/api/api.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/supervisor.h"

enum { API_LATER_ID = 32 };

void api_later(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	static const char *const argv[] = { "questions", "list", "--later", "--json", NULL };

	tool_start(s, c, &(struct tool_request){ .argv = argv, .id = id });
}

void api_later_answer(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	const char *question = route_value(c, "id"), *answer = route_value(c, "answer");
	const char *argv[] = { "questions", "deny", "--json", question, NULL, NULL };

	if (!ascii_is_hex_text(question, API_LATER_ID)) {
		api_fail(s, id, 404, "there is no such question; see /api/later");
		return;
	}
	if (strcmp(answer, "deny") != 0) {
		argv[1] = "allow";
		argv[4] = strcmp(answer, "always") == 0 ? "--always"
			  : strcmp(answer, "day") == 0  ? "--for=24h"
							: "--once";
	}
	tool_start(s, c, &(struct tool_request){ .argv = argv, .id = id, .refuses = true });
}
