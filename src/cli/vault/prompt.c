/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/vault/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "vault/format.h"

/* Up to the end, or to the end of a line. */
static int prompt_take(int fd, bool one_line, struct secret *ret)
{
	auto_secret all = { 0 };
	size_t len = 0;
	int r = secret_new(&all, VAULT_VALUE_MAX + 2);

	if (r < 0)
		return r;
	for (;;) {
		ssize_t n = read(fd, all.data + len, one_line ? 1 : all.len - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0 || (one_line && all.data[len] == '\n'))
			break;
		len += (size_t)n;
		if (len == all.len)
			return -EFBIG;
	}
	if (!one_line && len > 0 && all.data[len - 1] == '\n')
		len--;
	if (len > VAULT_VALUE_MAX)
		return -EFBIG;
	return secret_copy(ret, all.data, len);
}

static int prompt_fail(struct error *e, int r, const char *what)
{
	if (r == -EFBIG)
		return error_set(e, r, NULL, "%s: more than %d KiB", what, VAULT_VALUE_MAX >> 10);
	return error_set(e, r, NULL, "%s: %s", what, strerror(-r));
}

int prompt_read(const char *question, struct secret *ret, struct error *e)
{
	auto_fd fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	struct termios before, silent;
	int r;

	if (fd < 0 || tcgetattr(fd, &before) < 0) {
		(void)error_set(e, -ENXIO, NULL, "there is no terminal to ask on");
		error_hint(
			e, "for a passphrase: --passphrase-file FILE; for a value: standard input");
		return -ENXIO;
	}
	silent = before;
	silent.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
	/* Before the question, at which an answer may come at once. */
	if (tcsetattr(fd, TCSAFLUSH, &silent) < 0)
		return prompt_fail(e, -errno, "the terminal");
	(void)file_write_all(fd, question, strlen(question));
	r = prompt_take(fd, true, ret);
	(void)tcsetattr(fd, TCSAFLUSH, &before);
	(void)file_write_all(fd, "\n", 1);
	return r < 0 ? prompt_fail(e, r, "the terminal") : 0;
}

int prompt_read_file(const char *path, struct secret *ret, struct error *e)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st = { 0 };
	int r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;

	if (r == 0 && S_ISREG(st.st_mode) && (st.st_uid != geteuid() || (st.st_mode & 077))) {
		(void)error_set(e, -EPERM, NULL, "%s: other users can read or change it", path);
		error_hint(e, "chmod 600 %s", path);
		return -EPERM;
	}
	if (r == 0)
		r = prompt_take(fd, true, ret);
	return r < 0 ? prompt_fail(e, r, path) : 0;
}

int prompt_read_input(struct secret *ret, struct error *e)
{
	int r = prompt_take(STDIN_FILENO, false, ret);

	return r < 0 ? prompt_fail(e, r, "standard input") : 0;
}
