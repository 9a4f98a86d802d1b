/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is about to run is committed before it does, so the log has it whatever comes of it. If the
 * log cannot be opened or written now, nothing runs. Values of all variables that the command gets
 * are secrets of the log (audit/redact/redact.h), before the first event.
 *
 * What the session reports (holder/record.h) is committed a few times a second and signed at the
 * end. A log that fails meanwhile does not stop the command: a person is told that the record is
 * not complete. Text of the command's choice goes in as it is: who prints it makes it visible.
 */
#include "cli/run/audit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/output.h"
#include "cli/explain/explain.h"
#include "cli/run/internal.h"
#include "cli/run/run.h"
#include "codec/encoding.h"
#include "codec/json.h"
#include "host/account.h"
#include "host/daemon-place.h"
#include "jail/landlock.h"
#include "holder/record.h"
#include "policy/explain.h"

/* Of a run without a log, for the daemon: it is not read again. */
enum { SESSION_BYTES = (RUN_AUDIT_SESSION - 1) / 2, RUN_AUDIT_RING = 64 << 10 };
/* For other runs that write to the same log, each of which syncs some ten times. */
enum { PATIENCE_MS = 30000 };

static const char *run_audit_program_of(const struct run *r)
{
	return r->n_argv ? r->argv[0] : "";
}

void run_audit_add(struct run *r, const struct audit_event *e)
{
	struct audit_event copy = *e;

	if (!r->audit.trail)
		return;
	if (!copy.program)
		copy.program = run_audit_program_of(r);
	(void)audit_trail_add(r->audit.trail, &copy);
}

void run_audit_own(struct run *r, struct audit_event e)
{
	e.program = "corral";
	e.pid = (uint32_t)getpid();
	e.exact = true;
	run_audit_add(r, &e);
}

static struct holder_record run_audit_record(const struct run *r)
{
	return (struct holder_record){ .trail = r->audit.trail,
		.program = run_audit_program_of(r) };
}

/* The beginning */

/* What the policy is mostly about. */
const char *run_audit_sandbox(const struct run *r)
{
	const char *name = r->skill.manifest.name      ? r->skill.manifest.name
			   : r->options.agent.is_given ? agent_mode_name(r->options.agent.mode)
			   : r->policy                 ? policy_layer(r->policy, 0)->origin
						       : NULL;

	return name ? name : "";
}

static int run_audit_open_trail(struct run *r)
{
	/* Without a plan this process becomes the command, and has no end at which to sign. */
	const struct audit_store_options store = {
		.path = r->audit.path, .sign_records = r->plan ? 0 : 1, .patience_ms = PATIENCE_MS
	};
	uint8_t bytes[SESSION_BYTES];
	char user[ACCOUNT_NAME_BYTES], *session = r->audit.session;
	const struct audit_trail_options o = { .store = r->audit.path ? &store : NULL,
		.ring_bytes = r->audit.path ? 0 : RUN_AUDIT_RING,
		.session = session,
		.user = user,
		.sandbox = run_audit_sandbox(r),
		.tell = r->audit.join.is_on ? holder_join_tell : NULL,
		.context = &r->audit.join };
	struct error e = { 0 };
	int ret;

	if (account_name("/etc/passwd", getuid(), user) < 0)
		return error_no_memory(r->call->error);
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_set(r->call->error, -errno, NULL, "getrandom: %s", strerror(errno));
	encoding_hex(bytes, sizeof(bytes), session);
	/* Of an attempt that was made good, nothing must be left to tell. */
	ret = audit_trail_new(&r->audit.trail, &o, &e);
	if (ret < 0)
		*r->call->error = e;
	return ret;
}

/*
 * The names of those that are as they were here, and of those that are not; never a value. One
 * event for all of a kind: a run has a dozen of them, and few people want to read of each.
 */
static void run_audit_tell_variables(struct run *r)
{
	for (int passed_on = 0; passed_on < 2; passed_on++) {
		auto_buffer names = { 0 };

		for (size_t i = 0; i < r->n_env; i++) {
			const size_t len = strcspn(r->env[i], "=");
			const char *name = arena_strndup(r->call->arena, r->env[i], len);
			const char *here = name ? getenv(name) : NULL;

			if (name && (here && strcmp(here, r->env[i] + len + 1) == 0) == passed_on)
				buffer_printf(&names, "%s%s", names.len ? " " : "", name);
		}
		if (names.len)
			run_audit_add(r, &(struct audit_event){ .action = AUDIT_ENV,
						 .target = buffer_text(&names),
						 .decision = AUDIT_ALLOWED,
						 .reason = passed_on ? "passed on" : "set",
						 .exact = true });
	}
}

/* Which content runs, and who is answerable for that. */
static void run_audit_tell_skill(struct run *r)
{
	const bool approved = r->skill.outcome == APPROVAL_CURRENT;
	char hex[SKILL_DIGEST_HEX], reason[160];

	skill_digest_hex(&r->skill.content.digest, hex);
	(void)snprintf(reason, sizeof(reason), "content %s: %s%s", hex,
		launch_skill_outcome(r->skill.outcome), approved ? "" : ", --yes was given");
	run_audit_own(r, (struct audit_event){ .action = AUDIT_APPROVAL,
				 .target = r->skill.path,
				 .decision = AUDIT_ALLOWED,
				 .reason = reason });
}

/*
 * Proof of confinement: the walls that stand around the command when it starts. A session of tier 1
 * is built step by step (warden/zygote.c), and each step that fails ends it; so where one stands,
 * all of these do. What differs from run to run is in the plan: network, programs, limits.
 */
static void run_audit_tell_walls(struct run *r)
{
	static const char *const networks[] = {
		[PLAN_NETWORK_NONE] = "network namespace with loopback only; no relay",
		[PLAN_NETWORK_RELAY] = "network namespace with a relay to granted hosts",
		[PLAN_NETWORK_HOST] = "the host's network; no relay",
	};
	auto_buffer walls = { 0 };

	if (r->plan)
		buffer_printf(&walls,
			"user, pid, mount, ipc, uts and cgroup namespaces; %s; a tree of %zu "
			"mounts and entries; Landlock ABI %d; seccomp; no capabilities; no new "
			"privileges; %s",
			networks[r->plan->network], r->plan->n, landlock_version(),
			r->plan->exec_listed ? "only listed programs may run"
					     : "any readable program may run");
	else if (r->options.tier)
		buffer_printf(&walls,
			"writes confined by Landlock ABI %d alone; seccomp; no capabilities; no "
			"new "
			"privileges; nothing else is recorded",
			landlock_version());
	else
		buffer_adds(&walls, "not confined; nothing else is recorded; the command could "
				    "change this log");
	/* Without a witness, nothing of files and programs is denied on record. */
	if (r->plan)
		buffer_printf(&walls, "; %s",
			r->options.explain ? HOLDER_FILES_WATCHED : HOLDER_FILES_NOT_WATCHED);
	for (enum limit i = 0; r->plan && i < LIMIT_COUNT; i++) {
		if (r->limits.values[i] == LIMIT_NONE)
			continue;
		buffer_adds(&walls, "; limit: ");
		holder_record_limit(i, r->limits.values[i], &walls);
	}
	run_audit_own(r, (struct audit_event){ .action = AUDIT_CONFINEMENT,
				 .target = r->plan           ? "tier 1"
					   : r->options.tier ? "tier 3"
							     : "none",
				 .reason = buffer_text(&walls) });
}

/* "-c", "-ec": what follows are several words, of which the first may be an assignment. */
static bool run_audit_is_script_next(const char *word)
{
	const size_t len = strlen(word);

	return len >= 2 && word[0] == '-' && word[1] != '-' && strchr("ce", word[len - 1]);
}

/* NAME='some value': all of it belongs to the name. */
static size_t run_audit_name_length(const char *word)
{
	const size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789_-.");

	return len && word[len] == '=' ? len + 1 : 0;
}

/* Words with spaces in quotes, for people; nothing in them is changed, so that secrets are found.
 * What is beyond a text's room is left out by the redactor, which knows where a secret ends. */
static void run_audit_put_words(const struct run *r, struct buffer *out)
{
	for (size_t i = 0; i < r->n_argv && out->len <= REDACT_TEXT_MAX; i++) {
		const char *word = r->argv[i];
		const bool is_script = i > 0 && run_audit_is_script_next(r->argv[i - 1]);
		const size_t name = is_script ? 0 : run_audit_name_length(word);

		buffer_adds(out, i ? " " : "");
		if (*word && !strpbrk(word, " \t\n\r\v\f'\"`&")) {
			buffer_adds(out, word);
			continue;
		}
		buffer_add(out, word, name);
		word += name;
		/* In quotes that it does not have itself: the redactor must see where it ends.
		 * Where it has both, as JSON, which the redactor knows, too. */
		if (!strchr(word, '\''))
			buffer_printf(out, "'%s'", word);
		else if (!strchr(word, '"'))
			buffer_printf(out, "\"%s\"", word);
		else
			json_print_string(out, word, strlen(word));
	}
}

static void run_audit_tell_command(struct run *r)
{
	auto_buffer words = { 0 }, layers = { 0 }, place = { 0 };

	run_audit_put_words(r, &words);
	for (size_t i = 0; r->policy && i < policy_layers(r->policy); i++) {
		const char *origin = policy_layer(r->policy, i)->origin;

		buffer_printf(&layers, "%s%s", i ? ", " : "", origin ? origin : "");
	}
	buffer_printf(&place, "in %s", r->cwd);
	run_audit_add(r, &(struct audit_event){ .action = AUDIT_COMMAND_START,
				 .target = buffer_text(&words),
				 .rule = buffer_text(&layers),
				 .reason = buffer_text(&place),
				 .exact = true });
}

static int run_audit_tell_beginning(struct run *r)
{
	struct error e = { 0 };
	int ret = holder_record_secrets(r->audit.trail, r->env);

	if (ret < 0)
		return error_set(r->call->error, ret, NULL,
			"--audit: the command has too many variables to remove their values from "
			"the log");
	run_audit_own(r, (struct audit_event){ .action = AUDIT_SESSION,
				 .target = "begin",
				 .reason = r->is_shell ? "corral shell" : "corral run" });
	if (r->options.skill)
		run_audit_tell_skill(r);
	run_audit_tell_walls(r);
	run_audit_tell_variables(r);
	run_audit_tell_command(r);
	ret = audit_trail_flush(r->audit.trail, &e);
	if (ret < 0)
		*r->call->error = e;
	return ret;
}

/* Who we are, for a daemon: what the log's first records say, without secrets. */
static void run_audit_hello(struct run *r)
{
	auto_buffer layers = { 0 };
	const char *program = run_audit_program_of(r);

	for (size_t i = 0; r->policy && i < policy_layers(r->policy); i++) {
		const char *origin = policy_layer(r->policy, i)->origin;

		buffer_printf(&layers, "%s%s", i ? ", " : "", origin ? origin : "");
	}
	(void)holder_join_hello(&r->audit.join,
		&(struct join){ .started_ms = clock_ms(CLOCK_REALTIME),
			.id = r->audit.session,
			.name = run_audit_sandbox(r),
			/* Arguments may be secrets; the record of its start has them redacted. */
			.command = program,
			.folder = r->cwd,
			.policy = buffer_text(&layers) });
}

static void run_audit_forget(struct run *r)
{
	(void)audit_trail_close(r->audit.trail, NULL);
	r->audit.trail = NULL;
	(void)holder_join_close(&r->audit.join, NULL);
}

static void run_audit_note_foreign(void)
{
	auto_output o = output_for(STDERR_FILENO);
	auto_buffer path = { 0 };

	if (daemon_place(NULL, &path) < 0)
		return;
	output_note(&o);
	buffer_adds(&o.text, "this run does not join the daemon: ");
	output_foreign(&o, path.data);
	buffer_adds(&o.text, " is a link, belongs to another user, or others may write there\n");
	(void)output_write(&o, STDERR_FILENO, NULL);
}

int run_audit_begin(struct run *r)
{
	int ret;

	r->audit.join = HOLDER_JOIN_NONE;
	/* Without a plan this process becomes the command: no process is left to report it. */
	if (r->plan)
		(void)holder_join_open(&r->audit.join);
	if (r->audit.join.is_foreign)
		run_audit_note_foreign();
	if (!r->audit.path && !r->audit.join.is_on)
		return 0;
	ret = run_audit_open_trail(r);
	/* Its loop comes back to what is kept. */
	r->audit.join.delay_ms = HOLDER_JOIN_DELAY_MS;
	r->audit.join.log = r->audit.path;
	if (ret == 0 && r->audit.join.is_on)
		run_audit_hello(r);
	if (ret == 0)
		ret = run_audit_tell_beginning(r);
	if (ret < 0)
		run_audit_forget(r);
	/* Events for the daemon may be lost; a log that was asked for must be written. */
	if (ret < 0 && !r->audit.path) {
		*r->call->error = (struct error){ 0 };
		return 0;
	}
	return ret;
}

/* While it runs */

/* What a layer in mode monitor or audit let pass: the log has what it would have been. */
static void run_audit_watched(
	struct run *r, enum audit_action action, const struct request *request)
{
	auto_buffer rule = { 0 }, reason = { 0 };
	bool is_watched = false;
	struct decision d;

	for (size_t i = 0; r->audit.trail && r->policy && i < policy_layers(r->policy); i++)
		is_watched = is_watched || policy_layer(r->policy, i)->mode != MODE_ENFORCE;
	if (!is_watched || policy_decide(r->policy, request, &d) < 0 || !d.monitored)
		return;
	explain_rule(&d, &rule);
	explain_reason(request, &d, &reason);
	run_audit_add(r, &(struct audit_event){ .action = action,
				 .target = request->target,
				 .decision = AUDIT_ALLOWED,
				 .rule = buffer_text(&rule),
				 .reason = buffer_text(&reason),
				 .exact = true });
}

void run_audit_started(struct run *r)
{
	char path[PATH_BYTES];

	run_audit_add(r, &(struct audit_event){ .action = AUDIT_EXEC,
				 .target = run_audit_program_of(r),
				 .decision = AUDIT_ALLOWED,
				 .exact = true });
	if (r->n_argv && run_inside_find(r, path))
		run_audit_watched(r, AUDIT_EXEC,
			&(struct request){ .op = OPERATION_EXEC,
				.target = path,
				.args = (const char *const *)r->argv + 1,
				.n_args = r->n_argv - 1 });
}

/* A program that is not there, or is none, was not denied. The policy's own words are best, then
 * ours. */
void run_audit_refused(struct run *r, int status, const char *why)
{
	const struct run_audit *a = &r->audit;

	if (r->call->error->text[0])
		why = r->call->error->text;
	run_audit_add(r, &(struct audit_event){ .action = AUDIT_EXEC,
				 .target = run_audit_program_of(r),
				 .decision = a->is_denied ? AUDIT_DENIED : AUDIT_FAILED,
				 .rule = a->rule,
				 .reason = a->reason ? a->reason : why,
				 .status = status,
				 .exact = true });
}

void run_audit_lost(struct run *r, const char *why)
{
	run_explain_audit(r);
	run_audit_own(r, (struct audit_event){ .action = AUDIT_SESSION,
				 .target = "lost",
				 .decision = AUDIT_FAILED,
				 .reason = why });
}

static void run_audit_tell_left_out(struct run *r, uint64_t count, const char *reason)
{
	run_audit_own(r, (struct audit_event){ .action = AUDIT_STORE,
				 .target = "network",
				 .reason = reason,
				 .count = count });
}

/* Those that went beyond the bound. */
static uint64_t run_audit_left_out(const struct run *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < RUN_AUDIT_NETWORK_KINDS; i++) {
		if (r->audit.network[i] > RUN_AUDIT_NETWORK_MAX)
			n += r->audit.network[i] - RUN_AUDIT_NETWORK_MAX;
	}
	return n;
}

void run_audit_network(struct run *r, const struct record *record)
{
	uint64_t *n = &r->audit.network[record->dns ? RUN_AUDIT_NETWORK_KINDS - 1 : record->kind];
	const struct holder_record to = run_audit_record(r);

	if (!r->audit.trail)
		return;
	if (*n == RUN_AUDIT_NETWORK_MAX)
		run_audit_tell_left_out(r, 1, "further events of this kind are not recorded");
	if ((*n)++ >= RUN_AUDIT_NETWORK_MAX)
		return;
	holder_record_network(&to, record);
	if (record->kind != RECORD_DENIED && !record->dns)
		run_audit_watched(r, AUDIT_NET_CONNECT,
			&(struct request){ .op = OPERATION_NET_CONNECT, .target = record->target });
}

void run_audit_call(struct run *r, const void *event, size_t len, uint64_t missing)
{
	const struct holder_record to = run_audit_record(r);

	/* What is no event counts as one that is missing. */
	if (r->audit.trail && holder_record_call(&to, event, len, missing) < 0)
		(void)holder_record_call(&to, NULL, 0, 1);
}

void run_audit_exited(struct run *r, const struct report *report, uint64_t dropped)
{
	auto_buffer count = { 0 };
	const struct holder_record to = run_audit_record(r);

	if (!r->audit.trail)
		return;
	run_explain_audit(r);
	run_replaced_record(r, &to);
	if (r->private.n_groups)
		holder_record_files(&to, AUDIT_NONE, r->private.groups[0].path,
			r->private.is_cut ? "more files than that were written to private folders, "
					    "which are gone with the command"
					  : "files were written to private folders, which are gone "
					    "with the command",
			r->private.n_files);
	if (run_later_put_count(r, &count) > 0)
		holder_record_files(
			&to, AUDIT_NONE, r->later.items[0].folder, buffer_text(&count), 1);
	holder_record_end(&to,
		&(struct holder_end){ .report = report, .limits = &r->limits, .dropped = dropped });
}

int run_audit_fd(const struct run *r)
{
	return r->audit.join.is_on ? r->audit.join.fd : -1;
}

void run_audit_connect(struct run *r)
{
	holder_join_connect(&r->audit.join);
}

/* What is in the log by now may be sent to a daemon that has the same. */
static void run_audit_note_written(struct run *r)
{
	uint64_t number;

	if (r->audit.trail && r->audit.join.log)
		r->audit.join.written = audit_trail_committed(r->audit.trail, &number);
}

bool run_audit_dispatch(struct run *r, bool is_readable)
{
	run_audit_note_written(r);
	return holder_join_dispatch(&r->audit.join, is_readable);
}

int run_audit_wait_ms(const struct run *r, int otherwise)
{
	int wait = r->audit.trail ? audit_trail_wait_ms(r->audit.trail) : -1;

	otherwise = holder_join_wait_ms(&r->audit.join, otherwise);
	if (wait < 0)
		return otherwise;
	return otherwise < 0 || wait < otherwise ? wait : otherwise;
}

/* What fails now is tried again, and told at the end if it was in vain. */
void run_audit_tick(struct run *r)
{
	if (r->audit.trail)
		(void)audit_trail_tick(r->audit.trail, NULL);
}

/* The end */

void run_audit_end(struct run *r, int status)
{
	struct audit_trail *trail = r->audit.trail;
	struct error why = { 0 }, told = { 0 };
	uint64_t lost;
	int ret;

	if (!trail)
		return;
	if (run_audit_left_out(r))
		run_audit_tell_left_out(r, run_audit_left_out(r), "network records were dropped");
	run_audit_own(r, (struct audit_event){ .action = AUDIT_SESSION,
				 .target = "end",
				 .status = status < 0 ? RUN_FAILED : status,
				 .reason = r->call->error->text });
	ret = audit_trail_flush(trail, &why);
	run_audit_note_written(r);
	r->audit.trail = NULL;
	lost = audit_trail_lost(trail);
	if (ret == 0)
		ret = audit_trail_close(trail, &why);
	else
		(void)audit_trail_close(trail, NULL);
	(void)holder_join_close(&r->audit.join, &told);
	if (told.text[0])
		output_error(&told);
	if (ret == 0 && !lost)
		return;
	(void)error_set(&told, -EIO, NULL, "the audit log of this run is incomplete: %s",
		why.text[0] ? why.text : r->audit.path);
	if (lost)
		error_hint(&told, "%" PRIu64 " events are missing", lost);
	output_error(&told);
}
