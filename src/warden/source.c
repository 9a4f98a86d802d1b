/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "policy/format/manifest.h"

enum { TEXT_MAX = 8 << 20 };

static int source_read_descriptor(const char *text, struct buffer *out, struct error *e)
{
	char *end;
	long number = strtol(text, &end, 10);
	auto_fd fd =
		*end == '\0' && end != text && number > 2 && number < 1 << 20 ? (int)number : -1;
	const int wanted = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
	int r;

	if (fd < 0 || fcntl(fd, F_GETFD) < 0)
		return error_set(e, -EBADF, NULL, "CORRAL_POLICY_FD is not an open descriptor");
	/* The writer must not be able to change it after it was checked. */
	r = fcntl(fd, F_GET_SEALS);
	if (r < 0 || (r & wanted) != wanted)
		return error_set(e, -EPERM, NULL,
			"the file of CORRAL_POLICY_FD is not sealed against changes");
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_set(e, -errno, NULL, "CORRAL_POLICY_FD: %s", strerror(errno));
	r = file_read_fd(fd, TEXT_MAX, out);
	return r < 0 ? error_set(e, r, NULL, "CORRAL_POLICY_FD: %s", strerror(-r)) : 0;
}

int source_read(struct permissions **ret, struct error *e)
{
	const char *fd = getenv("CORRAL_POLICY_FD");
	const char *path = getenv("CORRAL_POLICY_FILE");
	const char *inline_text = getenv("CORRAL_POLICY");
	const char *name = "policy";
	struct manifest m = { 0 };
	auto_buffer text = { 0 };
	int r = 0;

	if (!fd && !path && !inline_text) {
		*ret = permissions_new();
		return *ret ? 0 : error_no_memory(e);
	}
	if (fd)
		r = source_read_descriptor(fd, &text, e);
	else if (path)
		r = path[0] == '/' ? file_read(name = path, TEXT_MAX, &text) : -EINVAL;
	else
		buffer_adds(&text, inline_text);
	if (r < 0 && !fd)
		return error_set(e, r, NULL, "CORRAL_POLICY_FILE: %s: %s", path, strerror(-r));
	if (r == 0 && text.failed)
		r = error_no_memory(e);
	if (r == 0)
		r = manifest_read(&m, path ? MANIFEST_UNKNOWN : MANIFEST_PERMISSIONS, name,
			buffer_text(&text), text.len, e);
	if (r == 0)
		*ret = m.permissions;
	return r;
}
