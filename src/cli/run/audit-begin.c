/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is about to run is committed before it does, so the log has it whatever comes of it. If the
 * log cannot be opened or written now, nothing runs.
 *
 * Values of all variables that the command gets are secrets of the log (audit/redact/redact.h),
 * before the first event.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli/run/run.h"
#include "codec/json.h"
#include "host/account.h"

enum { SESSION_BYTES = 8 };

/* What the policy is mostly about: for people who look for all runs of the same kind. */
static const char *sandbox_name(const struct run *r)
{
	if (r->skill.manifest.name)
		return r->skill.manifest.name;
	if (r->options.agent.is_given)
		return agent_mode_name(r->options.agent.mode);
	return r->policy ? policy_layer(r->policy, 0)->origin : "";
}

static int run_audit_begin_open_trail(struct run *r)
{
	/* Without a plan this process becomes the command, and has no end at which to sign. */
	const struct audit_store_options store = { .path = r->audit.path,
		.sign_records = r->plan ? 0 : 1 };
	uint8_t bytes[SESSION_BYTES];
	char user[ACCOUNT_NAME_BYTES], session[2 * SESSION_BYTES + 1];
	const struct audit_trail_options o = {
		.store = &store, .session = session, .user = user, .sandbox = sandbox_name(r)
	};
	struct error e = { 0 };
	int ret;

	if (account_name("/etc/passwd", getuid(), user) < 0)
		return error_no_memory(r->call->error);
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_set(r->call->error, -errno, NULL, "getrandom: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(session + 2 * i, 3, "%02x", bytes[i]);
	/* Of an attempt that was made good, nothing must be left to tell. */
	ret = audit_trail_new(&r->audit.trail, &o, &e);
	if (ret < 0)
		*r->call->error = e;
	return ret;
}

/* The name of a variable, in the arena; *ret_value: what it is set to. NULL: out of memory. */
static const char *run_audit_begin_split(
	struct run *r, const char *variable, const char **ret_value)
{
	size_t len = strcspn(variable, "=");

	*ret_value = variable[len] ? variable + len + 1 : variable + len;
	return arena_strndup(r->call->arena, variable, len);
}

static int add_secrets(struct run *r)
{
	for (size_t i = 0; i < r->n_env; i++) {
		const char *value, *name = run_audit_begin_split(r, r->env[i], &value);
		int ret = name ? audit_trail_secret(r->audit.trail, name, value) : -ENOMEM;

		if (ret < 0)
			return error_set(r->call->error, ret, NULL,
				"--audit: the variables of the command are too many to keep their "
				"values out of the log");
	}
	return 0;
}

/* The names of those that are as they were here, or of those that are not; never a value. */
static void put_variables(struct run *r, bool passed_on, struct buffer *out)
{
	for (size_t i = 0; i < r->n_env; i++) {
		const char *value, *name = run_audit_begin_split(r, r->env[i], &value);
		const char *here = name ? getenv(name) : NULL;

		if (name && (here && strcmp(here, value) == 0) == passed_on)
			buffer_printf(out, "%s%s", out->len ? " " : "", name);
	}
}

/* One event for all of a kind: a run has a dozen of them, and few people want to read of each. */
static void tell_variables(struct run *r)
{
	for (int passed_on = 0; passed_on < 2; passed_on++) {
		auto_buffer names = { 0 };

		put_variables(r, passed_on, &names);
		if (names.len)
			run_audit_add(r, &(struct audit_event){ .action = AUDIT_ENV,
						 .target = buffer_text(&names),
						 .decision = AUDIT_ALLOWED,
						 .reason = passed_on ? "passed on" : "set",
						 .exact = true });
	}
}

static void tell_walls(struct run *r)
{
	auto_buffer walls = { 0 };

	if (r->plan)
		run_audit_walls(r, &walls);
	else
		buffer_adds(&walls, "nothing is confined, nothing more is recorded; the command "
				    "could change this log");
	run_audit_own(r, (struct audit_event){ .action = AUDIT_CONFINEMENT,
				 .target = r->plan ? "tier 1" : "none",
				 .reason = buffer_text(&walls) });
}

/* In quotes that it does not have itself: the redactor must see where it ends. Where it has both,
 * as JSON, which the redactor knows, too. */
static void put_quoted(const char *text, struct buffer *out)
{
	const char *quote = strchr(text, '\'') ? "\"" : "'";

	if (strchr(text, '\'') && strchr(text, '"')) {
		json_print_string(out, text, strlen(text));
		return;
	}
	buffer_adds(out, quote);
	buffer_adds(out, text);
	buffer_adds(out, quote);
}

/* "-c", "-ec": what follows are several words, of which the first may be an assignment. */
static bool is_script_next(const char *word)
{
	const size_t len = strlen(word);

	return len >= 2 && word[0] == '-' && word[1] != '-' && strchr("ce", word[len - 1]);
}

/* NAME='some value': all of it belongs to the name. */
static size_t run_audit_begin_name_length(const char *word)
{
	const size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789_-.");

	return len && word[len] == '=' ? len + 1 : 0;
}

/* Words with spaces in quotes, for people; nothing in them is changed, so that secrets are found.
 * What is beyond a text's room is left out by the redactor, which knows where a secret ends. */
static void put_words(const struct run *r, struct buffer *out)
{
	for (size_t i = 0; i < r->n_argv && out->len <= REDACT_TEXT_MAX; i++) {
		const char *word = r->argv[i];
		const bool is_script = i > 0 && is_script_next(r->argv[i - 1]);
		const size_t name = is_script ? 0 : run_audit_begin_name_length(word);

		buffer_adds(out, i ? " " : "");
		if (*word && !strpbrk(word, " \t\n\r\v\f'\"`&")) {
			buffer_adds(out, word);
			continue;
		}
		buffer_add(out, word, name);
		put_quoted(word + name, out);
	}
}

static void put_layers(const struct run *r, struct buffer *out)
{
	for (size_t i = 0; r->policy && i < policy_layers(r->policy); i++) {
		const char *origin = policy_layer(r->policy, i)->origin;

		buffer_printf(out, "%s%s", i ? ", " : "", origin ? origin : "");
	}
}

static void tell_command(struct run *r)
{
	auto_buffer words = { 0 }, layers = { 0 }, place = { 0 };

	put_words(r, &words);
	put_layers(r, &layers);
	buffer_printf(&place, "in %s", r->cwd);
	run_audit_add(r, &(struct audit_event){ .action = AUDIT_COMMAND_START,
				 .target = buffer_text(&words),
				 .rule = buffer_text(&layers),
				 .reason = buffer_text(&place),
				 .exact = true });
}

static int tell_beginning(struct run *r)
{
	struct error e = { 0 };
	int ret = add_secrets(r);

	if (ret < 0)
		return ret;
	run_audit_own(r, (struct audit_event){ .action = AUDIT_SESSION,
				 .target = "begin",
				 .reason = r->is_shell ? "corral shell" : "corral run" });
	tell_walls(r);
	tell_variables(r);
	tell_command(r);
	ret = audit_trail_flush(r->audit.trail, &e);
	if (ret < 0)
		*r->call->error = e;
	return ret;
}

int run_audit_begin(struct run *r)
{
	int ret = r->audit.path ? run_audit_begin_open_trail(r) : 0;

	if (ret < 0 || !r->audit.path)
		return ret;
	ret = tell_beginning(r);
	if (ret < 0) {
		(void)audit_trail_close(r->audit.trail, NULL);
		r->audit.trail = NULL;
	}
	return ret;
}
