/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/run/internal.h"

/* One direction */

enum { FILTERED = 24 << 10 };
_Static_assert(2 * FILTERED + TERMINAL_FILTER_HELD <= sizeof(((struct stdio_copy *)0)->bytes),
	"what is filtered has room");

void stdio_copy_close(struct stdio_copy *r)
{
	if (r->close_from)
		fd_close(&r->from);
	if (r->close_to)
		fd_close(&r->to);
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

static void stdio_copy_take_in(struct stdio_copy *r)
{
	/* What is filtered may become longer. */
	char raw[FILTERED];
	ssize_t n;

	/* Another process may have taken it since. */
	if (r->is_keyboard && !terminal_is_ours(r->from))
		return;
	n = r->filter ? read(r->from, raw, sizeof(raw)) : read(r->from, r->bytes, sizeof(r->bytes));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	/* EIO: the other side of a terminal is closed. */
	if (n <= 0) {
		stdio_copy_close(r);
		return;
	}
	r->at = 0;
	r->len = (size_t)n;
	if (r->budget) {
		if (r->len > r->budget->left)
			r->len = (size_t)r->budget->left;
		r->budget->left -= r->len;
		r->budget->dropped += (size_t)n - r->len;
	}
	if (r->filter)
		r->len = terminal_filter_run(r->filter, raw, r->len, r->bytes);
	if (r->answers)
		terminal_answers_count(r->answers, r->bytes, r->len);
	if (r->kept) {
		buffer_add(r->kept, r->bytes, r->len);
		r->len = 0;
	}
}

void stdio_copy_run(struct stdio_copy *r, const struct pollfd *p)
{
	size_t left = r->len - r->at;
	ssize_t n;

	if (r->is_done || !p->revents)
		return;
	if (!(p->events & POLLOUT)) {
		stdio_copy_take_in(r);
		return;
	}
	n = write(r->to, r->bytes + r->at, left < PIPE_BUF ? left : PIPE_BUF);
	if (n >= 0)
		r->at += (size_t)n;
	else if (errno != EINTR && errno != EAGAIN)
		stdio_copy_close(r); /* the writer will hear of it as we did */
}

/* All three */

/* What --json keeps where nothing else is said. */
enum { KEPT_MAX = 16 << 20 };

void run_stdio_reserve(void)
{
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			(void)open("/dev/null", O_RDWR | O_NOCTTY);
	}
}

static struct stdio_copy *run_stdio_add_copy(struct run_stdio *s, int from, int to)
{
	struct stdio_copy *copy = &s->copies[s->n_copies++];

	copy->from = from;
	copy->to = to;
	return copy;
}

static struct stdio_copy *run_stdio_add_output(struct run_stdio *s, int from, int to)
{
	struct stdio_copy *copy = run_stdio_add_copy(s, from, to);

	copy->close_from = true;
	copy->budget = &s->budget;
	return copy;
}

/* A pipe in place of fd: the command has one end of it, and the other is copied. */
static int run_stdio_pipe(struct run_stdio *s, int fd, bool keep)
{
	struct stdio_copy *copy;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	s->fds[fd] = ends[fd == STDIN_FILENO ? 0 : 1];
	s->owned[fd] = true;
	if (fd == STDIN_FILENO) {
		/* Our end alone: what is typed ahead must not stop the rest. */
		(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
		copy = run_stdio_add_copy(s, fd, ends[1]);
		copy->close_to = copy->is_keyboard = true;
		s->n_input = s->n_copies;
	} else {
		copy = run_stdio_add_output(s, ends[0], keep ? -1 : fd);
		copy->kept = keep ? &s->kept[fd - 1] : NULL;
	}
	return 0;
}

/* One terminal for both, so that what is written to one and the other keeps its order. */
static int run_stdio_terminal_out(struct run_stdio *s, int fd)
{
	if (s->master >= 0) {
		s->fds[fd] = fcntl(s->fds[1], F_DUPFD_CLOEXEC, 3);
		s->owned[fd] = true;
		return s->fds[fd] < 0 ? -errno : 0;
	}
	/* Without any terminals here, as it seems: a pipe. */
	if (terminal_pair(fd, &s->master, &s->fds[fd]) < 0) {
		int r = run_stdio_pipe(s, fd, false);

		if (r == 0)
			s->copies[s->n_copies - 1].filter = &s->filters[fd - 1];
		return r;
	}
	run_stdio_add_output(s, s->master, fd)->filter = &s->filters[fd - 1];
	s->terminal = fd;
	s->owned[fd] = true;
	return 0;
}

static int run_stdio_open_one(struct run_stdio *s, struct run *r, int fd, bool bounded)
{
	static const char *const names[] = { "input", "output", "error" };
	struct stat st;

	s->fds[fd] = fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	/* It would be a way to walk the host's tree. */
	if (S_ISDIR(st.st_mode))
		return error_set(r->call->error, -EISDIR, NULL,
			"standard %s is a folder, through which the command could reach other "
			"files",
			names[fd]);
	if (fd == STDIN_FILENO)
		return isatty(fd) ? run_stdio_pipe(s, fd, false) : 0;
	if (!r->options.json && isatty(fd))
		return run_stdio_terminal_out(s, fd);
	return r->options.json || bounded ? run_stdio_pipe(s, fd, r->options.json) : 0;
}

static void run_stdio_set_rights(struct run_stdio *s, const struct run *r)
{
	struct request asked = { .op = OPERATION_SERVICE };
	struct terminal_rights rights = { 0 };
	const struct {
		const char *name;
		bool *ret;
	} services[] = {
		{ "clipboard.read", &rights.clipboard_read },
		{ "clipboard.write", &rights.clipboard_write },
		{ "notifications.send", &rights.notifications },
	};

	for (size_t i = 0; i < ROWS(services); i++) {
		asked.target = services[i].name;
		*services[i].ret = policy_allows(r->policy, &asked);
	}
	for (size_t i = 0; i < ROWS(s->filters); i++)
		s->filters[i].rights = rights;
}

bool run_stdio_is_interactive(const struct run *r)
{
	return !r->options.json && isatty(0) && isatty(1) && isatty(2);
}

int run_stdio_open(struct run_stdio *s, struct run *r)
{
	uint64_t bound = r->limits.values[LIMIT_OUTPUT];
	int ret = 0;

	s->terminal = s->master = -1;
	s->budget = (struct stdio_budget){ .left = bound };
	run_stdio_set_rights(s, r);
	for (int i = 0; i < 3; i++)
		s->fds[i] = -1;
	if (r->options.json && bound == LIMIT_NONE)
		s->budget.left = KEPT_MAX;
	if (run_stdio_is_interactive(r)) {
		s->is_terminal = true;
		s->terminal = STDIN_FILENO;
		return 0;
	}
	for (int fd = 0; ret == 0 && fd < 3; fd++)
		ret = run_stdio_open_one(s, r, fd, bound != LIMIT_NONE);
	if (ret < 0 && !r->call->error->text[0])
		return error_set(r->call->error, ret, NULL,
			"cannot set up standard input and output: %s", strerror(-ret));
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

static int run_stdio_filter_fd(const struct run_stdio *s, const struct stdio_copy *copy)
{
	return copy->filter == &s->filters[0] ? STDOUT_FILENO : STDERR_FILENO;
}

/* What was undone for a stop. */
static void run_stdio_resume(struct run_stdio *s)
{
	char text[TERMINAL_FILTER_END];

	s->is_stopped = false;
	for (size_t i = s->n_input; i < s->n_copies; i++) {
		struct stdio_copy *copy = &s->copies[i];

		if (copy->filter)
			(void)terminal_write(run_stdio_filter_fd(s, copy), text,
				terminal_filter_resume(copy->filter, text));
	}
}

bool run_stdio_refresh(struct run_stdio *s)
{
	bool again = false;

	/* Whoever has taken the terminal has set its mode, too. */
	if (s->raw.is_raw && terminal_is_taken(s->terminal))
		s->raw.is_raw = false;
	if (s->is_terminal && s->n_input && !s->raw.is_raw && !s->copies[0].is_done &&
		terminal_is_foreground(s->terminal))
		(void)terminal_raw(&s->raw, s->terminal);
	if (s->is_stopped && (s->terminal < 0 || terminal_is_foreground(s->terminal)))
		run_stdio_resume(s);
	/* What the command asks its terminal it is answered, if nobody else would read the answer.
	 */
	s->filters[0].rights.questions = s->is_terminal && s->raw.is_raw;
	for (size_t i = 0; i < s->n_input; i++) {
		struct stdio_copy *copy = &s->copies[i];

		copy->is_paused = copy->is_keyboard ? !terminal_is_ours(copy->from)
						    : !s->raw.is_raw || s->is_held;
		again = again || (copy->is_paused && !copy->is_done);
	}
	return again || s->is_stopped;
}

void run_stdio_begin(struct run_stdio *s, int master)
{
	if (!s->is_terminal || master < 0)
		return;
	s->master = master;
	/* A program that does not read while much is pasted must not stop its own output. */
	(void)fcntl(master, F_SETFL, O_NONBLOCK);
	run_stdio_add_copy(s, STDIN_FILENO, master)->answers = &s->answers;
	s->n_input = s->n_copies;
	run_stdio_add_output(s, master, STDOUT_FILENO)->filter = &s->filters[0];
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

static void run_stdio_undo(
	struct run_stdio *s, size_t (*undo)(struct terminal_filter *, char[TERMINAL_FILTER_END]))
{
	/* Ends any sequence. */
	static const char cut[] = "\x18\x1b\\";
	char text[TERMINAL_FILTER_END];

	for (size_t i = s->n_input; i < s->n_copies; i++) {
		struct stdio_copy *copy = &s->copies[i];
		int fd = run_stdio_filter_fd(s, copy);

		if (!copy->filter)
			continue;
		/* Not all that it let pass was written. */
		if (copy->at < copy->len)
			(void)terminal_write(fd, cut, sizeof(cut) - 1);
		(void)terminal_write(fd, text, undo(copy->filter, text));
	}
	s->answers.wanted = s->filters[0].n_identities;
	if (s->is_terminal && s->raw.is_raw && s->filters[0].has_asked)
		terminal_take_answers(s->terminal, STDOUT_FILENO, &s->answers);
	s->filters[0].n_identities = 0;
	s->filters[0].has_asked = false;
}

bool run_stdio_is_drawn(const struct run_stdio *s)
{
	struct termios mode;

	return s->is_terminal &&
	       (s->master < 0 || tcgetattr(s->master, &mode) < 0 || !(mode.c_lflag & ICANON));
}

void run_stdio_say(const struct run_stdio *s, const char *text)
{
	auto_buffer lines = { 0 };

	/* A raw terminal does not go back to the start of the line by itself. */
	for (const char *p = text; s->raw.is_raw && *p; p++) {
		if (*p == '\n' || p == text)
			buffer_addc(&lines, '\r');
		buffer_addc(&lines, *p);
	}
	if (s->raw.is_raw)
		text = buffer_text(&lines);
	(void)terminal_write(STDERR_FILENO, text, strlen(text));
}

void run_stdio_settle(struct run_stdio *s)
{
	run_stdio_undo(s, terminal_filter_end);
}

/* Writes what the filters let pass, and undoes what it did. It may have questions in it, which must
 * not be asked later, from the background. */
static void run_stdio_pause(struct run_stdio *s)
{
	for (size_t i = s->n_input; i < s->n_copies; i++) {
		struct stdio_copy *copy = &s->copies[i];

		if (copy->filter && copy->at < copy->len)
			copy->at += terminal_write(run_stdio_filter_fd(s, copy),
				copy->bytes + copy->at, copy->len - copy->at);
	}
	run_stdio_undo(s, terminal_filter_pause);
}

static void run_stdio_set_held(struct run_stdio *s, bool is_held)
{
	s->is_held = is_held;
	for (size_t i = s->n_input; i < s->n_copies; i++)
		s->copies[i].is_paused = is_held;
}

void run_stdio_stop(struct run_stdio *s)
{
	run_stdio_set_held(s, false);
	run_stdio_pause(s);
	terminal_restore(&s->raw);
	s->is_stopped = true;
}

void run_stdio_hold(struct run_stdio *s)
{
	run_stdio_pause(s);
	run_stdio_set_held(s, true);
}

void run_stdio_release(struct run_stdio *s)
{
	struct winsize size;

	if (!s->is_held)
		return;
	run_stdio_set_held(s, false);
	run_stdio_resume(s);
	/* Who draws its own screen draws it again when its size changes, and only then. */
	if (run_stdio_is_drawn(s) && s->master >= 0 && ioctl(s->master, TIOCGWINSZ, &size) == 0 &&
		size.ws_row > 1) {
		size.ws_row--;
		(void)ioctl(s->master, TIOCSWINSZ, &size);
		size.ws_row++;
		(void)ioctl(s->master, TIOCSWINSZ, &size);
	}
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
