/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One round: `corral run` in a child process, since a run is of one process and leaves nothing
 * behind for a second. The policy goes there, and the report comes back, in files without names
 * which no command ever sees: they are closed on exec, and a session closes what it inherits.
 *
 * Output of the command goes to standard error, since standard output is for the policy; it reads
 * nothing unless there is a terminal, because what one round has read the next would miss.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/learn/internal.h"
#include "process/starting.h"

static int round_add(struct learn *l, struct options_list *words, const char *word)
{
	return ARENA_PUSH(l->call->arena, words->items, words->n, words->cap, word);
}

static int round_add_pair(
	struct learn *l, struct options_list *words, const char *option, const char *value)
{
	int r = value ? round_add(l, words, option) : 0;

	return value && r == 0 ? round_add(l, words, value) : r;
}

/* "run --policy fd:N --explain … -- CMD". */
static int round_words(struct learn *l, bool is_watched, int policy, struct options_list *words)
{
	const struct {
		const char *option, *value;
	} rows[] = { { "--timeout", l->timeout }, { "--memory", l->memory },
		{ "--pids", l->pids } };
	const char *name = arena_printf(l->call->arena, "fd:%d", policy);
	int r = name ? round_add(l, words, "run") : -ENOMEM;

	if (r == 0)
		r = round_add_pair(l, words, "--policy", name);
	if (r == 0 && is_watched)
		r = round_add(l, words, "--explain");
	for (size_t i = 0; r == 0 && i < ROWS(rows); i++)
		r = round_add_pair(l, words, rows[i].option, rows[i].value);
	for (size_t i = 0; r == 0 && i < l->with.n; i++)
		r = round_add_pair(l, words, "--with", l->with.items[i]);
	if (r == 0)
		r = round_add(l, words, "--");
	for (size_t i = 0; r == 0 && i < l->call->n; i++)
		r = round_add(l, words, l->call->words[i]);
	return r;
}

/* What the child was given. */
struct round {
	struct options_list words;
	int policy, report;
	struct learn_apart apart;
};

/* That writes cannot be kept apart here is no reason to write into the project unasked. */
static void round_refuse(int why)
{
	auto_output o = output_for(STDERR_FILENO);

	output_note(&o);
	buffer_printf(&o.text,
		"cannot keep what the command writes apart from the project (an overlay: %s): "
		"--in-place lets it write there\n",
		strerror(-why));
	(void)output_write(&o, STDERR_FILENO, NULL);
	_exit(RUN_FAILED);
}

/* In the child. Never returns. */
static void round_run(struct learn *l, struct round *round, pid_t parent)
{
	struct error error = { 0 };
	struct call c = *l->call;
	auto_fd null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(RUN_FAILED);
	if (!l->in_place) {
		int r = learn_apart_enter(&round->apart, l->place.work);

		if (r < 0)
			round_refuse(r);
	}
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGQUIT, SIG_DFL);
	/* As if a shell had passed it; it is closed when it was read. */
	if (fcntl(round->policy, F_SETFD, 0) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0 ||
		(!isatty(STDIN_FILENO) && dup2(null, STDIN_FILENO) < 0))
		_exit(RUN_FAILED);
	c.verb = &verb_run;
	c.name = "corral run";
	c.words = (char **)round->words.items;
	c.n = round->words.n;
	c.error = &error;
	c.json = NULL;
	_exit(run_main_round(&c, round->report, learn_name(l)));
}

/* The terminal's signals are for the command; the one that asked for it all waits. */
static int round_wait(pid_t child, int *ret_status)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, was_int, was_quit;
	int r;

	(void)sigaction(SIGINT, &ignore, &was_int);
	(void)sigaction(SIGQUIT, &ignore, &was_quit);
	do
		r = waitpid(child, ret_status, 0);
	while (r < 0 && errno == EINTR);
	(void)sigaction(SIGINT, &was_int, NULL);
	(void)sigaction(SIGQUIT, &was_quit, NULL);
	return r < 0 ? -errno : 0;
}

static int round_file(const char *name, const struct buffer *text, int *ret)
{
	auto_fd fd = memfd_create(name, MFD_CLOEXEC);
	int r = fd < 0 ? -errno : 0;

	if (r == 0 && text)
		r = file_write_all(fd, buffer_text(text), text->len);
	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	if (r == 0)
		*ret = fd_take(&fd);
	return r;
}

static int round_prepare(struct learn *l, bool is_watched, struct round *round)
{
	int r = round_file("policy", &l->text, &round->policy);

	if (r == 0)
		r = round_file("report", NULL, &round->report);
	if (r == 0)
		r = round_words(l, is_watched, round->policy, &round->words);
	if (r == 0 && !l->in_place)
		r = learn_apart_new(&round->apart);
	return r < 0 ? error_set(l->call->error, r, NULL, "cannot prepare a run: %s", strerror(-r))
		     : 0;
}

static void round_deinit(struct round *round)
{
	learn_apart_free(&round->apart);
	fd_close(&round->policy);
	fd_close(&round->report);
}

static int round_judge(struct learn *l, int status, const struct explain_report *report)
{
	l->last_status = report->status;
	if (report->status == RUN_SIGNALLED + SIGINT || WIFSIGNALED(status))
		return error_set(l->call->error, -EINTR, NULL, "interrupted: nothing was written");
	if (report->status == RUN_FAILED)
		return error_set(l->call->error, -EIO, NULL,
			"Corral could not run the command: its message is above");
	return 0;
}

int learn_round(struct learn *l, bool is_watched, struct explain_report *ret)
{
	__attribute__((cleanup(round_deinit))) struct round round = { .policy = -1, .report = -1 };
	const pid_t self = getpid();
	int status = 0, r = round_prepare(l, is_watched, &round);
	pid_t child;

	if (r < 0)
		return r;
	l->n_runs++;
	child = starting_copy(0, NULL);
	if (child == 0)
		round_run(l, &round, self);
	r = child < 0 ? (int)child : round_wait(child, &status);
	if (r < 0)
		return error_set(l->call->error, r, NULL, "cannot run: %s", strerror(-r));
	r = explain_report_read(ret, l->call->arena, round.report, l->call->error);
	if (r == -ENODATA && WIFEXITED(status) && WEXITSTATUS(status) == RUN_FAILED)
		return error_set(l->call->error, r, NULL,
			"Corral could not run the command: its message is above");
	return r < 0 ? r : round_judge(l, status, ret);
}
