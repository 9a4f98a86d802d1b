/* SPDX-License-Identifier: Apache-2.0 */
#include "join-peer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "audit/event.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "host/daemon-place.h"
#include "wire/frame.h"
#include "wire/join.h"

static int join_peer_connect(int *ret)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	auto_buffer path = { 0 };
	auto_fd fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int r = daemon_place("join.sock", &path);

	if (r == 0 && path.len >= sizeof(a.sun_path))
		r = -ENAMETOOLONG;
	if (r < 0)
		return r;
	memcpy(a.sun_path, path.data, path.len);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	*ret = fd_take(&fd);
	return 0;
}

int join_peer_open(const char *id, int *ret_fd)
{
	const struct join who = { .started_ms = clock_ms(CLOCK_REALTIME),
		.id = id,
		.name = "bench",
		.command = "join-events",
		.folder = "/home/someone/project",
		.policy = "bench" };
	auto_buffer body = { 0 };
	auto_fd fd = -1;
	int r = join_peer_connect(&fd);

	if (r == 0)
		r = join_encode(&who, &body);
	if (r == 0)
		r = frame_send(fd, FRAME_JOIN, 0, body.data, body.len, NULL, 0);
	if (r == 0)
		*ret_fd = fd_take(&fd);
	return r;
}

int join_peer_send(int fd, const char *id, unsigned long i)
{
	static const char *const folders[] = { "src", "node_modules/left-pad", "docs/img", ".git" };
	char target[128];
	auto_buffer body = { 0 };
	const struct audit_event e = {
		.time_ns = clock_ns(CLOCK_REALTIME),
		.session = id,
		.user = "bench",
		.sandbox = "bench",
		.program = i % 3 ? "node" : "git",
		.action = i % 5 ? AUDIT_FS_READ : AUDIT_EXEC,
		.decision = i % 4 ? AUDIT_ALLOWED : AUDIT_DENIED,
		.target = target,
		.rule = "",
		.reason = i % 4 ? "" : "nothing in fs.read grants it",
		.count = 1,
		.exact = true,
	};

	(void)snprintf(target, sizeof(target), "/home/someone/project/%s/file-%lu.js",
		folders[i % ROWS(folders)], i);
	audit_event_encode(&e, &body);
	return body.failed ? -ENOMEM
			   : frame_send(fd, FRAME_JOIN_EVENT, 0, body.data, body.len, NULL, 0);
}
