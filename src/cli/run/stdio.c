/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/run/internal.h"

/* One direction */

void stdio_copy_close(struct stdio_copy *r)
{
	if (r->close_from && r->from >= 0)
		(void)close(r->from);
	if (r->close_to && r->to >= 0)
		(void)close(r->to);
	r->from = r->to = -1;
	r->is_done = true;
}

bool stdio_copy_poll(struct stdio_copy *r, struct pollfd *p)
{
	if (r->is_done)
		return false;
	if (r->at < r->len)
		*p = (struct pollfd){ .fd = r->to, .events = POLLOUT };
	else if (r->is_paused)
		return false;
	else
		*p = (struct pollfd){ .fd = r->from, .events = POLLIN };
	return true;
}

/* What may pass of n bytes; the rest is dropped. */
static size_t stdio_copy_spend(struct stdio_budget *b, size_t n)
{
	size_t fits = !b || n <= b->left ? n : (size_t)b->left;

	if (b) {
		b->left -= fits;
		b->dropped += n - fits;
	}
	return fits;
}

static void stdio_copy_take_in(struct stdio_copy *r)
{
	ssize_t n;

	/* Somebody may have taken it since. */
	if (r->is_keyboard && !terminal_is_ours(r->from))
		return;
	n = read(r->from, r->bytes, sizeof(r->bytes));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	/* EIO: nobody holds the other side of a terminal any more. */
	if (n <= 0) {
		stdio_copy_close(r);
		return;
	}
	r->at = 0;
	r->len = stdio_copy_spend(r->budget, (size_t)n);
	if (r->kept) {
		buffer_add(r->kept, r->bytes, r->len);
		r->len = 0;
	}
}

static void stdio_copy_give_out(struct stdio_copy *r)
{
	size_t left = r->len - r->at;
	ssize_t n = write(r->to, r->bytes + r->at, left < PIPE_BUF ? left : PIPE_BUF);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0)
		stdio_copy_close(r); /* the writer will hear of it as we did */
	else
		r->at += (size_t)n;
}

void stdio_copy_run(struct stdio_copy *r, const struct pollfd *p)
{
	if (r->is_done || !p->revents)
		return;
	if (p->events & POLLOUT)
		stdio_copy_give_out(r);
	else
		stdio_copy_take_in(r);
}

/* All three */

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
static int run_stdio_check_own(struct run *r, struct run_stdio *s, int fd)
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

static struct stdio_copy *run_stdio_add_copy(struct run_stdio *s, int from, int to)
{
	struct stdio_copy *copy = &s->copies[s->n_copies++];

	copy->from = from;
	copy->to = to;
	copy->is_done = false;
	return copy;
}

/* The terminal's keyboard by a pipe. */
static int run_stdio_pipe_in(struct run_stdio *s)
{
	struct stdio_copy *copy;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	/* Our end alone: what is typed ahead must not stop the rest. */
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	copy = run_stdio_add_copy(s, STDIN_FILENO, ends[1]);
	copy->close_to = true;
	copy->is_keyboard = true;
	s->n_input = s->n_copies;
	s->fds[0] = ends[0];
	s->owned[0] = true;
	return 0;
}

static int run_stdio_pipe_out(struct run_stdio *s, int fd, bool keep)
{
	struct stdio_copy *copy;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	copy = run_stdio_add_copy(s, ends[0], keep ? -1 : fd);
	copy->close_from = true;
	copy->kept = keep ? &s->kept[fd - 1] : NULL;
	copy->budget = &s->budget;
	s->fds[fd] = ends[1];
	s->owned[fd] = true;
	return 0;
}

/* One terminal for both, so that what is written to one and the other keeps its order. */
static int run_stdio_terminal_out(struct run_stdio *s, int fd)
{
	struct stdio_copy *copy;
	int slave, r;

	if (s->master >= 0) {
		s->fds[fd] = fcntl(s->fds[1], F_DUPFD_CLOEXEC, 3);
		s->owned[fd] = true;
		return s->fds[fd] < 0 ? -errno : 0;
	}
	r = terminal_pair(fd, &s->master, &slave);
	if (r < 0)
		return run_stdio_pipe_out(
			s, fd, false); /* there are no terminals here, as it seems */
	copy = run_stdio_add_copy(s, s->master, fd);
	copy->close_from = true;
	copy->budget = &s->budget;
	s->terminal = fd;
	s->fds[fd] = slave;
	s->owned[fd] = true;
	return 0;
}

static int run_stdio_open_one(struct run_stdio *s, struct run *r, int fd, bool bounded)
{
	int ret = run_stdio_check_own(r, s, fd);

	if (ret < 0)
		return ret;
	if (fd == 0)
		return isatty(fd) ? run_stdio_pipe_in(s) : 0;
	if (r->options.json)
		return run_stdio_pipe_out(s, fd, true);
	if (isatty(fd))
		return run_stdio_terminal_out(s, fd);
	return bounded ? run_stdio_pipe_out(s, fd, false) : 0;
}

int run_stdio_open(struct run_stdio *s, struct run *r)
{
	uint64_t bound = r->limits.values[LIMIT_OUTPUT];
	int ret = 0;

	s->terminal = s->master = -1;
	s->budget = (struct stdio_budget){ .left = bound };
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
		ret = run_stdio_open_one(s, r, fd, bound != LIMIT_NONE);
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

	if (s->is_terminal && s->n_input && !s->raw.is_raw && !s->copies[0].is_done &&
		terminal_is_foreground(s->terminal))
		(void)terminal_raw(&s->raw, s->terminal);
	for (size_t i = 0; i < s->n_input; i++) {
		struct stdio_copy *copy = &s->copies[i];

		copy->is_paused =
			copy->is_keyboard ? !terminal_is_ours(copy->from) : !s->raw.is_raw;
		again = again || (copy->is_paused && !copy->is_done);
	}
	return again;
}

void run_stdio_begin(struct run_stdio *s, int master)
{
	struct stdio_copy *out;

	if (!s->is_terminal || master < 0)
		return;
	s->master = master;
	/* A program that does not read while much is pasted must not stop its own output. */
	(void)fcntl(master, F_SETFL, O_NONBLOCK);
	(void)run_stdio_add_copy(s, STDIN_FILENO, master);
	s->n_input = s->n_copies;
	out = run_stdio_add_copy(s, master, STDOUT_FILENO);
	out->close_from = true;
	out->budget = &s->budget;
	terminal_copy_size(s->terminal, master);
	(void)run_stdio_refresh(s);
}

void run_stdio_hang_up(struct run_stdio *s)
{
	if (!s->is_terminal || s->n_copies < 2 || !s->copies[0].is_done)
		return;
	stdio_copy_close(&s->copies[1]);
	s->master = -1;
}

bool run_stdio_is_done(const struct run_stdio *s)
{
	for (size_t i = s->n_input; i < s->n_copies; i++) {
		if (!s->copies[i].is_done)
			return false;
	}
	return true;
}

void run_stdio_close(struct run_stdio *s)
{
	terminal_restore(&s->raw);
	run_stdio_given(s);
	for (size_t i = 0; i < s->n_copies; i++)
		stdio_copy_close(&s->copies[i]);
	for (int i = 0; i < 2; i++)
		buffer_deinit(&s->kept[i]);
}
