/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/utf8.h"
#include "cli/explain/explain.h"
#include "cli/output.h"
#include "cli/policy/report.h"
#include "cli/run/internal.h"
#include "codec/json-writer.h"
#include "launch/program.h"
#include "policy/explain.h"
#include "codec/unit.h"

int run_result_status(const struct report *report)
{
	if (report->flags & REPORT_TIMED_OUT)
		return RUN_TIMED_OUT;
	/* The command got no signal of it, or just EPIPE. */
	if (report->output_error)
		return RUN_FAILED;
	return report->signal ? RUN_SIGNALLED + report->signal : report->exit_code;
}

/* For people */

/* Of a limit that was not asked for. */
static void run_result_tell_default(
	struct output *o, const struct run *r, enum limit which, const char *option)
{
	if (r->is_default[which])
		buffer_printf(&o->text,
			", the limit of the profile %s on this machine (change it with %s, or "
			"remove it with --limits none)",
			r->builtin.name, option);
	buffer_addc(&o->text, '\n');
}

static void run_result_tell_limits(struct output *o, const struct run *r, const struct run_stdio *s,
	const struct report *report)
{
	if (report->flags & REPORT_TIMED_OUT) {
		output_note(o);
		buffer_adds(&o->text, "the command timed out after ");
		unit_print_duration(r->limits.values[LIMIT_TIMEOUT_MS], &o->text);
		buffer_addc(&o->text, '\n');
	}
	if (report->flags & REPORT_OUT_OF_MEMORY) {
		output_note(o);
		buffer_adds(&o->text,
			"the command was killed because it exceeded its memory limit of ");
		unit_print_size(r->limits.values[LIMIT_MEMORY], &o->text);
		run_result_tell_default(o, r, LIMIT_MEMORY, "--memory SIZE");
	}
	if (report->flags & REPORT_TOO_MANY_PIDS) {
		output_note(o);
		buffer_printf(&o->text, "the command %s the limit of %llu processes and threads",
			report->signal ? "was killed because it exceeded" : "reached",
			(unsigned long long)r->limits.values[LIMIT_PIDS]);
		run_result_tell_default(o, r, LIMIT_PIDS, "--pids N");
	}
	if (report->output_error) {
		output_note(o);
		buffer_printf(&o->text, "cannot write all output of the command: %s\n",
			strerror((int)report->output_error));
	}
	if (s->budget.dropped) {
		output_note(o);
		buffer_printf(&o->text, "%llu bytes of output were dropped: the limit is ",
			(unsigned long long)s->budget.dropped);
		unit_print_size(r->limits.values[LIMIT_OUTPUT], &o->text);
		buffer_adds(&o->text, "\n");
	}
}

/* An address, not a name: those are recorded when they are asked for. */
static void run_result_tell_unheard(struct output *o, const struct run *r)
{
	const char *name = r->options.profile;

	output_note(o);
	buffer_adds(
		&o->text, "the command tried to reach an address, but this run has no network: ");
	if (name && strcmp(name, "offline") == 0)
		buffer_adds(&o->text, "the profile offline never has one\n");
	else
		buffer_adds(&o->text, "add --explain to see it, and --net ADDRESS:PORT to allow "
				      "it\n");
}

/* That it was watched, and if it was of no use. Of one that succeeds the log has it. */
static void run_result_tell_again(struct output *o, const struct run *r, int status)
{
	if (!r->options.is_again || status == 0)
		return;
	output_note(o);
	buffer_adds(&o->text, "this run was watched, because the command failed here before");
	if (!run_explain_is_denied(r, status))
		buffer_adds(&o->text, "; nothing was denied that explains it");
	buffer_addc(&o->text, '\n');
}

/* With --explain what was denied is in one table; hosts that could not be reached are not. */
static void run_result_tell_denied(struct output *o, const struct run *r, int status)
{
	struct run_network failed = { 0 };

	if (!r->options.explain || (r->options.is_asked_only && status == 0)) {
		run_network_tell(&r->network, o);
		return;
	}
	for (size_t i = 0; i < r->network.n; i++) {
		if (r->network.items[i].kind == RECORD_FAILED)
			(void)run_network_add(&failed, r->call->arena, &r->network.items[i]);
	}
	run_network_tell(&failed, o);
	run_explain_tell(r, status, o);
}

/* Who reads this may be a model that called Corral: it learns what it can ask for. */
static void run_result_add_ask(struct output *o, bool is_offered)
{
	if (isatty(STDERR_FILENO))
		return;
	output_note(o);
	buffer_printf(&o->text, "%s; the sandbox cannot be turned off from inside\n",
		is_offered ? "ask the user for the options above"
			   : "no option allows this: ask the user whether it is needed");
}

static void run_result_tell_model(struct output *o, const struct run *r, int status)
{
	/* The table stands above. */
	bool is_denied = r->options.explain && run_explain_is_denied(r, status),
	     is_offered = is_denied && run_explain_is_offered(r, status);

	for (size_t i = 0; i < r->network.n; i++) {
		const struct record *one = &r->network.items[i];

		is_denied = is_denied || one->kind == RECORD_DENIED;
		/* A rule that forbids it has no option. */
		is_offered = is_offered ||
			     (one->kind == RECORD_DENIED && (strncmp(one->remedy, "add ", 4) == 0 ||
								    strstr(one->remedy, "--net")));
	}
	if (status != 0 && is_denied)
		run_result_add_ask(o, is_offered);
}

static void run_result_tell_unasked(struct output *o, const struct run *r, bool is_unheard)
{
	const char *asks = run_live_unasked(r, is_unheard);

	if (!asks)
		return;
	output_note(o);
	output_foreign(o, asks);
	buffer_adds(&o->text,
		" asks about hosts, but no daemon was there to pass the question on: start one "
		"with `corral dashboard`, then run the command again\n");
}

/* A wait is silent: the terminal is the command's. */
static void run_result_tell_expired(struct output *o, const struct run *r)
{
	const size_t n = r->live.n_expired;

	if (n == 0)
		return;
	output_note(o);
	buffer_printf(&o->text,
		"%zu question%s not answered in time: `corral questions list` shows what waits, "
		"`corral dashboard` too; --ask TIME waits longer\n",
		n, n == 1 ? " was" : "s were");
}

/* What the command printed last cannot hide it: run_stdio_settle(). */
void run_result_tell(const struct run *r, const struct run_stdio *s, const struct report *report)
{
	auto_output o = output_for(STDERR_FILENO);

	const bool is_unheard =
		report && report->flags & REPORT_UNHEARD && r->plan->network == PLAN_NETWORK_NONE;

	if (report)
		run_result_tell_limits(&o, r, s, report);
	if (r->is_round) {
		if (o.text.len)
			(void)output_write(&o, STDERR_FILENO, NULL);
		return;
	}
	run_broker_tell_rest(r, &o);
	run_ssh_agent_tell_rest(r, &o);
	if (is_unheard && r->network.n == 0)
		run_result_tell_unheard(&o, r);
	run_result_tell_again(&o, r, report ? run_result_status(report) : RUN_FAILED);
	run_result_tell_denied(&o, r, report ? run_result_status(report) : RUN_FAILED);
	if (report)
		run_failed_tell(r, report, &o);
	run_result_tell_model(&o, r, report ? run_result_status(report) : RUN_FAILED);
	run_result_tell_unasked(&o, r, is_unheard);
	run_result_tell_expired(&o, r);
	run_replaced_tell(r, &o);
	run_private_tell(r, &o);
	run_later_tell(r, &o);
	run_claude_tell(r, &o);
	run_undo_tell(r, &o);
	if (o.text.len)
		(void)output_write(&o, STDERR_FILENO, NULL);
}

/* For programs */

/* report: all zero where there is none. */
static void run_result_put_end(struct json_writer *w, const struct report *report, bool has_ended)
{
	if (has_ended && !report->signal)
		json_put_number(w, "exit_code", report->exit_code);
	else
		json_put_null(w, "exit_code");
	if (report->signal)
		json_put_number(w, "signal", report->signal);
	else
		json_put_null(w, "signal");
	json_put_flag(w, "timed_out", report->flags & REPORT_TIMED_OUT);
	json_put_flag(w, "out_of_memory", report->flags & REPORT_OUT_OF_MEMORY);
	json_put_flag(w, "too_many_pids", report->flags & REPORT_TOO_MANY_PIDS);
	json_put_count(w, "duration_ms", report->wall_us / 1000);
	json_put_count(w, "user_ms", report->user_us / 1000);
	json_put_count(w, "system_ms", report->system_us / 1000);
	json_put_count(w, "peak_memory", report->peak_bytes);
}

/* NULL: nothing. */
static const char *held_by(uint32_t by)
{
	static const char *const names[] = {
		[REPORT_BY_NOTHING] = NULL,
		[REPORT_BY_CGROUP] = "cgroup",
		[REPORT_BY_RLIMIT] = "rlimit",
		[REPORT_BY_POLLING] = "polling",
	};

	return by < ROWS(names) ? names[by] : NULL;
}

/* Those that it had: {"memory": 1024, "pids": 64}. */
static void run_result_put_limits(struct json_writer *w, const struct limits *limits)
{
	json_open_map(w, "limits");
	for (int l = 0; l < LIMIT_COUNT; l++) {
		if (limits->values[l] == LIMIT_NONE)
			continue;
		json_put_count(w, l == LIMIT_TIMEOUT_MS ? "timeout_ms" : limit_name((enum limit)l),
			limits->values[l]);
	}
	json_close(w);
}

/* What an exit status of ours stands for, where no error was set on the way. */
static void run_result_find_error(
	const struct run *r, const struct report *report, struct error *ret)
{
	auto_buffer text = { 0 };

	if (!report || ret->text[0])
		return;
	if (report->flags & REPORT_TIMED_OUT) {
		unit_print_duration(r->limits.values[LIMIT_TIMEOUT_MS], &text);
		(void)error_set(ret, -ETIMEDOUT, NULL, "the command timed out after %s",
			buffer_text(&text));
	} else if (report->output_error) {
		(void)error_set(ret, -EIO, NULL, "cannot write all output of the command: %s",
			strerror((int)report->output_error));
	}
}

static void run_result_put_denied(struct json_writer *w, const struct run *r)
{
	json_put_flag(w, "explained", r->explain && r->options.explain);
	json_put_text(w, "explained_because",
		!r->explain || !r->options.explain ? NULL
		: r->options.is_again              ? "failed_before"
		: r->options.is_asked_only         ? "ask_denied"
						   : "explain");
	if (r->explain) {
		run_explain_print(r, w);
		return;
	}
	json_open_list(w, "denied");
	json_close(w);
	json_put_count(w, "denied_missed", 0);
}

/* Of a skill, what it requires and does not get. */
static void run_result_put_needs(struct json_writer *w, const struct launch_needs *needs)
{
	json_open_list(w, "requires");
	for (size_t i = 0; i < needs->n; i++) {
		const struct launch_need *n = &needs->items[i];

		if (n->state == LAUNCH_NEED_MET)
			continue;
		json_open_map(w, NULL);
		json_put_text(w, "kind", n->is_program ? "bin" : "env");
		json_put_text(w, "name", n->name);
		json_put_text(w, "state", launch_need_state_name(n->state));
		json_close(w);
	}
	json_close(w);
}

/* Bytes that are no UTF-8 become U+FFFD, and the flag `lossy` says so. */
static void run_result_put_outputs(struct json_writer *w, const struct run_stdio *s)
{
	const struct buffer none = { 0 };
	const struct buffer *kept[] = { s ? &s->kept[0] : &none, s ? &s->kept[1] : &none };

	json_put_buffer(w, "stdout", kept[0]);
	json_put_buffer(w, "stderr", kept[1]);
	json_put_flag(w, "lossy",
		!utf8_valid(buffer_text(kept[0]), kept[0]->len, NULL) ||
			!utf8_valid(buffer_text(kept[1]), kept[1]->len, NULL));
	json_put_flag(w, "truncated", s && s->budget.dropped);
}

/* Each member in a line of its own; what is in it, in that line. */
void run_result_print(
	struct run *r, const struct run_stdio *s, const struct report *report, int status)
{
	static const struct report none;
	auto_output o = { 0 };
	struct json_writer w = { .out = &o.text, .style = JSON_PRETTY };
	struct error error = *r->call->error;

	run_result_find_error(r, report, &error);
	json_open_map(&w, NULL);
	w.style = JSON_SPACED;
	json_put_number(&w, "status", status);
	output_put_error(&w, "error", &error);
	run_result_put_end(&w, report ? report : &none, report);
	run_result_put_limits(&w, &r->limits);
	json_put_text(&w, "memory_by", report ? held_by(report->memory_by) : NULL);
	json_put_text(&w, "pids_by", report ? held_by(report->pids_by) : NULL);
	json_put_flag(&w, "broker", r->plan && r->plan->has_broker);
	run_replaced_print(r, &w);
	run_private_print(r, &w);
	run_undo_print(r, &w);
	run_later_print(r, &w);
	run_network_print(&r->network, &w, "network");
	run_result_put_denied(&w, r);
	run_failed_print(r, &w);
	if (r->options.skill)
		run_result_put_needs(&w, &r->needs);
	run_result_put_outputs(&w, s);
	json_end_line(&w);
	r->is_printed = true;
	if (!o.text.failed) {
		(void)output_write(&o, STDOUT_FILENO, NULL);
		return;
	}
	(void)error_no_memory(&error);
	output_error_json(&error, status);
}

/*
 * Why a program was not run. Inside, what is not granted looks absent; a person wants to know
 * whether the program is missing or forbidden (launch/program.h): 126 if the policy forbids it, 127
 * only if there is nothing to run.
 */

/* At length, as `policy explain` does. */
static void run_result_explain(struct run *r, struct ask *a, const char *path)
{
	const struct judged *deciding = a->judgement.deciding;
	/* That would have helped, if there is one. */
	const char *option = deciding->decision.why == DECISION_UNREADABLE ? "--read"
			     : deciding->decision.why == DECISION_NO_GRANT ? "--exec"
									   : NULL;
	auto_output o = output_for(STDERR_FILENO);

	output_styled(&o, OUTPUT_RED, "corral:");
	buffer_adds(&o.text, " the policy does not allow running ");
	output_foreign(&o, path);
	buffer_adds(&o.text, "\n\n");
	report_explain(&o, a, r->call->arena);
	if (option) {
		buffer_printf(&o.text, "\nTo allow it for this run: corral %s %s ",
			r->is_shell ? "shell" : "run", option);
		output_foreign(&o, deciding->request.target);
		buffer_adds(&o.text, " …\n");
	}
	run_result_add_ask(&o, option);
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* Asks the policy about a program. 0 if it may run. */
static int run_result_judge(struct run *r, const char *path, const char *const *args, size_t n_args)
{
	struct ask a = {
		.request = { .op = OPERATION_EXEC, .target = path, .args = args, .n_args = n_args },
		.is_whole = true,
		.policy = r->policy,
	};
	struct judge j = { .call = r->call, .policy = r->policy, .variables = &r->load.variables };
	struct judged item = { .text = path };
	auto_buffer rule = { 0 }, reason = { 0 };
	int ret = judge_program(&j, &a.request, &item);

	if (ret < 0 || item.verdict == VERDICT_ALLOW)
		return ret;
	/* For the record. */
	explain_rule(&item.decision, &rule);
	judge_reason(&item, &reason);
	r->audit.is_denied = true;
	r->audit.rule = arena_strdup(r->call->arena, buffer_text(&rule));
	r->audit.reason = arena_strdup(r->call->arena, buffer_text(&reason));
	ret = judge_add(&j, &a.judgement, &item);
	if (ret < 0)
		return ret;
	a.judgement.deciding = &item;
	a.load.variables = r->load.variables;
	/* A round of `corral learn` goes on to grant it, or says itself why it does not. */
	if (!r->is_round)
		run_result_explain(r, &a, path);
	(void)error_set(r->call->error, -EACCES, NULL, "the policy does not allow running %s: %s",
		path, buffer_text(&reason));
	r->is_told = true;
	/* Where no list of programs forbids it, being read is all that it lacks. */
	run_explain_refused(r->explain,
		item.decision.why == DECISION_UNREADABLE ? OPERATION_FS_READ : OPERATION_EXEC,
		path);
	return RUN_FORBIDDEN;
}

static struct launch_program run_result_program(const struct run *r)
{
	return (struct launch_program){ .policy = r->policy,
		.argv = r->argv,
		.env = r->env,
		.host_path = getenv("PATH"),
		.cwd = r->cwd };
}

int run_judge_start(struct run *r)
{
	struct launch_program p = run_result_program(r);
	int ret;

	/* A worker is no program that a policy is asked about. */
	if (!r->inside_policy || r->is_wasm || launch_program_find(&p) != LAUNCH_FORBIDDEN)
		return 0;
	ret = run_result_judge(r, p.path, p.request.args, p.request.n_args);
	if (ret == RUN_FORBIDDEN)
		run_audit_refused(r, ret, r->call->error->text);
	return ret;
}

/* Errors of execve() itself, as opposed to all that can go wrong before it. */
static bool run_result_is_about_file(int error)
{
	return error == ENOENT || error == EACCES || error == EPERM || error == ENOEXEC ||
	       error == ENOTDIR || error == EISDIR || error == ELOOP || error == ETXTBSY;
}

static int run_result_tell_refusal(struct run *r, const struct refusal *refusal)
{
	(void)error_set(r->call->error, -refusal->error, NULL, "%s", refusal->text);
	if (refusal->hint && *refusal->hint)
		error_hint(r->call->error, "%s", refusal->hint);
	return run_result_is_about_file(refusal->error) ? RUN_FORBIDDEN : RUN_FAILED;
}

/* `cd ..` and `ls | wc` are for a shell, which runs no command of its own accord. */
static void run_result_hint_shell(struct run *r)
{
	static const char *const builtins[] = { "cd", "export", "source", ".", "alias", "set",
		"unset", "umask", "ulimit", "exit", "eval", "exec", "type", "jobs", "if", "for",
		"while" };
	const char *word = r->argv[0];
	bool is_line = strpbrk(word, "|&;<>") || (strchr(word, ' ') && !strchr(word, '/'));
	auto_buffer line = { 0 }, quoted = { 0 };

	for (size_t i = 0; !is_line && i < ROWS(builtins); i++)
		is_line = strcmp(word, builtins[i]) == 0;
	if (!is_line)
		return;
	buffer_adds(&line, word);
	for (size_t i = 1; i < r->n_argv; i++) {
		buffer_addc(&line, ' ');
		output_shell_word(&line, r->argv[i]);
	}
	output_shell_word(&quoted, buffer_text(&line));
	error_hint(r->call->error, "that is for a shell: corral %s -- sh -c %s",
		r->is_shell ? "shell" : "run", buffer_text(&quoted));
}

int run_refused(struct run *r, const struct refusal *refusal)
{
	struct launch_program p = run_result_program(r);
	int ret;

	if (!run_result_is_about_file(refusal->error))
		return run_result_tell_refusal(r, refusal);
	switch (launch_program_why(&p)) {
	case LAUNCH_ALLOWED:
		break;
	case LAUNCH_NOT_FOUND:
		(void)error_set(r->call->error, -ENOENT, NULL, "%s: command not found", p.path);
		run_result_hint_shell(r);
		return RUN_NOT_FOUND;
	case LAUNCH_NOT_EXECUTABLE:
		(void)error_set(r->call->error, -EACCES, NULL, "%s is not executable", p.path);
		return RUN_FORBIDDEN;
	case LAUNCH_FORBIDDEN:
		ret = run_result_judge(r, p.path, p.request.args, p.request.n_args);
		return ret < 0 ? RUN_FAILED : ret ? ret : run_result_tell_refusal(r, refusal);
	}
	return run_result_tell_refusal(r, refusal);
}
