/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call does: one row for each route. A handler answers at once, or starts what answers later
 * (tool.c). Each call is in the audit log, and an event, when it was answered.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/clock.h"
#include "codec/json-writer.h"
#include "daemon/api/api.h"
#include "daemon/api/metrics.h"
#include "daemon/api/tool.h"
#include "daemon/peers/peers.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/enclave-process.h"
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/watch/changes.h"
#include "daemon/watch/security-watch.h"
#include "wire/question.h"

static void api_status(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	const int failure = audit_trail_failure(s->journal.trail);
	const char *broker = secure_getenv("CORRAL_BROKER");
	auto_buffer json = { 0 }, watch = { 0 };
	struct json_writer w = { .out = &json };

	(void)c;
	json_open_map(&w, NULL);
	json_put_text(&w, "version", CORRAL_VERSION);
	json_put_number(&w, "pid", getpid());
	json_put_text(&w, "mode", s->is_system ? "system" : "user");
	json_put_count(&w, "started_ms", s->started_ms);
	json_put_count(&w, "uptime_ms", clock_ms(CLOCK_REALTIME) - s->started_ms);
	if (s->listeners.port)
		json_put_count(&w, "port", s->listeners.port);
	else
		json_put_null(&w, "port");
	json_put_text(&w, "runtime", buffer_text(&s->folder.path));
	json_open_map(&w, "http");
	json_put_number(&w, "pid", s->http.child.pid);
	json_put_count(&w, "restarts", s->http.n_started ? s->http.n_started - 1 : 0);
	json_close(&w);
	json_open_map(&w, "broker");
	json_put_flag(&w, "installed",
		access(broker && *broker ? broker : CORRAL_BROKER_PATH, X_OK) == 0);
	json_put_text(&w, "runs", "one for each sandbox with a broker");
	json_close(&w);
	json_open_map(&w, "log");
	json_put_text(&w, "path", buffer_text(&s->journal.path));
	json_put_count(&w, "lost", audit_trail_lost(s->journal.trail));
	json_put_text(&w, "error", failure < 0 ? strerror(-failure) : NULL);
	json_close(&w);
	changes_why(s, &watch);
	json_open_map(&w, "watch");
	json_put_text(&w, "error", watch.len ? watch.data : NULL);
	json_close(&w);
	json_put_count(&w, "sandboxes", s->peers.n_sandboxes);
	json_open_map(&w, "events");
	json_put_count(&w, "next", s->bus.next_id);
	json_end_line(&w);
	api_send(s, id, &json);
}

/* `corral audit …` of the daemon's log, with the filters of the call. */
static void api_audit_tool(struct supervisor *s, const char *const *words,
	const struct route_call *c, struct tool_request *r)
{
	const char *argv[ROUTE_FIELDS_MAX + 10];
	const struct schema_field *fields = c->route->fields;
	auto_arena a = { 0 };
	size_t n = 0;
	struct error e;

	/* Its own records are there, unless others have the log. */
	(void)audit_trail_try_flush(s->journal.trail, &e);
	for (; words[n]; n++)
		argv[n] = words[n];
	for (size_t i = 0; fields[i].name; i++) {
		const bool is_limit = strcmp(fields[i].name, "limit") == 0;
		const char *value = c->values[i] ? c->values[i] : is_limit ? "100" : NULL;

		if (value)
			argv[n++] = tool_option(&a, is_limit ? "lines" : fields[i].name, value);
	}
	argv[n++] = "--";
	argv[n++] = buffer_text(&s->journal.path);
	argv[n] = NULL;
	r->argv = argv;
	tool_start(s, c, r);
}

static void api_audit(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	static const char *const words[] = { "audit", "tail", "--json", NULL };

	api_audit_tool(s, words, c, &(struct tool_request){ .is_lines = true, .id = id });
}

static void api_audit_summary(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	static const char *const words[] = { "audit", "stats", "--json", NULL };

	api_audit_tool(s, words, c, &(struct tool_request){ .id = id });
}

static void api_audit_export(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	static const char *const words[] = { "audit", "list", "--json", "--newest", "--limit=10000",
		NULL };

	api_audit_tool(
		s, words, c, &(struct tool_request){ .is_lines = true, .is_cut = true, .id = id });
}

static void api_audit_verify(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	const char *argv[] = { "audit", "verify", "--json", "--", buffer_text(&s->journal.path),
		NULL };
	struct error e;

	(void)c;
	(void)audit_trail_try_flush(s->journal.trail, &e);
	tool_start(s, c, &(struct tool_request){ .argv = argv, .id = id });
}

/* The policy of a call: its text by standard input, or a stored one. False: it was refused. */
static bool api_take_policy(struct supervisor *s, uint64_t id, const struct route_call *c,
	struct arena *a, const char **ret_word)
{
	const char *text = route_value(c, "policy"), *stored = route_value(c, "stored");

	if (!text == !stored) {
		api_fail(s, id, 400, "one of the parameters policy and stored is needed");
		return false;
	}
	*ret_word = stored ? tool_option(a, "stored", stored) : NULL;
	return true;
}

static void api_policy_check(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	const char *argv[10] = { "policy", "check", "--json" }, *stored = NULL;
	const char *method = route_value(c, "method");
	auto_arena a = { 0 };
	size_t n = 3;

	if (!api_take_policy(s, id, c, &a, &stored))
		return;
	argv[n++] = stored ? stored : "--policy=-";
	if (s->is_system && stored)
		argv[n++] = "--system";
	argv[n++] = tool_option(&a, "op", route_value(c, "operation"));
	argv[n++] = tool_option(&a, "target", route_value(c, "target"));
	if (method)
		argv[n++] = tool_option(&a, "method", method);
	tool_start(s, c,
		&(struct tool_request){
			.argv = argv, .input = route_value(c, "policy"), .id = id });
}

static void api_policy_lint(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	const char *argv[6] = { "policy", "lint", "--json" }, *stored = NULL;
	auto_arena a = { 0 };

	if (!api_take_policy(s, id, c, &a, &stored))
		return;
	argv[3] = stored ? stored : "-";
	if (s->is_system && stored)
		argv[4] = "--system";
	tool_start(s, c,
		&(struct tool_request){
			.argv = argv, .input = route_value(c, "policy"), .id = id });
}

static void api_doctor(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	static const char *const argv[] = { "doctor", "--json", NULL };

	(void)c;
	tool_start(s, c, &(struct tool_request){ .argv = argv, .id = id });
}

static void api_sandboxes(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_buffer json = { 0 };

	(void)c;
	sandboxes_print(s, &json);
	api_send(s, id, &json);
}

/* NULL: there is none, and that was answered. */
static struct sandbox *api_find_sandbox(
	struct supervisor *s, uint64_t id, const struct route_call *c)
{
	struct sandbox *b = peers_find(s, route_value(c, "id"));

	if (!b)
		api_fail(s, id, 404,
			"there is no such sandbox; `corral ps` and GET /api/sandboxes list them");
	return b;
}

static void api_sandbox(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	const struct sandbox *b = api_find_sandbox(s, id, c);
	auto_buffer json = { 0 };

	if (!b)
		return;
	sandboxes_print_details(b, &json);
	buffer_addc(&json, '\n');
	api_send(s, id, &json);
}

static void api_sandbox_end(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	struct sandbox *b = api_find_sandbox(s, id, c);
	auto_buffer json = { 0 };

	if (!b)
		return;
	if (sandboxes_stop(b) < 0) {
		api_fail(s, id, 503, "the sandbox cannot be reached now; try again");
		return;
	}
	buffer_adds(&json, "{\"stopping\":true}\n");
	api_send(s, id, &json);
}

static void api_security(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_buffer json = { 0 };

	(void)c;
	security_watch_print(s, &json);
	api_send(s, id, &json);
}

static void api_metrics(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_buffer text = { 0 };

	(void)c;
	metrics_print(s, &text);
	api_send(s, id, &text);
}

static void api_wrappers(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	const char *argv[] = { "security", "--json", "--wrappers", s->is_system ? "--system" : NULL,
		NULL };

	(void)c;
	tool_start(s, c, &(struct tool_request){ .argv = argv, .id = id });
}

static api_handler *const api_handlers[ROUTE_COUNT] = {
	[ROUTE_STATUS] = api_status,
	[ROUTE_CONFIG] = api_config,
	[ROUTE_CONFIG_PUT] = api_config_put,
	[ROUTE_AUDIT] = api_audit,
	[ROUTE_AUDIT_SUMMARY] = api_audit_summary,
	[ROUTE_AUDIT_EXPORT] = api_audit_export,
	[ROUTE_AUDIT_VERIFY] = api_audit_verify,
	[ROUTE_POLICY_CHECK] = api_policy_check,
	[ROUTE_POLICY_LINT] = api_policy_lint,
	[ROUTE_POLICIES] = api_policies,
	[ROUTE_POLICY_GET] = api_policy,
	[ROUTE_POLICY_PUT] = api_policy_put,
	[ROUTE_POLICY_REMOVE] = api_policy_remove,
	[ROUTE_POLICY_VERSION] = api_policy_version,
	[ROUTE_POLICY_UNDO] = api_policy_undo,
	[ROUTE_RULES] = api_rules,
	[ROUTE_RULE] = api_rule,
	[ROUTE_RULE_ADD] = api_rule_add,
	[ROUTE_RULE_PUT] = api_rule_put,
	[ROUTE_RULE_CHANGE] = api_rule_change,
	[ROUTE_RULE_REMOVE] = api_rule_remove,
	[ROUTE_DOCTOR] = api_doctor,
	[ROUTE_SANDBOXES] = api_sandboxes,
	[ROUTE_SANDBOX] = api_sandbox,
	[ROUTE_SANDBOX_END] = api_sandbox_end,
	[ROUTE_SANDBOX_GRANT] = api_sandbox_grant,
	[ROUTE_QUESTIONS] = api_questions,
	[ROUTE_ANSWER] = api_answer,
	[ROUTE_LATER] = api_later,
	[ROUTE_LATER_ANSWER] = api_later_answer,
	[ROUTE_GRANTS] = api_grants,
	[ROUTE_REVOKE] = api_revoke,
	[ROUTE_LOGIN] = api_login,
	[ROUTE_LOGIN_CODE] = api_login_code,
	[ROUTE_FS_READ] = enclave_process_call,
	[ROUTE_FS_WRITE] = enclave_process_call,
	[ROUTE_FS_LIST] = enclave_process_call,
	[ROUTE_SHELL_EXEC] = enclave_process_call,
	[ROUTE_GET_POLICY] = enclave_process_call,
	[ROUTE_SET_POLICY] = enclave_process_call,
	[ROUTE_GET_AUDIT_LOG] = enclave_process_call,
	[ROUTE_EXPORT_AUDIT_LOG] = enclave_process_call,
	[ROUTE_SECURITY] = api_security,
	[ROUTE_WRAPPERS] = api_wrappers,
	[ROUTE_SKILLS] = api_skills,
	[ROUTE_SKILL] = api_skill,
	[ROUTE_SKILL_CHANGES] = api_skill_changes,
	[ROUTE_SKILL_APPROVE] = api_skill_approve,
	[ROUTE_VAULT] = api_vault,
	[ROUTE_VAULT_LOCK] = api_vault_lock,
	[ROUTE_VAULT_UNLOCK] = api_vault_unlock,
	[ROUTE_METRICS] = api_metrics,
};

static enum route_effect api_effect(const struct route_call *c)
{
	const bool is_answer =
		c->route == &routes[ROUTE_ANSWER] || c->route == &routes[ROUTE_LATER_ANSWER];
	const char *answer = is_answer ? route_value(c, "answer") : NULL;

	return answer && strcmp(answer, route_answers[ANSWER_DENY]) == 0 ? ROUTE_EFFECT_TAKES
									 : c->route->effect;
}

/* False: the call was refused. */
static bool api_log_first(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_buffer target = { 0 }, reason = { 0 };
	struct error e = { 0 };
	int r;

	buffer_printf(&target, "%s %s", c->route->method, c->route->path);
	buffer_adds(&reason, "begins; its outcome is another record; given: ");
	route_call_print(c, &reason);
	journal_record(s, &(struct audit_event){ .action = AUDIT_SERVICE,
				  .program = "corrald-http",
				  .target = buffer_text(&target),
				  .decision = AUDIT_ASKED,
				  .rule = c->flags & ROUTE_BY_UNIX ? "api.sock" : "loopback",
				  .reason = buffer_text(&reason),
				  .exact = true });
	r = journal_commit(s, &e);
	if (r == 0)
		return true;
	buffer_clear(&target);
	buffer_printf(&target, "%s; nothing was changed", e.text);
	api_fail(s, id, r == -ENOSPC || r == -EDQUOT ? 507 : 503, buffer_text(&target));
	return false;
}

void api_call(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_handler *handler = api_handlers[c->route - routes];
	struct api_pending *call = NULL;

	for (size_t i = 0; i < ROWS(s->api.calls) && !call; i++)
		call = s->api.calls[i].route ? NULL : &s->api.calls[i];
	if (call)
		*call = (struct api_pending){ c->route, id, c->flags & ROUTE_BY_UNIX };
	if (!call)
		api_fail(s, id, 429, "too many requests are under way; try again");
	else if (!handler || c->route->effect == ROUTE_EFFECT_UNKNOWN)
		api_fail(s, id, 500, "there is nothing behind this path");
	else if (api_effect(c) != ROUTE_EFFECT_GRANTS || api_log_first(s, id, c))
		handler(s, id, c);
	http_link_flush(s);
}
