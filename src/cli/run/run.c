/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/pages.h"
#include "base/path.h"
#include "cli/output.h"
#include "cli/explain/explain.h"
#include "cli/explain/report.h"
#include "cli/preset/preset.h"
#include "cli/run/internal.h"
#include "cli/verb.h"
#include "host/links.h"
#include "host/own.h"
#include "launch/command.h"
#include "launch/program.h"

/* What a run with the least plan writes of each, about. */
enum { RUN_HEAP = 160 << 10, RUN_STACK = 80 << 10 };

static void run_deinit(struct run *r)
{
	session_free(r->session);
	run_explain_free(r->explain);
	run_replaced_end(r);
	undo_deinit(&r->undo);
	run_private_end(r);
	session_free(r->ending);
	run_secrets_end(r);
	run_ssh_agent_end(r);
	plan_free(r->plan);
	run_inside_deinit(r);
	policy_free(r->policy);
	permissions_free(r->mode);
	run_later_end(r);
	run_claude_end(r);
	profile_deinit(&r->profile);
	project_deinit(&r->project);
	skill_archive_close(&r->copy);
	launch_skill_deinit(&r->skill);
	run_live_end(r);
	load_deinit(&r->ceiling);
	load_deinit(&r->declared);
	load_deinit(&r->load);
}

/* Words and places */

/* A skill that only describes what an agent may do (SKILL.md without an entry) has no arguments:
 * what is given is what the agent chose to run. */
static bool is_entry(const struct run *r)
{
	const struct manifest *m = &r->skill.manifest;

	if (!r->options.skill || r->options.is_command)
		return false;
	return m->entry || m->wasm_file || r->call->n == 0;
}

/* `#!/usr/bin/env bash` means bash, which is what a skill grants. */
static bool run_is_env(const char *const *words)
{
	return words[0] && words[1] && strcmp(words[0], "/usr/bin/env") == 0 &&
	       !strpbrk(words[1], "-= \t/");
}

/*
 * A script of the skill by its path, under a list of programs that has its interpreter and not the
 * script: its interpreter is what is started, as the kernel would start it, and what is decided
 * about. The script is the copy that was hashed; what the skill may write is no such script.
 */
static int run_find_script(struct run *r)
{
	const struct skill_item *item = NULL;
	const char *const *words = NULL;
	const char *path = NULL;
	struct error ignored = { 0 };
	int ret;

	if (!r->options.skill || !strchr(r->argv[0], '/') ||
		!r->skill.manifest.permissions->exec_listed)
		return 0;
	ret = load_absolute(r->call, r->argv[0], &path);
	if (ret < 0)
		return ret;
	if (!path_is_below(path, r->skill.path) || !path[strlen(r->skill.path)] ||
		skill_content_find(&r->skill.content, path + strlen(r->skill.path) + 1, &item) <
			0 ||
		item->type != SKILL_FILE || item->live || !item->executable)
		return 0;
	if (launch_skill_script(&r->skill, path, r->argv + 1, r->call->arena, &words, &ignored) < 0)
		return 0;
	words += run_is_env(words);
	for (r->n_argv = 0; words[r->n_argv];)
		r->n_argv++;
	r->argv = arena_calloc(r->call->arena, r->n_argv + 1, sizeof(*r->argv));
	if (!r->argv)
		return error_no_memory(r->call->error);
	memcpy(r->argv, words, r->n_argv * sizeof(*r->argv));
	return 0;
}

int run_find_words(struct run *r)
{
	int ret;

	if (is_entry(r) && launch_wasm_is(&r->skill))
		return run_wasm(r);
	if (is_entry(r)) {
		ret = launch_skill_command(&r->skill, NULL, NULL,
			(const char *const *)r->call->words, r->call->n, r->call->arena, &r->argv,
			&r->n_argv, r->call->error);
		return ret == -ENOEXEC ? RUN_FORBIDDEN : ret;
	}
	r->n_argv = r->call->n + r->is_shell + r->presets.n_words;
	r->argv = arena_calloc(r->call->arena, r->n_argv + 1, sizeof(*r->argv));
	if (!r->argv)
		return error_no_memory(r->call->error);
	/* The user's own shell, if it can be run at all. */
	if (r->is_shell) {
		const char *own = getenv("SHELL");

		r->argv[0] = own && own[0] == '/' && access(own, X_OK) == 0 ? own : "/bin/sh";
	}
	memcpy(r->argv + r->is_shell, r->call->words, r->call->n * sizeof(*r->argv));
	/* A preset's words come behind the program. */
	if (r->presets.n_words && r->n_argv > 1) {
		const size_t n = r->presets.n_words;

		memmove(r->argv + 1 + n, r->argv + 1, (r->n_argv - n - 1) * sizeof(*r->argv));
		memcpy(r->argv + 1, r->presets.words, n * sizeof(*r->argv));
	}
	return r->n_argv ? run_find_script(r) : 0;
}

static bool run_may_read(const struct run *r, const char *path)
{
	return policy_allows(
		r->policy, &(struct request){ .op = OPERATION_FS_READ, .target = path });
}

/* A line that denies the project's own folder: its commands would start elsewhere, and see nothing
 * of it. */
static int run_check_project(const struct run *r)
{
	const struct request request = { .op = OPERATION_FS_READ, .target = r->project.folder };
	struct error *e = r->call->error;
	struct decision d;

	if (!r->has_project || policy_decide(r->policy, &request, &d) < 0 ||
		d.verdict != VERDICT_DENY || d.why != DECISION_RULE || !d.source)
		return 0;
	(void)error_set(e, -EACCES, &d.source->grant->where,
		"this denies the folder of the project itself, %s", r->project.folder);
	error_hint(e, "narrow it to what the commands must not see, such as $WORK_DIR/secret/**");
	return RUN_FORBIDDEN;
}

/* Where it starts: where told; else where we are, if that is there inside; else where the plan
 * says. */
static int find_cwd(struct run *r)
{
	const char *named = r->options.cwd, *here = r->load.variables.values[VARIABLE_WORK_DIR];
	int ret = run_check_project(r);

	if (ret != 0)
		return ret;
	if (named) {
		ret = run_real_folder(r, "--cwd", named, &r->cwd);
		if (ret < 0 || run_may_read(r, r->cwd))
			return ret;
		(void)error_set(r->call->error, -EACCES, NULL,
			"--cwd: the policy does not allow reading %s", named);
		error_hint(r->call->error, "add --read %s", named);
		run_explain_refused(r->explain, OPERATION_FS_READ, r->cwd);
		return RUN_FORBIDDEN;
	}
	if (!r->options.work_dir)
		ret = load_absolute(r->call, ".", &here);
	if (ret < 0)
		return ret;
	if (!run_may_read(r, here))
		here = r->plan->work_dir;
	if (!here || !run_may_read(r, here))
		here = r->plan->home;
	r->cwd = here ? here : "/";
	return 0;
}

/* Limits */

/* Those of a policy hold whatever the options say; those of a built-in profile where they are
 * silent. */
static int find_limits(struct run *r)
{
	launch_limits(r->policy, &r->options.limits, &r->limits);
	for (size_t i = 0; r->builtin.name && !r->options.no_limits && i < LIMIT_COUNT; i++) {
		if (r->options.limits.values[i] != LIMIT_NONE ||
			r->builtin.limits.values[i] >= r->limits.values[i])
			continue;
		r->limits.values[i] = r->builtin.limits.values[i];
		r->is_default[i] = true;
	}
	return launch_limits_check(&r->limits, r->call->error) < 0 ? RUN_FORBIDDEN : 0;
}

/* What the plan could not do as it was written; nothing is wider because of it. */
static void tell_notes(const struct run *r)
{
	auto_output o = output_for(STDERR_FILENO);

	for (size_t i = 0; i < r->plan->n_notes; i++) {
		const struct plan_note *note = &r->plan->notes[i];

		/* Of a built-in profile: a machine does not have all that it names. */
		if (profile_is_origin(note->where.file) || preset_is_origin(note->where.file))
			continue;
		output_note_at(&o, &note->where, note->text);
	}
	if (o.text.len)
		(void)output_write(&o, STDERR_FILENO, NULL);
}

static int make_plan(struct run *r)
{
	const char *own[OWN_FOLDERS_MAX];
	struct plan_options options = {
		.policy = r->inside_policy ? r->inside_policy : r->policy,
		.layers =
			r->inside_policy ? (const struct permissions *const *)r->inside : r->layers,
		.n_layers = r->n_layers,
		.variables = &r->load.variables,
		.resolver = load_options(&r->load).resolver,
		.public_is_open = r->mode,
		.guarded = r->guarded,
		.n_guarded = r->n_guarded,
		.replaces = true,
		.made = r->missing.items,
		.n_made = r->missing.n,
		.masks_matches = !r->options.strict,
		.explain = r->options.explain,
		.asks_hosts = run_live_may_reach_hosts(r),
		.ask_ms = run_live_ask_ms(r),
		.skill = r->copy.map ? &r->copy : NULL,
		.broker = r->broker.program,
		.http = r->options.broker_http,
		.caller = r->broker.caller,
		.lends = r->secrets.is_on,
		.covers = r->secrets.covers,
		.n_covers = r->secrets.n_covers,
		.masked = r->secrets.files,
		.n_masked = r->secrets.n_files,
		.worker = r->is_wasm ? r->wasm.files : NULL,
	};
	int ret = own_folders(r->call->arena, r->load.variables.values[VARIABLE_HOME], r->policy,
		own, &options.n_hidden, r->call->error);

	options.hidden = own;
	if (ret == 0)
		ret = plan_new(&r->plan, &options, r->call->error);
	/* It looked at the skill's folder, and must have seen what was copied. */
	if (ret == 0 && options.skill)
		ret = launch_skill_unchanged(&r->skill, r->call->error);
	if (ret == 0) {
		/* Those of options too: the tree in memory is as large as they say. */
		r->plan->limits = r->limits;
		r->plan->lent = r->secrets.lent;
		r->plan->n_lent = r->secrets.is_on ? r->secrets.n_lent : 0;
		if (!r->options.json)
			tell_notes(r);
		run_secrets_tell_files(r);
	}
	return ret;
}

/* Running */

/* The kernel counts what has no route, and nothing looks at each address: that it was tried is
 * recorded, and --explain shows which. */
static void end_record_unheard(struct run *r, const struct report *report)
{
	const struct record unheard = { .kind = RECORD_DENIED,
		.target = "*",
		.name = "",
		.address = "",
		.rule = "",
		.reason =
			"an address was tried, and this run has no network; --explain shows which",
		.remedy = "",
		.program = "" };

	if (!(report->flags & REPORT_UNHEARD) || r->plan->network != PLAN_NETWORK_NONE ||
		r->options.explain)
		return;
	run_audit_network(r, &unheard);
	/* A person has a line of its own for it. */
	if (r->options.json)
		(void)run_network_add(&r->network, r->call->arena, &unheard);
}

static int end_status(struct run *r, const struct run_stdio *s, const struct run_outcome *o)
{
	int status = RUN_FAILED;

	switch (o->end) {
	case RUN_END_EXITED:
		status = run_result_status(&o->report);
		end_record_unheard(r, &o->report);
		run_audit_exited(r, &o->report, s->budget.dropped);
		if (!r->options.json)
			run_result_tell(r, s, &o->report);
		break;
	case RUN_END_REFUSED:
		status = run_refused(r, &o->refusal);
		run_audit_refused(r, status, o->refusal.text);
		break;
	case RUN_END_GONE:
		(void)error_set(r->call->error, -ECONNRESET, NULL, "%s", o->refusal.text);
		run_audit_lost(r, o->refusal.text);
		if (!r->options.json)
			run_result_tell(r, s, NULL);
		break;
	case RUN_END_NONE:
		break;
	}
	if (r->options.json)
		run_result_print(r, s, o->end == RUN_END_EXITED ? &o->report : NULL, status);
	return status;
}

/* By itself, and not by a limit or a signal: perhaps for want of something. */
static bool run_has_failed(const struct run_outcome *o)
{
	return o->end == RUN_END_REFUSED ||
	       (o->end == RUN_END_EXITED && !o->report.signal && o->report.exit_code != 0 &&
		       !(o->report.flags &
			       (REPORT_TIMED_OUT | REPORT_OUT_OF_MEMORY | REPORT_KILLED)));
}

/* An agent with a terminal: a session is long, and what its commands lacked is another matter. */
static bool run_is_session(const struct run *r, const struct run_stdio *s)
{
	bool is_agent = r->mode;

	for (size_t i = 0; i < r->presets.n; i++)
		is_agent = is_agent || preset_is_agent(r->presets.items[i].preset);
	return is_agent && s->is_terminal;
}

/* Whether the next run of the same command is watched. A refusal says by itself what is missing. */
static void run_end_again(struct run *r, const struct run_stdio *s, const struct run_outcome *o)
{
	const int status = run_result_status(&o->report);
	const bool is_answer = again_is_answer(r->argv[0], status);
	const bool has_failed = run_has_failed(o) && !is_answer && !run_is_session(r, s);
	bool is_denied = r->options.explain && run_explain_is_denied(r, status);
	enum again next;

	if (!r->again.name[0] || o->end != RUN_END_EXITED ||
		(!has_failed && status != 0 && !is_answer))
		return;
	for (size_t i = 0; i < r->network.n; i++)
		is_denied = is_denied || r->network.items[i].kind == RECORD_DENIED;
	next = again_next(r->again.was, r->options.explain, has_failed, is_denied);
	if (next != AGAIN_NONE || r->again.was != AGAIN_NONE)
		again_keep(r->again.name, next);
}

/* What the skill requires and will not find; said before it runs, and it runs all the same. */
static int run_tell_needs(struct run *r)
{
	auto_output o = output_for(STDERR_FILENO);
	int ret =
		launch_needs_find(&r->skill, r->policy, r->env, r->cwd, r->call->arena, &r->needs);

	if (ret < 0)
		return error_no_memory(r->call->error);
	for (size_t i = 0; i < r->needs.n; i++) {
		const struct launch_need *n = &r->needs.items[i];
		bool is_absent = n->state == LAUNCH_NEED_ABSENT;

		if (n->state == LAUNCH_NEED_MET)
			continue;
		output_note(&o);
		buffer_printf(
			&o.text, "the skill requires %s", n->is_program ? "" : "the variable ");
		output_foreign(&o, n->name);
		buffer_printf(&o.text, ", %s", launch_need_fault(n));
		/* An option does not widen the ceiling. */
		if (r->ceiling.n == 0 && !(n->is_program && is_absent)) {
			buffer_printf(&o.text, ": %s ", n->is_program ? "--exec" : "--env");
			output_foreign(&o, n->name);
			buffer_adds(&o.text, is_absent ? "=VALUE sets it" : " grants it");
		}
		buffer_addc(&o.text, '\n');
	}
	if (o.text.len && !r->options.json)
		(void)output_write(&o, STDERR_FILENO, NULL);
	return 0;
}

/* What --undo compares must not change any more: nothing of the sandbox is left. */
static void run_end_for_undo(struct run *r, bool has_failed)
{
	if (!r->undo.is_kept)
		return;
	session_free(r->ending);
	r->ending = NULL;
	/* Of one that failed half-way something may be left. */
	if (has_failed) {
		session_free(r->session);
		r->session = NULL;
	}
}

static int run_confined(struct run *r)
{
	/* Static: large, and mostly never touched. */
	static struct run_stdio stdio;
	struct run_stdio *s = &stdio;
	struct environment_options o = { .policy = r->policy,
		.host_env = (const char *const *)environ,
		.home = r->plan->home,
		.cwd = r->cwd,
		.offline = r->plan->reaches_nothing,
		.socket = r->plan->has_broker ? PLAN_BROKER_FOLDER "/" PLAN_BROKER_SOCKET : NULL,
		.tools = r->plan->caller.path ? PLAN_BROKER_FOLDER : NULL,
		.http_url = r->plan->has_http ? PLAN_BROKER_URL : NULL,
		.http_token = r->plan->has_http ? r->http_token : NULL };
	struct run_outcome outcome = { 0 };
	int ret;

	ret = run_stdio_open(s, r);
	o.tty = s->is_terminal;
	if (ret == 0)
		ret = launch_environment(
			o, &r->load.variables, r->call->arena, &r->env, &r->n_env, r->call->error);
	if (ret == 0)
		ret = run_secrets_variables(r);
	if (ret == 0 && r->options.skill)
		ret = run_tell_needs(r);
	if (ret == 0)
		ret = run_judge_start(r);
	if (ret == 0)
		ret = run_loop(r, s, &outcome);
	/* Before anything is said on it. */
	run_stdio_settle(s);
	terminal_restore(&s->raw);
	if (ret == 0 && outcome.end != RUN_END_REFUSED) {
		run_replaced_finish(r);
		run_private_look(r);
		run_later_look(r);
	}
	run_end_for_undo(r, ret < 0);
	run_undo_finish(r);
	if (ret == 0)
		ret = end_status(r, s, &outcome);
	if (run_has_failed(&outcome) || ret == RUN_FORBIDDEN)
		ask_later(r, s);
	if (ret >= 0)
		run_end_again(r, s, &outcome);
	run_stdio_close(s);
	return ret;
}

/* The kernel makes namespaces while we read policies. */
static int prepare_session(struct run *r)
{
	const struct session_options options = { .single = true,
		.host_network = r->options.agent.is_given,
		.host_root = r->options.agent.is_given };

	struct error *e = r->call->error;
	int ret = session_prepare(&r->session, &options, e);

	if (ret < 0 && r->options.agent.is_given) {
		const struct error why = *e;

		error_hint(e, "--tier 3 enforces the writes of a mode without namespaces%s%s",
			why.hint[0] ? "; or: " : "", why.hint);
	}
	return ret;
}

static int prepare_explain(struct run *r)
{
	int ret = r->options.explain || r->options.json ? run_explain_new(&r->explain, r) : 0;

	return ret < 0 ? error_no_memory(r->call->error) : 0;
}

/* What every run writes, once the zygote is there, which would have to copy it. */
static int run_prepare_memory(struct run *r)
{
	(void)r;
	pages_ahead_of_heap(RUN_HEAP);
	pages_ahead_of_stack(RUN_STACK);
	return 0;
}

/* Each does its part, and returns 0 to go on; or a status, or a negative errno. */
static int (*const steps[])(struct run *r) = {
	prepare_session,
	run_prepare_memory,
	run_broker_begin,
	run_layers,
	run_secrets_trust,
	run_broker_begin,
	find_limits,
	run_find_words,
	run_inside,
	run_audit_find,
	make_plan,
	run_replaced_begin,
	run_audit_check,
	prepare_explain,
	find_cwd,
	run_notes,
	run_undo_begin,
	run_confined,
};

static int run_all_served(struct run *r)
{
	int ret = run_layers(r);

	if (ret == 0)
		ret = find_limits(r);
	/* What is looked up from now on is what is there then. */
	links_keep(false);
	if (ret != 0)
		return ret;
	ret = r->serve(r);
	run_later_serve(r);
	return ret;
}

static int run_all(struct run *r)
{
	int ret = run_options(r);

	if (ret > 0)
		r->is_printed = true; /* that was --help */
	if (ret != 0)
		return ret < 0 ? ret : STATUS_YES;
	ret = r->wrapped ? r->wrapped->begin(r->wrapped, r) : 0;
	if (ret < 0)
		return ret;
	if (r->options.agent.is_given && r->options.agent.mode == AGENT_MODE_RWX)
		return run_plain(r);
	if (r->options.tier && r->options.tier[0] == '3')
		return run_writes(r);
	links_keep(true);
	if (r->serve)
		ret = run_all_served(r);
	for (size_t i = 0; !r->serve && ret == 0 && i < ROWS(steps); i++)
		ret = steps[i](r);
	links_keep(false);
	return ret;
}

/* Not on the stack: zeroing it there would touch pages that the zygote then copies. */
static struct run the_run;

static int run_begin_and_end(struct call *c)
{
	struct run *r = &the_run;
	int ret;

	r->call = c;
	r->skill = LAUNCH_SKILL_NONE;
	r->private.own = -1;
	r->secrets.lender = CHILD_NONE;
	r->ssh.agent = CHILD_NONE;
	r->undo = UNDO_EMPTY;
	run_stdio_reserve();
	ret = run_all(r);
	run_audit_end(r, ret);
	if (ret < 0 && !c->error->text[0])
		(void)error_set(c->error, ret, NULL, "%s", strerror(-ret));
	ret = ret < 0 ? RUN_FAILED : ret;
	if (c->error->text[0] && !r->is_told)
		output_error(c->error);
	/* Nothing ran, so nothing was printed; a program wants to know why as well. */
	if (c->json && *c->json && !r->is_printed)
		run_result_print(r, NULL, NULL, ret);
	if (r->is_round && explain_report_write(r, ret, r->report) < 0)
		ret = RUN_FAILED;
	run_deinit(r);
	return ret;
}

int run_main(struct call *c, bool is_shell)
{
	the_run.is_shell = is_shell;
	return run_begin_and_end(c);
}

int run_main_round(struct call *c, int report, const char *policy)
{
	the_run.is_round = true;
	the_run.load.fd_name = policy;
	the_run.report = report;
	return run_begin_and_end(c);
}

int run_main_wrapped(struct call *c, struct run_wrapped *w)
{
	the_run.wrapped = w;
	return run_begin_and_end(c);
}

int run_main_served(struct call *c, run_server *serve)
{
	the_run.serve = serve;
	return run_begin_and_end(c);
}
