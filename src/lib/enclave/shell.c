/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_exec: a command with its arguments, judged as a whole and run in a sandbox of what is
 * granted.
 *
 * It is started under the lock, after one more look at the policy. So a command never starts by a
 * grant that was taken back, and its sandbox has the policy that it was judged by: a change comes
 * before both or after both. Waiting for its end needs no lock.
 *
 * Only the program may be asked about. An answer about a folder or a variable would have to hold
 * inside the sandbox too, for all that runs there and not for this call only.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "codec/encoding.h"
#include "host/resolver.h"
#include "holder/record.h"
#include "lib/api/handles.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/internal.h"
#include "lib/enclave/share.h"
#include "lib/process/call.h"

enum { WORDS_MAX = 65536, HASH_BYTES = 16 };

/*
 * One call: what is to run, where, with which variables and which input. What is judged is what
 * runs: the program is a path from here on, found in the system's usual folders and not by
 * anybody's PATH.
 */
struct corral_shell {
	struct enclave_call c;
	struct corral_call call;
	struct arena arena;
	const char **argv; /* argv[0] is a path, but for a name that the host has no program of */
	size_t n_argv;
	/* The folder, each variable, and last the program with its arguments. */
	struct request *requests;
	size_t n_requests;
	const struct enclave_lending *lending; /* until it was started; NULL: no secrets */
	const struct sandbox_lent *lent;       /* what that gave */
	/* Once it was started. */
	struct enclave_sandbox *sandbox;
	struct corral_process *process;
	bool told; /* of its end */
};

/*
 * Words for a call, as a shell would have them:
 *
 *     cd /srv/job && LANG=C /usr/bin/git push origin < 12 bytes, 3b5d…
 *
 * Somebody who agrees to a call agrees to this text, so everything is in it that decides what the
 * command does, and no two calls have the same one: words are quoted unless they are plain, the
 * program is a path, and input is there by its length and hash. Nor has it bytes that a terminal
 * takes for orders, or that turn what is read around: those are written as $'\xNN'.
 */

static size_t shell_count(const char *const *words)
{
	size_t n = 0;

	while (words && words[n] && n <= WORDS_MAX)
		n++;
	return n;
}

/* The folder */

/* NULL: the session's own, which is there without a grant. */
static const char *shell_folder_of(const struct corral_shell *s)
{
	return s->call.cwd ? s->call.cwd : s->c.enclave->variables.values[VARIABLE_WORK_DIR];
}

static void add_request(struct corral_shell *s, enum operation op, const char *target)
{
	s->requests[s->n_requests++] = (struct request){ .op = op, .target = target };
}

/*
 * Its name must be granted, and each that a link makes of it; where they end the command starts. A
 * name that is not granted is not looked up: a link is no way to find out what there is.
 */
static int shell_add_folder(struct corral_shell *s, struct error *e)
{
	const char *folder = shell_folder_of(s);
	char next[PATH_BYTES];
	int r = folder ? 1 : 0;

	for (unsigned i = 0; r == 1 && i <= BENEATH_LINKS_MAX; i++) {
		add_request(s, OPERATION_FS_READ, folder);
		if (i)
			s->call.cwd = folder;
		if (enclave_look(&s->c, &s->requests[s->n_requests - 1], 1) != VERDICT_ALLOW)
			return 0;
		r = beneath_next(BENEATH_HOST, folder, next, NULL);
		if (r != 1)
			break;
		folder = arena_strdup(&s->arena, next);
		if (!folder)
			return -ENOMEM;
	}
	/* What is not there, or not to be seen, the sandbox has words for. */
	if (r == 0 || r == -ENOENT || r == -ENOTDIR || r == -EACCES)
		return 0;
	return error_set(e, r == 1 || r == -EXDEV ? -ELOOP : r, NULL,
		"cannot resolve the symbolic links in the folder %.256s", folder);
}

/* The program */

/* A path that is not absolute is one from the folder, as a shell has it. */
static int shell_find_program(struct corral_shell *s, struct error *e)
{
	const char *program = s->argv[0];
	const char *folder = program[0] == '/' ? "" : shell_folder_of(s);
	char joined[2 * PATH_BYTES], found[PATH_BYTES];
	size_t len;
	int n = folder ? snprintf(joined, sizeof(joined), "%s/%s", folder, program) : -1;

	if (!strchr(program, '/')) {
		if (resolver_find(program, found) < 0)
			return 0;
	} else if (n < 0 || n >= (int)sizeof(joined) ||
		   path_normalize(joined, (size_t)n, found, &len) < 0) {
		return error_set(e, -EINVAL, NULL, "command not found: %.256s%s", program,
			folder ? "" : ": a relative path without a folder");
	}
	s->argv[0] = arena_strdup(&s->arena, found);
	return s->argv[0] ? 0 : -ENOMEM;
}

/* Words */

/* As it is, as '…', or as $'…' with "\xNN" for what cannot be seen; a backslash is doubled there.
 */
static void shell_print_word(struct buffer *out, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_@%+=:,./-";
	auto_buffer shown = { 0 }, quoted = { 0 };
	bool visible;

	if (*word && word[strspn(word, plain)] == '\0') {
		buffer_adds(out, word);
		return;
	}
	/* Control characters, and what is no text, nobody would see as they are. */
	buffer_add_visible(&shown, word, strlen(word));
	visible = !shown.failed && strcmp(buffer_text(&shown), word) == 0;
	for (; *word; word++) {
		if (visible && *word == '\'')
			buffer_adds(&quoted, "'\\'");
		else if (!visible && (*word == '\'' || *word == '\\'))
			buffer_addc(&quoted, '\\');
		buffer_addc(&quoted, *word);
	}
	buffer_adds(out, visible ? "'" : "$'");
	buffer_add_visible(out, buffer_text(&quoted), quoted.len);
	buffer_addc(out, '\'');
	out->failed = out->failed || quoted.failed;
}

static void print_surroundings(const struct corral_shell *s, struct buffer *out)
{
	const char *folder = shell_folder_of(s);

	if (folder) {
		buffer_adds(out, "cd ");
		shell_print_word(out, folder);
		buffer_adds(out, " && ");
	}
	for (size_t i = 0; s->call.env && s->call.env[i]; i++) {
		const char *value = strchr(s->call.env[i], '=') + 1;
		auto_buffer name = { 0 };

		/* A name, too, may be anything that a pattern grants. */
		buffer_add(&name, s->call.env[i], (size_t)(value - s->call.env[i]) - 1);
		shell_print_word(out, buffer_text(&name));
		buffer_addc(out, '=');
		shell_print_word(out, value);
		buffer_addc(out, ' ');
		out->failed = out->failed || name.failed;
	}
}

static int shell_describe(struct corral_shell *s)
{
	const struct corral_call *call = &s->call;
	auto_buffer command = { 0 }, whole = { 0 };
	unsigned char hash[HASH_BYTES];
	char hex[2 * HASH_BYTES + 1];

	for (size_t i = 0; i < s->n_argv; i++) {
		if (i)
			buffer_addc(&command, ' ');
		shell_print_word(&command, s->argv[i]);
	}
	print_surroundings(s, &whole);
	if (s->lending)
		buffer_printf(&whole, "%s ", s->lending->text);
	buffer_adds(&whole, buffer_text(&command));
	if (call->stdio && call->stdio[CORRAL_STDIN] >= 0)
		buffer_adds(&whole, " < a descriptor of the host");
	if (call->input_len) {
		(void)crypto_generichash(hash, sizeof(hash), call->input, call->input_len, NULL, 0);
		encoding_hex(hash, sizeof(hash), hex);
		buffer_printf(&whole, " < %zu bytes, %s", call->input_len, hex);
	}
	if (command.failed || whole.failed)
		return -ENOMEM;
	s->c.target = arena_strdup(&s->arena, buffer_text(&command));
	s->c.object = arena_strdup(&s->arena, buffer_text(&whole));
	return s->c.target && s->c.object ? 0 : -ENOMEM;
}

/* Reading */

static int shell_read(struct corral_shell *s, const char *const *argv,
	const struct corral_call *call, struct error *e)
{
	size_t n_env;
	int r = call_read(&s->call, call, e);

	if (r < 0)
		return r;
	if (!argv || !argv[0] || !argv[0][0])
		return error_set(e, -EINVAL, NULL, "no command was given");
	if (s->call.flags & (CORRAL_CALL_INPUT | CORRAL_CALL_RAW))
		return error_set(e, -EINVAL, NULL,
			"pipes cannot be used, because this call waits for the command to exit");
	s->n_argv = shell_count(argv);
	n_env = shell_count(s->call.env);
	if (s->n_argv > WORDS_MAX || n_env > WORDS_MAX)
		return error_set(e, -E2BIG, NULL, "the command is too long");
	s->argv = arena_calloc(&s->arena, s->n_argv + 1, sizeof(*s->argv));
	s->requests =
		arena_calloc(&s->arena, BENEATH_LINKS_MAX + 1 + n_env + 1, sizeof(*s->requests));
	if (!s->argv || !s->requests)
		return -ENOMEM;
	memcpy(s->argv, argv, s->n_argv * sizeof(*argv));
	/* The words are about the folder where the links end, and so is a path from there. */
	r = shell_add_folder(s, e);
	if (r == 0)
		r = shell_find_program(s, e);
	if (r == 0)
		r = shell_describe(s);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_env; i++)
		add_request(s, OPERATION_ENV, s->call.env[i]);
	s->requests[s->n_requests++] = (struct request){ .op = OPERATION_EXEC,
		.target = s->argv[0],
		.args = s->argv + 1,
		.n_args = s->n_argv - 1 };
	return 0;
}

/* Telling */

static void shell_tell_end(const struct enclave_call *c, const struct corral_result *result)
{
	const struct {
		int reached;
		enum limit which;
		const char *why;
	} limits[] = {
		{ corral_result_timed_out(result), LIMIT_TIMEOUT_MS, "the command timed out" },
		{ corral_result_out_of_memory(result), LIMIT_MEMORY,
			"the command exceeded its memory limit" },
		{ corral_result_too_many_pids(result), LIMIT_PIDS,
			"the command reached its limit of processes" },
	};
	struct enclave_call about = *c;
	int signal = corral_result_signal(result);
	const struct audit_event event = {
		.pid = c->pid,
		.program = c->actor,
		.action = AUDIT_COMMAND_END,
		.target = c->target,
		.reason = corral_result_killed(result) ? "it was killed" : NULL,
		.exact = true,
		.cost_ns = corral_result_duration_us(result) * 1000,
		.sent = corral_result_stdout_bytes(result) + corral_result_stderr_bytes(result),
		.received = c->received,
		.status = signal ? -signal : corral_result_exit_code(result),
	};

	/* What the jail and the relay refused, with who it was that had the command run. */
	for (size_t i = 0; i < corral_result_denials(result); i++)
		enclave_record_sandbox(
			c->enclave, &(struct corral_event){ .size = sizeof(struct corral_event),
					    .kind = CORRAL_EVENT_DENIED,
					    .pid = c->pid,
					    .actor = c->actor,
					    .program = c->target,
					    .message = "",
					    .denial = corral_result_denial(result, i) });
	about.action = AUDIT_LIMIT;
	for (size_t i = 0; i < ROWS(limits); i++) {
		about.target = limit_name(limits[i].which);
		if (limits[i].reached)
			enclave_tell(&about, AUDIT_DENIED, NULL, limits[i].why);
	}
	enclave_record(c->enclave, &event);
}

/* It was permitted, and did not come to be. */
static void shell_fail(const struct enclave_call *c, const struct corral_error *e)
{
	const struct corral_denial *d = corral_error_denial(e);

	enclave_tell(c, d ? AUDIT_DENIED : AUDIT_FAILED, d ? d->rule : NULL,
		d ? d->reason : corral_error_message(e));
}

/* Running */

/* e is not NULL. */
static int shell_launch(struct corral_shell *s, struct corral_error **e)
{
	const enum verdict least = s->c.approved ? VERDICT_ASK : VERDICT_ALLOW;
	int r = 1;

	s->c.action = AUDIT_COMMAND_START;
	(void)pthread_mutex_lock(&s->c.enclave->lock);
	/* Unless the policy of now does not permit it any more: waiting for the lock took a while.
	 */
	enclave_live_held(s->c.enclave);
	if (!s->c.enclave->is_over && enclave_look(&s->c, s->requests, s->n_requests) >= least)
		r = enclave_sandbox_get(s->c.enclave, s->argv, s->lent, &s->sandbox, e);
	if (r == 0)
		r = corral_process_start(&s->process, s->sandbox->sandbox, s->argv, &s->call, e);
	if (r == 0)
		enclave_tell(&s->c, AUDIT_ALLOWED, s->c.rule, s->c.approved ? "approved" : NULL);
	(void)pthread_mutex_unlock(&s->c.enclave->lock);
	if (r == 1)
		r = enclave_refuse(&s->c, -EACCES, e, "the grant was revoked in the meantime");
	else if (r < 0)
		shell_fail(&s->c, *e);
	s->c.action = AUDIT_COMMAND_END;
	return r;
}

/* A question about a folder or a variable cannot be answered with yes. */
static int shell_permit(struct corral_shell *s, struct corral_error **e)
{
	size_t before = s->n_requests - 1;

	if (before && enclave_look(&s->c, s->requests, before) == VERDICT_ASK)
		return enclave_refuse(&s->c, -EACCES, e,
			"permission denied: its folder and its variables must be granted, but "
			"the policy says \"ask\"");
	return enclave_permit(&s->c, s->requests, s->n_requests, e);
}

/*
 * What the command is given must not be in the log, in whatever text: nor in the question whether
 * it may run.
 */
static int shell_keep_secrets(struct corral_shell *s, struct corral_error **e)
{
	if (!s->call.env || holder_record_secrets(s->c.enclave->trail, s->call.env) == 0)
		return 0;
	/* Its arguments may be these values. */
	s->c.target = s->argv[0];
	return enclave_refuse(
		&s->c, -E2BIG, e, "too many values of variables to remove them from the log");
}

static int shell_borrow(struct corral_shell *s, struct corral_error **e)
{
	struct error error = { 0 };
	int r = s->lending->lend(s->lending->context, &s->lent, &error);

	if (r == 0)
		return 0;
	enclave_tell(&s->c, AUDIT_FAILED, s->c.rule, error.text);
	return handles_error(e, &error, r);
}

/* e is not NULL. */
static int shell_start(struct corral_shell *s, const char *const *argv,
	const struct corral_call *call, struct corral_error **e)
{
	struct error error = { 0 };
	bool may_run;
	int r = shell_read(s, argv, call, &error);

	if (r < 0) {
		enclave_tell(&s->c, AUDIT_FAILED, NULL, error.text);
		return handles_error(e, &error, r);
	}
	/* Whoever is denied does not fill the log's memory of values. */
	may_run = enclave_look(&s->c, s->requests, s->n_requests) != VERDICT_DENY;
	r = may_run ? shell_keep_secrets(s, e) : 0;
	if (r == 0)
		r = shell_permit(s, e);
	/* The policy changed in between. */
	if (r == 0 && !may_run)
		r = shell_keep_secrets(s, e);
	if (r == 0 && s->argv[0][0] != '/')
		r = enclave_done(&s->c, -ENOENT, e);
	if (r == 0 && s->lending)
		r = shell_borrow(s, e);
	return r < 0 ? r : shell_launch(s, e);
}

int corral_enclave_shell_start(struct corral_shell **ret, struct corral_enclave *enclave,
	const struct corral_by *by, const char *const *argv, const struct corral_call *call,
	struct corral_error **e)
{
	return enclave_shell_start(ret, enclave, by, argv, call, NULL, e);
}

int enclave_shell_start(struct corral_shell **ret, struct corral_enclave *enclave,
	const struct corral_by *by, const char *const *argv, const struct corral_call *call,
	const struct enclave_lending *lending, struct corral_error **e)
{
	struct corral_shell *s = calloc(1, sizeof(*s));
	struct corral_error *own = NULL;
	const char *actor;
	int r;

	if (!s)
		return handles_error(e, &(struct error){ .text = "out of memory" }, -ENOMEM);
	enclave_begin(&s->c, enclave, by, AUDIT_EXEC, argv ? argv[0] : NULL);
	s->lending = lending;
	/* The log names the actor later, when the caller's text may be gone. */
	actor = arena_strdup(&s->arena, s->c.actor);
	if (actor) {
		s->c.actor = actor;
		r = shell_start(s, argv, call, e ? e : &own);
	} else {
		r = handles_error(e, &(struct error){ .text = "out of memory" }, -ENOMEM);
	}
	corral_error_free(own);
	if (r < 0)
		corral_shell_free(s);
	else
		*ret = s;
	return r;
}

int corral_shell_fd(struct corral_shell *s)
{
	return corral_process_fd(s->process);
}

int corral_shell_dispatch(struct corral_shell *s)
{
	return corral_process_dispatch(s->process);
}

int corral_shell_kill(struct corral_shell *s)
{
	return corral_process_kill(s->process);
}

int corral_shell_wait(
	struct corral_shell *s, int timeout_ms, struct corral_result **ret, struct corral_error **e)
{
	struct corral_result *result = NULL;
	struct corral_error *own = NULL, **why = e ? e : &own;
	int r = corral_process_wait(s->process, timeout_ms, &result, why);

	if (r < 0 && r != -EAGAIN && !s->told) {
		shell_fail(&s->c, *why);
		s->told = true;
	}
	corral_error_free(own);
	if (r < 0)
		return r;
	if (!s->told) {
		s->c.received = s->call.input_len;
		shell_tell_end(&s->c, result);
		s->told = true;
	}
	if (ret)
		*ret = result;
	else
		corral_result_free(result);
	return 0;
}

void corral_shell_free(struct corral_shell *s)
{
	if (!s)
		return;
	if (s->process && !s->told)
		enclave_tell(&s->c, AUDIT_NONE, NULL, "the caller did not wait for its end");
	corral_process_free(s->process);
	if (s->sandbox)
		enclave_sandbox_unref(s->sandbox);
	arena_deinit(&s->arena);
	free(s);
}

int corral_enclave_shell_exec(struct corral_enclave *enclave, const struct corral_by *by,
	const char *const *argv, const struct corral_call *call, struct corral_result **ret,
	struct corral_error **e)
{
	struct corral_shell *s = NULL;
	int r = corral_enclave_shell_start(&s, enclave, by, argv, call, e);

	if (s)
		r = corral_shell_wait(s, -1, ret, e);
	corral_shell_free(s);
	return r;
}
