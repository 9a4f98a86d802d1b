/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/confinement.h"

#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "jail/inert.h"
#include "jail/landlock.h"
#include "jail/seccomp/seccomp.h"

static int confinement_grant(int rules, int version, const char *path, unsigned access)
{
	auto_fd fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : landlock_grant(rules, version, fd, access);
}

int confinement_enter(const struct worker_folder *folders, size_t n, const char *module)
{
	const struct seccomp_options filter = {
		.no_memfd_exec = true, .closed = true, .no_sockets = true, .no_exec = true
	};
	int version = landlock_version();
	auto_fd rules = version < 0 ? version : landlock_new(version, true);
	int r = rules < 0 ? rules : 0;

	if (r == 0 && module)
		r = confinement_grant(rules, version, module, LANDLOCK_READ);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = confinement_grant(rules, version, folders[i].host,
			LANDLOCK_READ | (folders[i].is_writable ? LANDLOCK_WRITE : 0));
	return r < 0 ? r : inert_close(rules, &filter);
}
