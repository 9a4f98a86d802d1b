/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "policy/format/manifest.h"

enum { TEXT_MAX = 8 << 20 };

/* The writer must not be able to change it after it was checked. */
static bool source_is_sealed(int fd)
{
	const int wanted = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & wanted) == wanted;
}

static int read_descriptor(const char *text, struct buffer *out, struct error *e)
{
	char *end;
	long number = strtol(text, &end, 10);
	auto_fd fd =
		*end == '\0' && end != text && number > 2 && number < 1 << 20 ? (int)number : -1;
	int r;

	if (fd < 0 || fcntl(fd, F_GETFD) < 0)
		return error_set(e, -EBADF, NULL, "CORRAL_POLICY_FD is no open descriptor");
	if (!source_is_sealed(fd))
		return error_set(e, -EPERM, NULL,
			"what CORRAL_POLICY_FD names is not sealed against changes");
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_set(e, -errno, NULL, "CORRAL_POLICY_FD: %s", strerror(errno));
	r = file_read_fd(fd, TEXT_MAX, out);
	return r < 0 ? error_set(e, r, NULL, "CORRAL_POLICY_FD: %s", strerror(-r)) : 0;
}

static int source_read_file(const char *path, struct buffer *out, struct error *e)
{
	int r = path[0] == '/' ? file_read(path, TEXT_MAX, out) : -EINVAL;

	return r < 0 ? error_set(e, r, NULL, "CORRAL_POLICY_FILE: %s: %s", path, strerror(-r)) : 0;
}

static int source_parse(struct permissions **ret, enum manifest_kind kind, const char *name,
	const struct buffer *text, struct error *e)
{
	struct manifest m = { 0 };
	int r = manifest_read(&m, kind, name, text->data ? text->data : "", text->len, e);

	if (r == 0)
		*ret = m.permissions;
	return r;
}

int source_read(struct permissions **ret, struct error *e)
{
	const char *fd = getenv("CORRAL_POLICY_FD");
	const char *path = getenv("CORRAL_POLICY_FILE");
	const char *inline_text = getenv("CORRAL_POLICY");
	const char *name = "policy";
	auto_buffer text = { 0 };
	int r = 0;

	if (!fd && !path && !inline_text) {
		*ret = permissions_new();
		return *ret ? 0 : error_no_memory(e);
	}
	if (fd)
		r = read_descriptor(fd, &text, e);
	else if (path)
		r = source_read_file(name = path, &text, e);
	else
		buffer_adds(&text, inline_text);
	if (r == 0 && text.failed)
		r = error_no_memory(e);
	if (r < 0)
		return r;
	return source_parse(ret, path ? MANIFEST_UNKNOWN : MANIFEST_PERMISSIONS, name, &text, e);
}
