/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/broker-folder.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/mount.h"

/* As many may wait as the kernel takes by default. */
enum { BACKLOG = 4096 };

/* What the plan looked at must still be there: same device, same inode. */
static int broker_folder_put_caller(const struct ground *g, const struct plan *plan, int folder)
{
	auto_fd source = mount_open(g->host, plan->caller.path + 1);
	struct stat st;
	int r;

	if (source < 0)
		return source;
	if (fstat(source, &st) < 0)
		return -errno;
	if (st.st_dev != plan->caller.dev || st.st_ino != plan->caller.ino)
		return -ESTALE;
	r = ground_file(folder, PLAN_BROKER_CALLER, "", 0444);
	return r < 0 ? r
		     : mount_put_copy(source, MOUNT_EXEC, g->root,
			       &PLAN_BROKER_FOLDER "/" PLAN_BROKER_CALLER[1]);
}

int broker_folder_make(const struct ground *g, const struct plan *plan)
{
	static const struct sockaddr_un address = { .sun_family = AF_UNIX,
		.sun_path = PLAN_BROKER_SOCKET };
	/* Where the tree keeps its /dev, which can be written to. */
	auto_fd folder = ground_folder(g->scratch, &PLAN_BROKER_FOLDER[1], 0755);
	auto_fd listener = -1;
	int r;

	if (folder < 0)
		return folder;
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* There is no bindat(). */
	if (listener < 0 || fchdir(folder) < 0 ||
		bind(listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
		fchmodat(folder, PLAN_BROKER_SOCKET, 0666, 0) < 0 || listen(listener, BACKLOG) < 0)
		return -errno;
	r = plan->caller.path ? broker_folder_put_caller(g, plan, folder) : 0;
	return r < 0 ? r : fd_take(&listener);
}
