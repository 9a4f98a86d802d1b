/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/own-folder.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "jail/mount.h"

int own_folder_put(const struct ground *g, const struct plan_entry *file, int folder,
	const char *path, const char *name)
{
	auto_fd source = mount_open(g->host, file->path + 1);
	char to[PATH_BYTES];
	struct stat st;
	int r;

	if (source < 0)
		return source;
	if (fstat(source, &st) < 0)
		return -errno;
	if (st.st_dev != file->dev || st.st_ino != file->ino)
		return -ESTALE;
	if (snprintf(to, sizeof(to), "%s/%s", path, name) >= (int)sizeof(to))
		return -ENAMETOOLONG;
	r = ground_file(folder, name, "", 0444);
	return r < 0 ? r : mount_put_copy(source, MOUNT_EXEC, g->root, to + 1);
}

int own_folder_make_worker(const struct ground *g, const struct plan *plan)
{
	auto_fd folder = ground_folder(g->scratch, &PLAN_WORKER_FOLDER[1], 0755);
	int r = folder < 0 ? folder : 0;

	for (size_t i = 0; r == 0 && i < PLAN_WORKER_FILES; i++)
		r = own_folder_put(
			g, &plan->worker[i], folder, PLAN_WORKER_FOLDER, plan_worker_names[i]);
	return r;
}
