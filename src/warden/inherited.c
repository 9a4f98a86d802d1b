/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* Of /proc/PID/stat, as proc(5) counts; the name before may have blanks, so 3 is the first. */
enum { AFTER_NAME = 3, ARG_START = 48 };
/* With its NUL: PR_GET_NAME. */
enum { NAME_BYTES = 16 };

/* As the kernel laid them out: one behind the other, each with its NUL. */
static struct {
	char *first, *end; /* NULL: not known */
} words;

void inherited_words(int argc, char *const *argv)
{
	char *end = argc > 0 ? argv[0] : NULL;

	for (int i = 0; i < argc; i++) {
		if (argv[i] != end)
			return;
		end += strlen(end) + 1;
	}
	if (argc > 0) {
		words.first = argv[0];
		words.end = end;
	}
}

/* 0, with first == end if there are none to be seen. */
static int inherited_find_words(char **ret_first, char **ret_end)
{
	char text[1024], *end;
	const char *at;
	uintptr_t first, last;
	auto_fd fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	at = strrchr(text, ')');
	for (int i = AFTER_NAME - 1; at && i < ARG_START; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return -EPROTO;
	first = strtoul(at, &end, 10);
	last = strtoul(end, NULL, 10);
	/* 0: the kernel keeps them to itself, or there are none. */
	if ((first == 0 || last < first) && first != last)
		return -EPROTO;
	*ret_first = (char *)first;
	*ret_end = (char *)last;
	return 0;
}

int inherited_erase_words(void)
{
	char name[NAME_BYTES] = "", *first = words.first, *end = words.end;
	int r = first ? 0 : inherited_find_words(&first, &end);

	if (r < 0 || !first || first == end)
		return r;
	memset(first, 0, (size_t)(end - first));
	/* ps shows the name instead. With a byte at the end the kernel takes it for a title, up to
	 * the first NUL, and not for words; too short a command line stays empty. */
	if ((size_t)(end - first) > sizeof(name) && prctl(PR_GET_NAME, name) == 0) {
		memcpy(first, name, sizeof(name));
		end[-1] = ' ';
	}
	return 0;
}

void inherited_erase_variables(void)
{
	for (char **e = environ; e && *e; e++)
		explicit_bzero(*e, strlen(*e));
	environ = NULL;
}

void inherited_reset_signal(int number)
{
	/* Larger than the kernel's struct sigaction, whose zeros are SIG_DFL and no flags. */
	static const uint64_t zeros[8];

	(void)syscall(SYS_rt_sigaction, number, zeros, NULL, NSIG / 8);
}

void inherited_reset_signals(void)
{
	for (int s = 1; s < NSIG; s++)
		if (s != SIGKILL && s != SIGSTOP)
			inherited_reset_signal(s);
}
