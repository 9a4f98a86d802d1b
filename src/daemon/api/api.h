/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Answers calls of the API: api.c has the table of handlers, calls.c the record of each call,
 * answer.c what is sent; the other files answer the routes that they are named after.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "daemon/api/metrics.h"
#include "daemon/api/tool-queue.h"
#include "daemon/api/tool.h"
#include "daemon/login.h"
#include "daemon/message.h"
#include "daemon/route.h"
#include "event/loop.h"

enum {
	API_CALLS_MAX = 512, /* not answered yet: tools, lines, orders and the enclave have fewer */
	API_WRONG_LINKS_MAX = 20, /* per second that are recorded one by one */
};

#define API_WRONG_LINK                                                                           \
	"this link was used already, or is older than a minute; `corral dashboard` makes a new " \
	"one"

struct supervisor;

/* A call that was not answered yet; the log gets it with its answer's status. */
struct api_pending {
	const struct route *route; /* NULL: the place is free */
	uint64_t id;
	bool by_unix;
};

struct api {
	struct api_pending calls[API_CALLS_MAX];
	struct metrics metrics;
	struct login login;
	struct {
		struct timer second;
		uint64_t n, more; /* in this second; those that are told together */
		bool by_unix;
	} wrong_links;
	struct tool *tools[TOOLS_MAX];
	struct tool_queue tool_queue;
};

/* api.c */
void api_call(struct supervisor *s, uint64_t id, const struct route_call *c);

/* calls.c */
void api_note(struct supervisor *s, const struct message_note *m);
/* Records a call with the status of its answer, once; reason: why it was refused, or "". */
void api_answered(struct supervisor *s, uint64_t id, unsigned status, const char *reason);
/* corrald-http has ended: its calls get no answer. */
void api_forget_calls(struct supervisor *s);

/* answer.c */
void api_reply(struct supervisor *s, uint64_t id, unsigned status, const char *json, size_t len);
/* {"error": text} with this status. */
void api_fail(struct supervisor *s, uint64_t id, unsigned status, const char *text);
void api_send(struct supervisor *s, uint64_t id, const struct buffer *json);
typedef void api_handler(struct supervisor *s, uint64_t id, const struct route_call *c);
/* config.c */
api_handler api_config, api_config_put;
/* policies.c */
api_handler api_policies, api_policy, api_policy_put, api_policy_remove, api_policy_version,
	api_policy_undo;
/* rules.c */
api_handler api_rules, api_rule, api_rule_add, api_rule_put, api_rule_change, api_rule_remove;
/* skills.c */
api_handler api_skills, api_skill, api_skill_changes, api_skill_approve;
/* vault.c */
api_handler api_vault, api_vault_lock, api_vault_unlock;
/* login.c */
api_handler api_login, api_login_code;
/* questions.c */
api_handler api_questions, api_answer, api_grants, api_sandbox_grant, api_revoke;

/* later.c */
api_handler api_later, api_later_answer;
