/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"

static const char *place_absolute(const char *variable)
{
	const char *value = secure_getenv(variable);

	return value && value[0] == '/' ? value : NULL;
}

int audit_place(struct buffer *out, struct error *e)
{
	const char *state = place_absolute("XDG_STATE_HOME"), *home = place_absolute("HOME");

	if (!state && !home) {
		(void)error_set(e, -ENOENT, NULL, "there is no place for an audit log");
		error_hint(e, "set HOME or XDG_STATE_HOME to an absolute path, or name a file");
		return -ENOENT;
	}
	buffer_printf(
		out, "%s%s/corral/audit.db", state ? state : home, state ? "" : "/.local/state");
	return out->failed ? error_no_memory(e) : 0;
}

static int place_fail(struct error *e, int code, const char *path)
{
	return error_set(e, code, NULL, "%s: %s", path, strerror(-code));
}

/* One folder; what is there already must be one, too. */
static int place_make_folder(const char *path, struct error *e)
{
	struct stat st;

	if (mkdir(path, 0700) == 0)
		return 0;
	if (errno != EEXIST || stat(path, &st) < 0)
		return place_fail(e, -errno, path);
	return S_ISDIR(st.st_mode) ? 0 : place_fail(e, -ENOTDIR, path);
}

int audit_place_make(const char *file, struct error *e)
{
	const char *slash = strrchr(file, '/');
	const size_t len = slash ? (size_t)(slash - file) : 0;
	char path[PATH_BYTES];
	int r = 0;

	if (len >= sizeof(path))
		return place_fail(e, -ENAMETOOLONG, file);
	memcpy(path, file, len);
	path[len] = '\0';
	for (size_t i = 1; i <= len && r == 0; i++) {
		if (file[i] != '/')
			continue;
		path[i] = '\0';
		r = place_make_folder(path, e);
		if (i < len)
			path[i] = '/';
	}
	return r;
}
