/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/broker-folder.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/own-folder.h"

/* As many may wait as the kernel takes by default. */
enum { BACKLOG = 4096 };

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
	r = plan->caller.path ? own_folder_put(g, &plan->caller, folder, PLAN_BROKER_FOLDER,
					PLAN_BROKER_CALLER)
			      : 0;
	if (r == 0 && plan->caller.path &&
		symlinkat(PLAN_BROKER_CALLER, folder, PLAN_BROKER_OPENER) < 0)
		r = -errno;
	return r < 0 ? r : fd_take(&listener);
}
