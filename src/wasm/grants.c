/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/grants.h"

#include <errno.h>

#include "jail/landlock.h"
#include "process/confinement.h"

int grants_enter(const struct worker_folder *folders, size_t n, const char *module)
{
	struct confinement_grant grants[1 + WORKER_FOLDERS_MAX] = {
		{ .path = module, .access = LANDLOCK_READ, .is_needed = true }
	};

	if (n > WORKER_FOLDERS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		grants[1 + i] = (struct confinement_grant){ .path = folders[i].host,
			.access = LANDLOCK_READ | (folders[i].is_writable ? LANDLOCK_WRITE : 0),
			.is_needed = true };
	return confinement_enter(
		PROCESS_WORKER, &(struct confinement_more){ .grants = grants, .n = 1 + n });
}
