// SPDX-License-Identifier: Apache-2.0
/*
 * The caller's terminal: typing into it for the person who comes back to it, opening it by other
 * names, taking it over, acting on its host by what is printed. In the set `tty` it is also stdin,
 * stdout and stderr; in `tty-hidden` it is only the controlling terminal of whoever starts corral;
 * in `tty-stdin` it is stdin alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attempt.h"

static int inject(const struct attempt *a)
{
	(void)a;
	return verdict(ioctl(0, TIOCSTI, "x"));
}

/* The kernel looks at the low 32 bits only; a filter that compares all 64 does not see it. */
static int inject_high(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(SYS_ioctl, 0, 0xdeadbeef00000000UL | TIOCSTI, "x"));
}

static int console_paste(const struct attempt *a)
{
	char code[2] = { 3 /* paste selection */, 0 };

	(void)a;
	return permitted(ioctl(0, TIOCLINUX, code), ENOTTY);
}

static int console_high(const struct attempt *a)
{
	char code[2] = { 3, 0 };

	(void)a;
	return permitted(syscall(SYS_ioctl, 0, 0xffffffff00000000UL | TIOCLINUX, code), ENOTTY);
}

static int open_dev_tty(const struct attempt *a)
{
	(void)a;
	return verdict(open("/dev/tty", O_RDWR));
}

static int open_pts(const struct attempt *a)
{
	struct stat st;
	int fd = open(scene("pts"), O_RDWR | O_NOCTTY);

	(void)a;
	if (fd < 0)
		return verdict(-1);
	fstat(fd, &st);
	note("device %lu, the host's is %s", (unsigned long)st.st_dev, scene("pts-dev"));
	return st.st_dev == (dev_t)scene_number("pts-dev") ? ESCAPED : HELD;
}

static int is_stdin(const struct attempt *a)
{
	struct stat st;

	(void)a;
	if (fstat(0, &st) < 0)
		return verdict(-1);
	note("device %lu, the host's is %s", (unsigned long)st.st_dev, scene("pts-dev"));
	return st.st_dev == (dev_t)scene_number("pts-dev") ? ESCAPED : HELD;
}

static int steal(void *pts)
{
	int fd;

	setsid();
	fd = open(pts, O_RDWR | O_NOCTTY);
	return fd >= 0 && ioctl(fd, TIOCSCTTY, 1) == 0 ? RAN : 0;
}

static int take_over(const struct attempt *a)
{
	int r = in_child(steal, (void *)scene("pts"));

	(void)a;
	note("exit %d", r);
	return r == RAN ? ESCAPED : HELD;
}

static int steal_stdin(void *arg)
{
	(void)arg;
	setsid();
	return ioctl(0, TIOCSCTTY, 1) == 0 ? RAN : 0;
}

static int take_stdin(const struct attempt *a)
{
	int r = in_child(steal_stdin, NULL);

	(void)a;
	note("exit %d", r);
	return r == RAN ? ESCAPED : HELD;
}

/* Reopened, the descriptor could be written although it was given for reading. */
static int reopen_stdin(const struct attempt *a)
{
	int fd = open("/proc/self/fd/0", O_RDWR | O_NOCTTY);

	(void)a;
	if (fd < 0)
		return verdict(-1);
	note("%s", isatty(fd) ? "a terminal" : "no terminal");
	return isatty(fd) ? ESCAPED : HELD;
}

static int list_pts(const struct attempt *a)
{
	struct stat st;

	(void)a;
	if (stat("/dev/pts", &st) < 0)
		return verdict(-1);
	note("device %lu, the host's is %s", (unsigned long)st.st_dev, scene("pts-dev"));
	return st.st_dev == (dev_t)scene_number("pts-dev") ? ESCAPED : HELD;
}

/* Sequences by which a terminal acts on its host; the runner looks for what reached it. */
static int print_sequence(const struct attempt *a)
{
	const char *text = a->arg;

	return claim(write(1, text, strlen(text)));
}

static const struct attempt table[] = {
	{ "tty-inject", "tty", "SYS_ADMIN", "TIOCSTI types for the person at the terminal", inject,
		NULL },
	{ "tty-inject-high", "tty", "SYS_ADMIN", "the same with bits set that the kernel ignores",
		inject_high, NULL },
	{ "tty-paste", "tty", "", "TIOCLINUX pastes into a console", console_paste, NULL },
	{ "tty-paste-high", "tty", "", "the same with bits set that the kernel ignores",
		console_high, NULL },
	{ "tty-same", "tty", "", "the command has the caller's own terminal", is_stdin, NULL },
	{ "tty-pts", "tty-hidden", "", "the caller's terminal can be opened by its name", open_pts,
		NULL },
	{ "tty-pts-folder", "tty-hidden", "", "the terminals of the host are there", list_pts,
		NULL },
	{ "tty-dev-tty", "tty-hidden", "", "/dev/tty is the caller's terminal", open_dev_tty,
		NULL },
	{ "tty-take", "tty-hidden", "SYS_ADMIN", "the caller's terminal becomes our own", take_over,
		NULL },
	{ "tty-print-clipboard", "tty", "", "OSC 52 writes to the user's clipboard", print_sequence,
		"\x1b]52;c;cm0gLXJmIC8=\a" },
	{ "tty-print-clipboard-read", "tty", "", "OSC 52 reads it", print_sequence,
		"\x1b]52;c;?\a" },
	{ "tty-print-clipboard-c1", "tty", "", "the same with a C1 control", print_sequence,
		"\xc2\x9d"
		"52;c;cm0=\a\x9d"
		"52;c;cm0=\x9c" },
	{ "tty-print-clipboard-tmux", "tty", "", "the same through tmux", print_sequence,
		"\x1bPtmux;\x1b\x1b]52;c;cm0=\a\x1b\\" },
	{ "tty-print-file", "tty", "", "a terminal with pictures reads a file of its host",
		print_sequence, "\x1b_Gt=f,a=T;L2V0Yy9wYXNzd2Q=\x1b\\" },
	{ "tty-print-download", "tty", "", "iTerm2 saves a file", print_sequence,
		"\x1b]1337;File=name=eA==;inline=0:eA==\a" },
	{ "tty-print-keys", "tty", "", "a key of the user's is made to type something (DECUDK)",
		print_sequence, "\x1bP0;1|17/6c730d\x1b\\" },
	{ "tty-print-title", "tty", "", "the title of the window is read, as if it was typed",
		print_sequence, "\x1b]0;x\a\x1b[21t" },
	{ "tty-print-screen", "tty", "",
		"what is on the screen is read by its checksums (DECRQCRA)", print_sequence,
		"\x1b[1;1;1;1;1;1*y" },
	{ "tty-print-printer", "tty", "", "the screen goes to a printer", print_sequence,
		"\x1b[5i text \x1b[4i" },
	{ "tty-stdin-inject", "tty-stdin", "SYS_ADMIN", "TIOCSTI works by standard input alone",
		inject, NULL },
	{ "tty-stdin-take", "tty-stdin", "SYS_ADMIN", "standard input becomes our own terminal",
		take_stdin, NULL },
	{ "tty-stdin-reopen", "tty-stdin", "", "standard input is reopened for writing",
		reopen_stdin, NULL },
};
THEME(tty, "Terminals", table);
