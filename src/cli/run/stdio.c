/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

/* What --json keeps where nothing else is said. */
enum { KEPT_MAX = 16 << 20 };

static const char *const names[] = { "standard input", "standard output", "standard error" };

void run_stdio_reserve(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", O_RDWR | O_NOCTTY);
	}
}

/* A folder would be a way to walk the host's tree. */
static int check_own(struct run *r, struct run_stdio *s, int fd)
{
	struct stat st;

	s->fds[fd] = fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return 0;
	return error_set(r->call->error, -EISDIR, NULL,
		"%s is a folder, through which the command could reach others", names[fd]);
}

static struct relay *add_relay(struct run_stdio *s, int from, int to)
{
	struct relay *relay = &s->relays[s->n_relays++];

	relay->from = from;
	relay->to = to;
	relay->is_done = false;
	return relay;
}

/* The terminal's keyboard by a pipe. */
static int pipe_in(struct run_stdio *s)
{
	struct relay *relay;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	/* Our end alone: what is typed ahead must not stop the rest. */
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	relay = add_relay(s, STDIN_FILENO, ends[1]);
	relay->close_to = true;
	relay->is_keyboard = true;
	s->n_input = s->n_relays;
	s->fds[0] = ends[0];
	s->owned[0] = true;
	return 0;
}

static int pipe_out(struct run_stdio *s, int fd, bool keep)
{
	struct relay *relay;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	relay = add_relay(s, ends[0], keep ? -1 : fd);
	relay->close_from = true;
	relay->kept = keep ? &s->kept[fd - 1] : NULL;
	relay->budget = &s->budget;
	s->fds[fd] = ends[1];
	s->owned[fd] = true;
	return 0;
}

/* One terminal for both, so that what is written to one and the other keeps its order. */
static int terminal_out(struct run_stdio *s, int fd)
{
	struct relay *relay;
	int slave, r;

	if (s->master >= 0) {
		s->fds[fd] = fcntl(s->fds[1], F_DUPFD_CLOEXEC, 3);
		s->owned[fd] = true;
		return s->fds[fd] < 0 ? -errno : 0;
	}
	r = terminal_pair(fd, &s->master, &slave);
	if (r < 0)
		return pipe_out(s, fd, false); /* there are no terminals here, as it seems */
	relay = add_relay(s, s->master, fd);
	relay->close_from = true;
	relay->budget = &s->budget;
	s->terminal = fd;
	s->fds[fd] = slave;
	s->owned[fd] = true;
	return 0;
}

static int open_one(struct run_stdio *s, struct run *r, int fd, bool bounded)
{
	int ret = check_own(r, s, fd);

	if (ret < 0)
		return ret;
	if (fd == 0)
		return isatty(fd) ? pipe_in(s) : 0;
	if (r->options.json)
		return pipe_out(s, fd, true);
	if (isatty(fd))
		return terminal_out(s, fd);
	return bounded ? pipe_out(s, fd, false) : 0;
}

int run_stdio_open(struct run_stdio *s, struct run *r)
{
	uint64_t bound = r->limits.values[LIMIT_OUTPUT];
	int ret = 0;

	s->terminal = s->master = -1;
	s->budget = (struct relay_budget){ .left = bound };
	for (int i = 0; i < 3; i++)
		s->fds[i] = -1;
	if (r->options.json && bound == LIMIT_NONE)
		s->budget.left = KEPT_MAX;
	if (!r->options.json && isatty(0) && isatty(1) && isatty(2)) {
		s->is_terminal = true;
		s->terminal = STDIN_FILENO;
		return 0;
	}
	for (int fd = 0; ret == 0 && fd < 3; fd++)
		ret = open_one(s, r, fd, bound != LIMIT_NONE);
	if (ret < 0 && !r->call->error->text[0])
		return error_set(r->call->error, ret, NULL,
			"standard input and output cannot be set up: %s", strerror(-ret));
	return ret;
}

void run_stdio_given(struct run_stdio *s)
{
	for (int i = 0; i < 3; i++) {
		if (s->owned[i])
			(void)close(s->fds[i]);
		s->owned[i] = false;
	}
}

bool run_stdio_refresh(struct run_stdio *s)
{
	bool again = false;

	if (s->is_terminal && s->n_input && !s->raw.is_raw && !s->relays[0].is_done &&
		terminal_is_foreground(s->terminal))
		(void)terminal_raw(&s->raw, s->terminal);
	for (size_t i = 0; i < s->n_input; i++) {
		struct relay *relay = &s->relays[i];

		relay->is_paused =
			relay->is_keyboard ? !terminal_is_ours(relay->from) : !s->raw.is_raw;
		again = again || (relay->is_paused && !relay->is_done);
	}
	return again;
}

void run_stdio_begin(struct run_stdio *s, int master)
{
	struct relay *out;

	if (!s->is_terminal || master < 0)
		return;
	s->master = master;
	/* A program that does not read while much is pasted must not stop its own output. */
	(void)fcntl(master, F_SETFL, O_NONBLOCK);
	(void)add_relay(s, STDIN_FILENO, master);
	s->n_input = s->n_relays;
	out = add_relay(s, master, STDOUT_FILENO);
	out->close_from = true;
	out->budget = &s->budget;
	terminal_copy_size(s->terminal, master);
	(void)run_stdio_refresh(s);
}

void run_stdio_hang_up(struct run_stdio *s)
{
	if (!s->is_terminal || s->n_relays < 2 || !s->relays[0].is_done)
		return;
	relay_close(&s->relays[1]);
	s->master = -1;
}

bool run_stdio_is_done(const struct run_stdio *s)
{
	for (size_t i = s->n_input; i < s->n_relays; i++) {
		if (!s->relays[i].is_done)
			return false;
	}
	return true;
}

void run_stdio_close(struct run_stdio *s)
{
	terminal_restore(&s->raw);
	run_stdio_given(s);
	for (size_t i = 0; i < s->n_relays; i++)
		relay_close(&s->relays[i]);
	for (int i = 0; i < 2; i++)
		buffer_deinit(&s->kept[i]);
}
