/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

/* For the next answer of a terminal, and for all of them. */
enum { ANSWER_MS = 1000, ANSWERS_MS = 5000 };

int terminal_raw(struct terminal *t, int fd)
{
	struct termios raw;

	if (t->is_raw)
		return 0;
	if (tcgetattr(fd, &t->before) < 0)
		return -errno;
	raw = t->before;
	cfmakeraw(&raw);
	if (tcsetattr(fd, TCSADRAIN, &raw) < 0)
		return -errno;
	t->fd = fd;
	t->is_raw = true;
	return 0;
}

void terminal_restore(struct terminal *t)
{
	sigset_t output, before;

	if (!t->is_raw)
		return;
	/* Also from the background, where it would stop us. */
	(void)sigemptyset(&output);
	(void)sigaddset(&output, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &output, &before);
	(void)tcsetattr(t->fd, TCSADRAIN, &t->before);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	t->is_raw = false;
}

size_t terminal_write(int fd, const char *text, size_t n)
{
	sigset_t output, before;
	size_t at = 0;

	(void)sigemptyset(&output);
	(void)sigaddset(&output, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &output, &before);
	while (at < n) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		ssize_t done = -1;

		if (poll(&p, 1, ANSWER_MS) > 0)
			done = write(fd, text + at, n - at < PIPE_BUF ? n - at : PIPE_BUF);
		if (done <= 0)
			break;
		at += (size_t)done;
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return at;
}

/* ESC [ ? digits and semicolons c */
void terminal_answers_count(struct terminal_answers *a, const char *typed, size_t n)
{
	enum { START, AFTER_ESC, AFTER_BRACKET, IN_PARAMS };

	for (size_t i = 0; i < n; i++) {
		char c = typed[i];

		if (c == 0x1b) {
			a->state = AFTER_ESC;
		} else if (a->state == AFTER_ESC && c == '[') {
			a->state = AFTER_BRACKET;
		} else if (a->state == AFTER_BRACKET && c == '?') {
			a->state = IN_PARAMS;
		} else if (a->state != IN_PARAMS || ((c < '0' || c > '9') && c != ';')) {
			a->seen += a->state == IN_PARAMS && c == 'c';
			a->state = START;
		}
	}
}

void terminal_take_answers(int in, int out, struct terminal_answers *a)
{
	uint64_t end = clock_ms(CLOCK_MONOTONIC) + ANSWERS_MS;
	struct pollfd p = { .fd = in, .events = POLLIN };
	char typed[4096];

	(void)terminal_write(out, "\x1b[c", 3);
	while (a->seen <= a->wanted && clock_ms(CLOCK_MONOTONIC) < end &&
		poll(&p, 1, ANSWER_MS) > 0) {
		ssize_t n = read(in, typed, sizeof(typed));

		if (n <= 0)
			break;
		terminal_answers_count(a, typed, (size_t)n);
	}
	(void)tcflush(in, TCIFLUSH);
	*a = (struct terminal_answers){ 0 };
}

void terminal_copy_size(int from, int to)
{
	struct winsize size;

	if (ioctl(from, TIOCGWINSZ, &size) == 0)
		(void)ioctl(to, TIOCSWINSZ, &size);
}

void terminal_size(int fd, unsigned short *ret_rows, unsigned short *ret_columns)
{
	struct winsize size = { 0 };

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	*ret_rows = size.ws_row;
	*ret_columns = size.ws_col;
}

int terminal_pair(int like, int *ret_master, int *ret_slave)
{
	auto_fd master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	auto_fd slave = -1;
	struct termios plain;
	int unlock = 0;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	/* By descriptor, not by name: another /dev/pts would not do. */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || tcgetattr(slave, &plain) < 0)
		return -errno;
	/* The user's own terminal does what is to be done with lines. */
	plain.c_oflag &= ~(tcflag_t)OPOST;
	plain.c_lflag &= ~(tcflag_t)ECHO;
	if (tcsetattr(slave, TCSANOW, &plain) < 0)
		return -errno;
	terminal_copy_size(like, slave);
	*ret_master = fd_take(&master);
	*ret_slave = fd_take(&slave);
	return 0;
}

bool terminal_is_foreground(int fd)
{
	return tcgetpgrp(fd) == getpgrp();
}

bool terminal_is_taken(int fd)
{
	pid_t group = tcgetpgrp(fd);

	return group > 0 && group != getpgrp();
}

bool terminal_is_ours(int fd)
{
	struct termios now;

	return terminal_is_foreground(fd) && tcgetattr(fd, &now) == 0 && (now.c_lflag & ICANON);
}
