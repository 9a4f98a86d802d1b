/* SPDX-License-Identifier: Apache-2.0 */
#include "vault/login.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "host/account.h"
#include "vault/secret.h"

static int login_home(struct buffer *out, struct error *e)
{
	const char *home = secure_getenv("HOME");
	auto_arena a = { 0 };
	int r = 0;

	if (!home || !path_is_normal(home, strlen(home)))
		r = account_home("/etc/passwd", geteuid(), &a, &home);
	if (r < 0)
		return error_set(e, r, NULL, "your home folder is not known: set HOME");
	buffer_adds(out, home);
	return out->failed ? error_no_memory(e) : 0;
}

int login_path(const struct mask_file *file, struct buffer *out, struct error *e)
{
	int r = login_home(out, e);

	if (r < 0)
		return r;
	buffer_printf(out, "/%s", file->path);
	return out->failed ? error_no_memory(e) : 0;
}

/* Below the home there is no link on the way: a command could have left one, or it leads to another
 * file than the one that is shown. */
static int login_open(const struct mask_file *file, struct error *e)
{
	const struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
					       O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	auto_buffer path = { 0 };
	auto_fd home = -1, fd = -1;
	struct stat st = { 0 };
	int r = login_home(&path, e);

	if (r < 0)
		return r;
	home = open(buffer_text(&path), O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = home < 0 ? -1 : (int)syscall(SYS_openat2, home, file->path, &how, sizeof(how));
	r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	if (r == -ELOOP) {
		(void)error_set(
			e, -EPERM, NULL, "~/%s: there is a link on the way to it", file->path);
		error_hint(e, "put the file itself there");
		return -EPERM;
	}
	if (r < 0)
		return error_set(e, r, NULL, "~/%s: %s", file->path, strerror(-r));
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077)) {
		(void)error_set(e, -EPERM, NULL,
			"~/%s must be a file of yours that no other user can read", file->path);
		error_hint(e, "chmod 600 ~/%s", file->path);
		return -EPERM;
	}
	return fd_take(&fd);
}

int login_read(const struct mask_file *file, struct mask *ret, struct error *e)
{
	auto_fd fd = login_open(file, e);
	auto_buffer text = { 0 };
	struct error why = { 0 };
	int r;

	if (fd < 0)
		return fd;
	r = file_read_fd(fd, MASK_FILE_MAX, &text);
	if (r < 0)
		r = error_set(&why, r, NULL, "%s", strerror(-r));
	else
		r = mask_read(ret, file, buffer_text(&text), text.len, &why);
	if (text.data)
		secret_wipe(text.data, text.cap);
	if (r == 0)
		return 0;
	(void)error_set(e, r, NULL, "~/%s: %s", file->path, why.text);
	error_hint(e,
		"Corral shows only what it understands with certainty, so it lends nothing of "
		"this file; keep the value by `corral vault set` instead");
	return r;
}
