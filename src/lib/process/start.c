/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a call to a command in the session: everything that can fail on our side is done before the
 * frame leaves; then the warden answers, and a process is there to hear it. The calls that start a
 * command, and those that also wait for its end, stand at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "launch/command.h"
#include "lib/sandbox/skill.h"
#include "lib/api/audit-handle.h"
#include "lib/api/handles.h"
#include "lib/process/call.h"
#include "lib/process/denial.h"
#include "lib/process/process.h"
#include "wire/start.h"

enum { OUTPUT_DEFAULT = 16 << 20, TERMINAL_ROWS = 24, TERMINAL_COLUMNS = 80, ATTEMPTS = 2 };
/* More than anybody makes while one command is being started. */
enum { UPDATES_MAX = 64 };

/* What is gathered on the way. */
struct preparation {
	struct corral_sandbox *sandbox;
	const struct process_command *command;
	struct corral_call call;
	struct sandbox_setup *setup; /* a reference */
	struct arena arena;
	struct start start;
	struct buffer body;
	int theirs[3]; /* the command's ends that are ours to close; -1: none */
	struct corral_denial *denial;
};

static void preparation_deinit(struct preparation *l)
{
	for (size_t i = 0; i < 3; i++)
		fd_close(&l->theirs[i]);
	buffer_deinit(&l->body);
	arena_deinit(&l->arena);
	denial_free(l->denial);
	sandbox_setup_unref(l->setup);
}
#define auto_preparation __attribute__((cleanup(preparation_deinit))) struct preparation

static bool is_given(const struct preparation *l, enum corral_stream stream)
{
	return l->call.stdio && l->call.stdio[stream] >= 0;
}

/* The frame */

/* What holds: the sandbox's limit, or the call's (0: none), if that is narrower. */
static uint64_t preparation_limit(const struct preparation *l, enum limit which, uint64_t call)
{
	uint64_t v = l->setup->limits.values[which];

	return call && call < v ? call : v;
}

/*
 * Environment and program. The values of variables are secrets of a log before anything is reported
 * the command, also that it may not run.
 */
static int preparation_set_command(struct preparation *l, struct error *e)
{
	const struct sandbox_base *base = l->setup->base;
	struct start *s = &l->start;
	int r, learned;

	s->argv = l->command->argv;
	while (s->argv[s->n_argv])
		s->n_argv++;
	if (s->n_argv == 0 || !s->argv[0][0])
		return error_set(e, -EINVAL, NULL, "no command was given");
	r = base->backend->command(l->setup, l->command, &l->call, &l->arena, s, &l->denial, e);
	sandbox_join(l->sandbox, s->env);
	learned = s->env ? lib_audit_learn(base->sink, base->context, s->env) : 0;
	if (learned == 0)
		return r;
	denial_free(l->denial);
	l->denial = NULL;
	return error_set(e, learned, NULL,
		"cannot remove the values of its variables from the audit log: %s",
		strerror(-learned));
}

static int preparation_fill(struct preparation *l, struct error *e)
{
	const char *const *folders = l->setup->base->variables.values;
	const struct corral_call *c = &l->call;
	struct limits limits = l->setup->limits;
	struct start *s = &l->start;
	bool is_default = false;
	int r;

	s->cwd = c->cwd ? c->cwd : folders[VARIABLE_WORK_DIR];
	s->cwd = s->cwd ? s->cwd : folders[VARIABLE_HOME];
	limits.values[LIMIT_TIMEOUT_MS] = preparation_limit(l, LIMIT_TIMEOUT_MS, c->timeout_ms);
	/* Its time is that of each call. */
	if (l->command->worker == PROCESS_WORKER_SERVER)
		limits.values[LIMIT_TIMEOUT_MS] = LIMIT_NONE;
	if (l->command->worker)
		launch_wasm_limit(&limits, &is_default);
	r = launch_limits_check(&limits, e);
	if (r < 0)
		return r;
	launch_limits_start(&limits, s);
	for (int i = 0; i < 3; i++)
		s->flags |= is_given(l, (enum corral_stream)i) ? 0 : START_OWN_STDIN << i;
	if (c->flags & CORRAL_CALL_MERGE && is_given(l, CORRAL_STDOUT))
		s->flags &= ~(uint32_t)START_OWN_STDERR;
	if (c->flags & CORRAL_CALL_TTY) {
		s->flags |= START_TTY;
		s->rows = c->rows ? c->rows : TERMINAL_ROWS;
		s->columns = c->columns ? c->columns : TERMINAL_COLUMNS;
	}
	/* Who has a sink wants to hear of the start when it happens. */
	if (!l->setup->base->sink && !atomic_load(&l->sandbox->joined) &&
		!(c->flags & CORRAL_CALL_TTY))
		s->flags |= START_QUIET;
	r = preparation_set_command(l, e);
	if (r < 0)
		return r;
	r = start_encode(s, &l->body);
	if (r == -E2BIG)
		return error_set(e, r, NULL, "the command is too long");
	return r == 0 && l->body.failed ? -ENOMEM : r;
}

/* The process */

static struct stream_output preparation_output(
	const struct preparation *l, enum corral_stream stream)
{
	uint64_t limit = preparation_limit(l, LIMIT_OUTPUT, l->call.output_limit);

	return (struct stream_output){
		.fd = -1,
		.is_tty = l->call.flags & CORRAL_CALL_TTY,
		.stream = stream,
		.limit = limit == LIMIT_NONE && !l->call.output ? OUTPUT_DEFAULT : limit,
		.callback = l->call.output,
		.context = l->call.context,
	};
}

/* NULL when out of memory. */
static struct corral_process *process_new(const struct preparation *l)
{
	struct corral_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct corral_process){ .wake = -1, .master = -1, .epoll = -1 };
	p->setup = sandbox_setup_ref(l->setup);
	for (size_t i = 0; i < PROCESS_SLOTS; i++)
		p->watched[i] = -1;
	input_init(&p->input);
	sandbox_init_checked(&p->pump);
	p->flags = l->call.flags;
	p->unreported = l->command->worker == PROCESS_WORKER_SERVER;
	p->quiet = l->start.flags & START_QUIET;
	p->out = preparation_output(l, CORRAL_STDOUT);
	p->err = preparation_output(l, CORRAL_STDERR);
	p->input.is_tty = p->out.is_tty;
	p->program = strdup(l->command->shown);
	p->target = strdup(l->command->implied ? "" : l->command->argv[0]);
	p->cwd = strdup(l->start.cwd);
	p->result = result_new(l->setup->base->backend);
	if (p->program && p->target && p->cwd && p->result)
		return p;
	process_destroy(p);
	return NULL;
}

/* Descriptors */

/* A pipe of which our end does not block: that is a matter of each end's own. */
static int new_pipe(int *ret_ours, int *ret_theirs, bool we_read)
{
	int fds[2], r;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ret_ours = fds[we_read ? 0 : 1];
	*ret_theirs = fds[we_read ? 1 : 0];
	r = fcntl(*ret_ours, F_SETFL, (we_read ? O_RDONLY : O_WRONLY) | O_NONBLOCK);
	return r < 0 ? -errno : 0;
}

static int open_streams(struct preparation *l, struct corral_process *p)
{
	bool keep = l->call.flags & CORRAL_CALL_INPUT;
	struct stream_input *in = &p->input;
	long added = 0;
	int r = 0;

	/* A terminal's descriptor comes later; what is written until then waits. */
	in->open = l->call.input_len || keep || in->is_tty;
	if (in->open && !in->is_tty)
		r = new_pipe(&in->fd, &l->theirs[CORRAL_STDIN], false);
	if (in->open && r == 0)
		added = input_add(in, l->call.input, l->call.input_len, SIZE_MAX);
	if (added < 0)
		r = (int)added;
	if (r == 0 && !keep && l->call.input_len)
		r = input_close_later(in);
	if (r == 0 && !in->is_tty && !is_given(l, CORRAL_STDOUT))
		r = new_pipe(&p->out.fd, &l->theirs[CORRAL_STDOUT], true);
	if (r == 0 && !in->is_tty && !is_given(l, CORRAL_STDERR) &&
		!(l->call.flags & CORRAL_CALL_MERGE))
		r = new_pipe(&p->err.fd, &l->theirs[CORRAL_STDERR], true);
	return r;
}

/* Sending */

/*
 * What the warden has to hold or to look at goes through it: memory and processes, by a cgroup, and
 * descriptors that could lead somewhere, or whose bytes it copies. /dev/null and its like do not.
 */
static bool may_go_directly(const struct preparation *l)
{
	enum { MEMORY = 1 }; /* the major number of these devices */
	struct stat st;

	for (int i = 0; i < 3; i++) {
		if (!is_given(l, (enum corral_stream)i))
			continue;
		if (fstat(l->call.stdio[i], &st) < 0)
			return false;
		if (!S_ISCHR(st.st_mode) || major(st.st_rdev) != MEMORY)
			return false;
	}
	return l->start.memory == 0 && l->start.pids == 0;
}

static int send_once(struct preparation *l, struct corral_process *p, struct error *e)
{
	struct warden_link *link;
	int fds[3], r = sandbox_add(l->sandbox, p, e);

	if (r != 0)
		return r;
	for (int i = 0; i < 3; i++)
		fds[i] = is_given(l, (enum corral_stream)i) ? l->call.stdio[i] : l->theirs[i];
	if (fds[CORRAL_STDIN] < 0)
		fds[CORRAL_STDIN] = l->sandbox->null;
	if (l->call.flags & CORRAL_CALL_MERGE)
		fds[CORRAL_STDERR] = fds[CORRAL_STDOUT];
	link = warden_link_ref(p->link);
	r = may_go_directly(l) ? sandbox_start_directly(l->sandbox, p, &l->body, fds,
					 p->out.is_tty ? 0 : 3, l->start.timeout_ms)
			       : -EAGAIN;
	if (r == -EAGAIN)
		r = sandbox_send(link, FRAME_START, p->id, &l->body, fds, p->out.is_tty ? 0 : 3);
	if (r < 0) {
		sandbox_remove(l->sandbox, p);
		(void)error_set(
			e, r, NULL, "cannot pass the command to the warden: %s", strerror(-r));
	}
	if (r == -EPIPE || r == -ECONNRESET)
		sandbox_lose(l->sandbox, link, e);
	warden_link_unref(link);
	return r;
}

/* A session that died before it was given the command has done nothing with it. */
static int send_start(struct preparation *l, struct corral_process *p, struct error *e)
{
	int r = -EPIPE;

	for (int i = 0; i < ATTEMPTS && r == -EPIPE; i++) {
		p->state = PROCESS_STARTING;
		r = send_once(l, p, e);
	}
	return r == -EPIPE ? -ECONNRESET : r;
}

/* 1: the permissions that it was prepared by are not those of now. */
static int process_start_launch(struct preparation *l, struct corral_process **ret, struct error *e)
{
	struct corral_process *p = process_new(l);
	int r = p ? 0 : -ENOMEM;

	if (p)
		p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p && p->wake < 0)
		r = -errno;
	if (r == 0)
		r = open_streams(l, p);
	if (r < 0 && r != -ENOMEM)
		(void)error_set(e, r, NULL, "cannot prepare the command: %s", strerror(-r));
	if (r == 0)
		r = send_start(l, p, e);
	if (r != 0) {
		process_destroy(p);
		return r;
	}
	p->sandbox = l->sandbox;
	sandbox_count_start(l->sandbox);
	*ret = p;
	return 0;
}

int process_start(struct corral_process **ret, struct corral_sandbox *s,
	const struct process_command *c, const struct corral_call *call, struct corral_error **e)
{
	struct error error = { 0 };
	int r = 1;

	for (int i = 0; i < UPDATES_MAX && r == 1; i++) {
		auto_preparation l = { .sandbox = s, .command = c, .theirs = { -1, -1, -1 } };

		r = call_read(&l.call, call, &error);
		/* All of it by the permissions as they are. */
		l.setup = sandbox_hold_setup(s);
		if (r == 0)
			r = preparation_fill(&l, &error);
		if (r == 0)
			r = process_start_launch(&l, ret, &error);
		if (r == 1 && i == UPDATES_MAX - 1)
			r = error_set(&error, -EBUSY, NULL,
				"the permissions kept changing while the command was started");
		if (r == 0 || r == 1)
			continue;
		sandbox_count_refusal(s, l.denial ? 1 : 0);
		sandbox_tell(s, (struct corral_event){ .kind = l.denial ? CORRAL_EVENT_DENIED
									: CORRAL_EVENT_FAILED,
					.program = c->shown,
					.message = error.text,
					.denial = l.denial });
		return handles_denied(e, &error, r, l.denial);
	}
	return r;
}

/* The calls */

static int start_complain(struct corral_error **e, const char *what)
{
	struct error error = { 0 };

	return handles_error(e, &error, error_set(&error, -EINVAL, NULL, "%s", what));
}

int corral_process_start(struct corral_process **ret, struct corral_sandbox *s,
	const char *const *argv, const struct corral_call *call, struct corral_error **e)
{
	const struct process_command c = { .argv = argv, .shown = argv ? argv[0] : NULL };

	if (!c.shown)
		return start_complain(e, "no command was given");
	return process_start(ret, s, &c, call, e);
}

int corral_process_start_line(struct corral_process **ret, struct corral_sandbox *s,
	const char *line, const struct corral_call *call, struct corral_error **e)
{
	const char *const argv[] = { "/bin/sh", "-c", line, NULL };
	const struct process_command c = { .argv = argv, .shown = line, .implied = true };

	if (!line)
		return start_complain(e, "no command line was given");
	return process_start(ret, s, &c, call, e);
}

int corral_process_start_script(struct corral_process **ret, struct corral_sandbox *s,
	const char *path, const char *runtime, const char *const *args,
	const struct corral_call *call, struct corral_error **e)
{
	auto_arena a = { 0 };
	struct process_command c = { .shown = path };
	struct error error = { 0 };
	const struct launch_skill *skill = s->base.skill ? &s->base.skill->skill : NULL;
	int r;

	/* What a sandbox shows of a skill is the copy, and so is the line that says what runs it. A
	 * caller who means what is there now is told if it is another. */
	if (path && !runtime && skill && s->base.backend->enforces &&
		path_is_normal(path, strlen(path)) && path_is_below(path, skill->path)) {
		r = launch_skill_script(skill, path, args, &a, &c.argv, &error);
		if (r == 0)
			r = launch_skill_unchanged(skill, &error);
	} else {
		r = s->base.backend->script(path, runtime, args, &a, &c.argv, &error);
	}
	return r < 0 ? handles_error(e, &error, r) : process_start(ret, s, &c, call, e);
}

/* Waits for the process, if it was started, and frees it. */
static int start_await(
	int r, struct corral_process *p, struct corral_result **ret, struct corral_error **e)
{
	if (r < 0)
		return r;
	r = corral_process_wait(p, -1, ret, e);
	corral_process_free(p);
	return r;
}

int corral_sandbox_execute(struct corral_sandbox *s, const char *line,
	const struct corral_call *call, struct corral_result **ret, struct corral_error **e)
{
	struct corral_process *p = NULL;
	int r = corral_process_start_line(&p, s, line, call, e);

	return start_await(r, p, ret, e);
}

int corral_sandbox_execute_argv(struct corral_sandbox *s, const char *const *argv,
	const struct corral_call *call, struct corral_result **ret, struct corral_error **e)
{
	struct corral_process *p = NULL;
	int r = corral_process_start(&p, s, argv, call, e);

	return start_await(r, p, ret, e);
}

int corral_sandbox_execute_script(struct corral_sandbox *s, const char *path, const char *runtime,
	const char *const *args, const struct corral_call *call, struct corral_result **ret,
	struct corral_error **e)
{
	struct corral_process *p = NULL;
	int r = corral_process_start_script(&p, s, path, runtime, args, call, e);

	return start_await(r, p, ret, e);
}

/* The sandbox must have been built for that skill: it shows a copy of it. */
static int start_check_skill(const struct corral_sandbox *s, const char *skill_dir, struct error *e)
{
	const struct sandbox_skill *built = s->base.skill;
	char real[PATH_BYTES];

	if (!s->base.backend->enforces)
		return error_set(e, -EOPNOTSUPP, NULL,
			"mode rwx does not confine anything, so the permissions of a skill "
			"cannot be enforced");
	if (!realpath(skill_dir, real))
		return error_set(e, -errno, NULL, "cannot read %s: %s", skill_dir, strerror(errno));
	if (built && strcmp(real, built->skill.path) == 0)
		return 0;
	(void)error_set(
		e, -EACCES, NULL, "the sandbox was not built for the skill in %s", skill_dir);
	error_hint(e, "use corral_builder_from_manifest() of that folder");
	return -EACCES;
}

/* The folder as it is now must be approved, and be what the sandbox has a copy of. */
static int start_compare_skill(
	const struct corral_sandbox *s, const char *skill_dir, struct arena *a, struct error *e)
{
	const struct launch_skill *built = &s->base.skill->skill;
	auto_launch_skill now = LAUNCH_SKILL_NONE;
	int r = launch_skill_open(&now, skill_dir, LAUNCH_SKILL_LOOK, a, e);

	if (r == 0 && !s->base.unapproved)
		r = launch_skill_check(
			&now, skill_dir, "call corral_builder_allow_unapproved_skill()", e);
	if (r < 0 || memcmp(&now.content.digest, &built->content.digest,
			     sizeof(built->content.digest)) == 0)
		return r;
	(void)error_set(e, -ESTALE, NULL, "the skill in %s was changed after the sandbox was built",
		skill_dir);
	error_hint(e, "build another sandbox for the skill as it is now");
	return -ESTALE;
}

int process_worker_command(const struct sandbox_setup *setup, const char *const *args,
	const char *const *call_env, bool serves, struct arena *a, struct process_command *ret,
	struct error *e)
{
	const struct environment_options env = { .policy = setup->policy,
		.host_env = setup->base->environment };
	const struct launch_skill *skill = &setup->base->skill->skill;
	struct launch_wasm_call c = { .variables = &setup->base->variables,
		.limits = &setup->limits,
		.policy = setup->policy,
		.call_env = call_env,
		.args = args,
		.serves = serves };
	const char **words = NULL;
	size_t n = 0;
	int r;

	if (setup->wasm_code < 0) {
		*e = setup->wasm_error;
		return setup->wasm_code;
	}
	while (args && args[c.n_args])
		c.n_args++;
	r = environment_granted(a, &env, &c.granted, e);
	if (r == 0)
		r = launch_wasm_command(skill, &c, a, &words, &n, e);
	if (r == 0)
		*ret = (struct process_command){ .argv = words,
			.shown = skill->manifest.wasm_file,
			.worker = serves ? PROCESS_WORKER_SERVER : PROCESS_WORKER_ONCE };
	return r;
}

/* A module, with what it may do now. */
static int start_module_command(struct corral_sandbox *s, const char *const *args,
	const struct corral_call *call, struct arena *a, struct process_command *ret,
	struct error *e)
{
	struct sandbox_setup *setup = sandbox_hold_setup(s);
	struct corral_call known;
	int r = call_read(&known, call, e);

	if (r == 0)
		r = process_worker_command(setup, args, known.env, false, a, ret, e);
	sandbox_setup_unref(setup);
	return r;
}

/* What `corral run --skill` does, with the same answers. */
static int start_skill_command(struct corral_sandbox *s, const char *skill_dir, const char *entry,
	const char *runtime, const char *const *args, const struct corral_call *call,
	struct arena *a, struct process_command *ret, struct error *e)
{
	const char **words = NULL;
	size_t n_args = 0, n = 0;
	int r = start_check_skill(s, skill_dir, e);

	while (args && args[n_args])
		n_args++;
	if (r == 0)
		r = start_compare_skill(s, skill_dir, a, e);
	if (r == 0 && !entry && !runtime && launch_wasm_is(&s->base.skill->skill))
		return start_module_command(s, args, call, a, ret, e);
	if (r == 0)
		r = launch_skill_command(
			&s->base.skill->skill, entry, runtime, args, n_args, a, &words, &n, e);
	if (r == 0)
		*ret = (struct process_command){ .argv = words, .shown = words[n - n_args - 1] };
	return r;
}

int corral_sandbox_run_skill_entry(struct corral_sandbox *s, const char *skill_dir,
	const char *entry, const char *const *args, const struct corral_call *call,
	struct corral_result **ret, struct corral_error **e)
{
	return corral_sandbox_run_skill_entry_by(s, skill_dir, entry, NULL, args, call, ret, e);
}

int corral_sandbox_run_skill_entry_by(struct corral_sandbox *s, const char *skill_dir,
	const char *entry, const char *runtime, const char *const *args,
	const struct corral_call *call, struct corral_result **ret, struct corral_error **e)
{
	auto_arena a = { 0 };
	struct corral_process *p = NULL;
	struct process_command c = { 0 };
	struct error error = { 0 };
	int r;

	if (!skill_dir)
		return start_complain(e, "no skill folder was given");
	r = start_skill_command(s, skill_dir, entry, runtime, args, call, &a, &c, &error);
	if (r < 0)
		return handles_error(e, &error, r);
	r = process_start(&p, s, &c, call, e);
	return start_await(r, p, ret, e);
}
