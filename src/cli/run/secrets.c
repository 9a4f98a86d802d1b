/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets of the vault that the command uses and never sees: those of --secret, those that the
 * policies name, and those that presets try. A process of its own lends them (cli/vault/lender.h);
 * here are only their placeholders, which become variables, their hosts, and the certificate of the
 * injector's authority, which joins the list of those that programs trust inside.
 *
 * What is asked of the vault is in secrets-plan.c, what programs trust inside in secrets-trust.c.
 * The placeholders are put into the variables after all policies had their say about those: a
 * variable of that name outside is never passed on beside a lent secret.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/output.h"
#include "cli/run/secrets.h"
#include "event/wait.h"
#include "vault/client.h"
#include "vault/format.h"

enum { SECRETS_MS = 150 * 1000, SECRETS_END_MS = 10 * 1000, SECRETS_DIGEST_HEX = 32 };

/* Not on the stack, and only touched with secrets. */
static struct frame secrets_frame;

/* The lender */

/*
 * What grants of the vault call this sandbox. A name that content gives itself says nothing about
 * it: a skill is called by its name and what it consists of, a policy by where it is.
 */
static int run_secrets_principal(struct run *r, const char **ret)
{
	const char *origin = r->n_base ? r->base[0]->origin : NULL;

	*ret = "run";
	if (r->options.skill) {
		const char *name = r->skill.manifest.name ? r->skill.manifest.name : "skill";
		char digest[SKILL_DIGEST_HEX];

		skill_digest_hex(&r->skill.approval.digest, digest);
		*ret = arena_printf(r->call->arena, "%s@%.*s", name, SECRETS_DIGEST_HEX, digest);
	} else if (r->options.agent.is_given) {
		*ret = agent_mode_name(r->options.agent.mode);
	} else if (r->profile.permissions && r->base[0] == r->profile.permissions) {
		*ret = r->profile.name;
	} else if (r->has_project) {
		*ret = r->project.path;
	} else if (origin) {
		return load_absolute(r->call, origin, ret);
	}
	return *ret ? 0 : error_no_memory(r->call->error);
}

static int run_secrets_start(struct run *r, const struct secrets_plan *p)
{
	const size_t most =
		p->words.n + 2 * (p->within.n + p->tries.n + p->inspect.n + p->logins.n) + 8;
	const char **argv = arena_calloc(r->call->arena, most, sizeof(*argv));
	size_t n = 0;
	int ret;

	if (!argv)
		return error_no_memory(r->call->error);
	argv[n++] = "corral";
	argv[n++] = "vault";
	argv[n++] = "lend";
	argv[n++] = "--to";
	ret = run_secrets_principal(r, &argv[n++]);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < p->within.n; i++) {
		argv[n++] = "--within";
		argv[n++] = p->within.items[i];
	}
	for (size_t i = 0; i < p->tries.n; i++) {
		argv[n++] = "--try";
		argv[n++] = p->tries.items[i];
	}
	for (size_t i = 0; i < p->inspect.n; i++) {
		argv[n++] = "--inspect";
		argv[n++] = p->inspect.items[i];
	}
	for (size_t i = 0; i < p->logins.n; i++) {
		argv[n++] = "--login";
		argv[n++] = p->logins.items[i];
	}
	argv[n++] = "--";
	for (size_t i = 0; i < p->words.n; i++)
		argv[n++] = p->words.items[i];
	ret = child_start(&r->secrets.lender, "/proc/self/exe", argv, (const char *const *)environ);
	return ret < 0 ? error_set(r->call->error, ret, NULL, "cannot start corral: %s",
				 strerror(-ret))
		       : 0;
}

const char *run_secrets_who(const struct run *r)
{
	return r->options.secrets.n       ? "--secret"
	       : r->options.logins.n      ? "--login"
	       : r->secrets.is_inspection ? "network.inspect"
					  : "secrets";
}

/* A file that is shown with placeholders: in place of the host's, when there is a plan. */
static int run_secrets_take_file(struct run *r)
{
	struct arena *a = r->call->arena;
	struct run_secrets *s = &r->secrets;
	struct lend_file got;
	struct plan_text file;
	int ret = lend_file_decode(&got, secrets_frame.body, secrets_frame.len);

	if (ret < 0)
		return ret;
	file = (struct plan_text){ .path = arena_strdup(a, got.path),
		.text = arena_strdup(a, got.text) };
	return file.path && file.text ? ARENA_PUSH(a, s->files, s->n_files, s->cap_files, file)
				      : -ENOMEM;
}

static int run_secrets_receive(struct run *r, enum frame_type type)
{
	const uint64_t until = wait_until(SECRETS_MS);
	struct error *e = r->call->error;
	struct frame *f = &secrets_frame;
	struct refusal why;
	int ret;

	do {
		ret = wait_for_one(r->secrets.lender.socket, POLLIN, until) == 0
			      ? -ETIMEDOUT
			      : frame_receive(r->secrets.lender.socket, f);
		if (ret != 1 || f->type != FRAME_LEND_FILE)
			break;
		ret = run_secrets_take_file(r);
	} while (ret == 0);
	if (ret == 1 && f->type == type)
		return 0;
	if (ret == 1 && f->type == FRAME_FAILED && refusal_decode(&why, f->body, f->len) == 0) {
		(void)error_set(e, -why.error, NULL, "%s: %s", run_secrets_who(r), why.text);
		error_hint(e, "%s", why.hint);
		return -why.error;
	}
	return error_set(e, ret < 0 ? ret : -EPROTO, NULL, "%s: the vault is not served: %s",
		run_secrets_who(r), ret < 0 ? strerror(-ret) : "its process ended");
}

/* What it says */

/* Hosts of one kind: all of them go to one process. */
static int run_secrets_keep_hosts(
	struct run *r, const struct lend_grant *grants, size_t n, bool is_database)
{
	const char **hosts = arena_calloc(r->call->arena, n + 1, sizeof(*hosts));
	bool *by_program = arena_calloc(r->call->arena, n + 1, sizeof(*by_program));
	size_t n_hosts;

	if (!hosts || !by_program)
		return error_no_memory(r->call->error);
	n_hosts = lend_hosts(grants, n, VAULT_POSTGRESQL, !is_database, hosts, by_program);
	for (size_t i = 0; i < n_hosts; i++) {
		hosts[i] = arena_strdup(r->call->arena, hosts[i]);
		if (!hosts[i])
			return error_no_memory(r->call->error);
	}
	if (n_hosts > 0)
		r->secrets.lent[r->secrets.n_lent++] =
			(struct plan_lent){ -1, hosts, by_program, n_hosts };
	r->secrets.has_database = is_database && n_hosts > 0;
	return 0;
}

static int run_secrets_take_hosts(struct run *r)
{
	static struct lend_grant grants[LEND_MAX];
	size_t n = 0;
	int ret = run_secrets_receive(r, FRAME_LEND_SETUP);

	if (ret == 0)
		ret = lend_setup_decode(grants, &n, secrets_frame.body, secrets_frame.len);
	for (size_t i = 0; ret == 0 && i < n; i++) {
		const char *host = arena_strdup(r->call->arena, grants[i].host);

		if (!host)
			ret = error_no_memory(r->call->error);
		else if (run_secrets_is_option(r, grants[i].name) ||
			 run_secrets_is_login(r, grants[i].name))
			ret = run_secrets_add(r, &r->options.net, host);
	}
	/* In the order in which their sockets come. */
	if (ret == 0)
		ret = run_secrets_keep_hosts(r, grants, n, false);
	if (ret == 0)
		ret = run_secrets_keep_hosts(r, grants, n, true);
	return ret;
}

/* NAME, or NAME=HOST:PORT. */
static bool run_secrets_is_word(const struct secrets_plan *p, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < p->words.n; i++)
		if (strncmp(p->words.items[i], name, len) == 0 &&
			(!p->words.items[i][len] || p->words.items[i][len] == '='))
			return true;
	return run_secrets_has(&p->tries, name);
}

static int run_secrets_take_placeholders(struct run *r, const struct secrets_plan *p)
{
	static struct lend_ready ready;
	int ret = run_secrets_receive(r, FRAME_LEND_READY);

	if (ret == 0)
		ret = lend_ready_decode(&ready, secrets_frame.body, secrets_frame.len);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < r->secrets.n_lent; i++)
		r->secrets.lent[i].socket = frame_take_fd(&secrets_frame, i);
	for (size_t i = 0; i < r->secrets.n_lent; i++)
		if (r->secrets.lent[i].socket < 0)
			return -EPROTO;
	for (size_t i = 0; ret == 0 && i < ready.n; i++) {
		/* A program that is to log in must not find that it has a token. */
		if (run_secrets_is_login(r, ready.items[i].name) &&
			!run_secrets_is_word(p, ready.items[i].name))
			continue;
		ret = run_secrets_add(r, &r->secrets.env,
			arena_printf(
				r->call->arena, "%s=%s", ready.items[i].name, ready.items[i].text));
		if (ret == 0 && run_secrets_has(&p->tries, ready.items[i].name))
			run_secrets_note(r, ready.items[i].name,
				"the vault lends it: the command gets a placeholder");
	}
	r->secrets.certificate = arena_strdup(r->call->arena, ready.certificate);
	return ret < 0 ? ret : r->secrets.certificate ? 0 : error_no_memory(r->call->error);
}

/*
 * Nothing but presets wanted some, and the vault has none for this sandbox, or is locked: then it
 * is as it was without a vault. A locked one is named where the variable is set outside.
 */
static int run_secrets_without(struct run *r, const struct secrets_plan *p, int why)
{
	struct error *e = r->call->error;
	const struct error was = *e;

	*e = (struct error){ 0 };
	child_end(&r->secrets.lender);
	r->secrets.n_lent = 0;
	for (size_t i = 0; why == -ENOKEY && i < p->tries.n; i++)
		if (getenv(p->tries.items[i]))
			run_secrets_note(r, p->tries.items[i],
				"the vault is locked, and its value is not used: corral vault "
				"unlock");
	if (why != -ENOKEY && why != -ENOENT)
		run_secrets_note(r, "the vault is not used", was.text);
	return 0;
}

static int run_secrets_lend(struct run *r, const struct secrets_plan *p)
{
	int ret = run_secrets_start(r, p);

	if (ret == 0)
		ret = run_secrets_take_hosts(r);
	if (ret == 0)
		ret = run_secrets_take_placeholders(r, p);
	return ret;
}

int run_secrets_begin(struct run *r)
{
	struct run_secrets *s = &r->secrets;
	struct secrets_plan *p = arena_alloc(r->call->arena, sizeof(*p));
	int ret;

	if (!p)
		return error_no_memory(r->call->error);
	ret = run_secrets_plan(r, p);
	s->calls = p->calls;
	if (ret == 0 && s->calls.n > 0)
		ret = run_secrets_principal(r, &s->principal);
	if (ret != 0 ||
		(p->words.n == 0 && p->tries.n == 0 && p->inspect.n == 0 && p->logins.n == 0))
		return ret;
	s->is_inspection = p->words.n == 0 && p->tries.n == 0 && p->logins.n == 0;
	ret = run_secrets_lend(r, p);
	if (ret < 0 && p->words.n == 0 && p->logins.n == 0 && p->tries.n > 0) {
		ret = run_secrets_without(r, p, ret);
		p->tries.n = 0;
		if (ret < 0 || p->inspect.n == 0)
			return ret;
		/* Requests are checked, with a vault or without. */
		ret = run_secrets_lend(r, p);
	}
	s->is_on = ret == 0;
	if (s->is_on)
		s->inspect = p->inspect;
	if (ret < 0 && !r->call->error->text[0])
		(void)error_set(
			r->call->error, ret, NULL, "%s: %s", run_secrets_who(r), strerror(-ret));
	return ret;
}

const char *run_secrets_file(const struct run *r, size_t i)
{
	const char *home = r->plan->home, *path = r->secrets.files[i].path;

	return path_is_below(path, home) ? arena_printf(r->call->arena, "%s%s", r->plan->home_real,
						   path + strlen(home))
					 : path;
}

void run_secrets_tell_files(const struct run *r)
{
	for (size_t i = 0; i < r->secrets.n_files; i++) {
		const char *path = r->secrets.files[i].path, *real = run_secrets_file(r, i);
		const struct plan_entry *entry = real ? plan_at(r->plan, real) : NULL;

		if (!entry || entry->kind != PLAN_FILE)
			run_secrets_note(r, path, "is not shown: a policy denies it");
	}
}

/* While it runs */

int run_secrets_fd(const struct run *r)
{
	return r->secrets.lender.pid > 0 ? r->secrets.lender.socket : -1;
}

static struct record run_secrets_record(const char *target, const char *why)
{
	return (struct record){ .kind = RECORD_FAILED,
		.target = target,
		.name = "",
		.address = "",
		.rule = "",
		.reason = why,
		.remedy = "",
		.program = "" };
}

void run_secrets_agree(struct run *r, uint64_t number, const char *why)
{
	auto_buffer body = { 0 };

	if (r->secrets.lender.pid > 0 &&
		lend_answer_encode(
			&(struct lend_answer){ .number = number, .is_allowed = !*why, .text = why },
			&body) == 0)
		(void)frame_send(r->secrets.lender.socket, FRAME_LEND_AGREED, 0, body.data,
			body.len, NULL, 0);
}

bool run_secrets_dispatch(struct run *r, struct record *ret, struct lend_consent *ret_asked)
{

	struct frame *f = &secrets_frame;
	struct lend_note note;
	int got = frame_receive(r->secrets.lender.socket, f);

	if (got == -EAGAIN || got == -EINTR)
		return false;
	if (got == 1 && f->type == FRAME_LEND_NOTE &&
		lend_note_decode(&note, f->body, f->len) == 0) {
		*ret = run_secrets_record(note.host, note.text);
		return true;
	}
	if (got == 1 && f->type == FRAME_LEND_CONSENT &&
		lend_consent_decode(ret_asked, f->body, f->len) == 0)
		return false;
	child_end(&r->secrets.lender);
	*ret = run_secrets_record("*", "the secrets of this run are not served any more");
	return true;
}

/* The lender hangs up when it has passed on what its injector knew, and recorded the last uses. */
bool run_secrets_settle(struct run *r, struct record *ret)
{
	struct run_secrets *s = &r->secrets;
	struct frame *f = &secrets_frame;
	struct lend_note note;

	if (s->lender.pid <= 0)
		return false;
	if (s->until == 0) {
		(void)shutdown(s->lender.socket, SHUT_WR);
		s->until = wait_until(SECRETS_END_MS);
	}
	while (wait_for_one(s->lender.socket, POLLIN, s->until) > 0) {
		int got = frame_receive(s->lender.socket, f);

		if (got == 1 && f->type == FRAME_LEND_NOTE &&
			lend_note_decode(&note, f->body, f->len) == 0) {
			*ret = run_secrets_record(note.host, note.text);
			return true;
		}
		if (got != -EAGAIN && got != -EINTR)
			break;
	}
	child_end(&s->lender);
	return false;
}

void run_secrets_end(struct run *r)
{
	struct record record;

	while (run_secrets_settle(r, &record))
		;
	for (size_t i = 0; r->secrets.is_on && i < r->secrets.n_lent; i++)
		fd_close(&r->secrets.lent[i].socket);
	frame_deinit(&secrets_frame);
}
