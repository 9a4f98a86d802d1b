/* SPDX-License-Identifier: Apache-2.0 */
#include "services/confine.h"

#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "jail/inert.h"
#include "jail/landlock.h"
#include "jail/limits/rlimits.h"
#include "jail/seccomp/seccomp.h"

static int backend_grant(int rules, int version, const struct backend_place *p)
{
	auto_fd fd = open(p->path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	return landlock_grant(rules, version, fd, p->access);
}

int backend_confine(const struct backend_confinement *c)
{
	const struct seccomp_options filter = { .no_memfd_exec = true,
		.closed = true,
		.shared = !c->unix_sockets,
		.only_unix = c->unix_sockets && !c->sockets,
		.no_sockets = !c->unix_sockets && !c->sockets,
		.no_exec = !c->exec };
	const bool has_ports = !c->sockets || c->port;
	int version = landlock_version();
	/* libxcb tries the abstract socket of a display first, and stops where that is refused. */
	auto_fd rules = version < 0 ? version
			: has_ports ? landlock_new_ports(version, !c->unix_sockets)
				    : landlock_new(version, !c->unix_sockets);
	int r = rules < 0 ? rules : rlimits_no_core();

	for (const struct backend_place *p = c->places; r == 0 && p && p->path; p++)
		r = backend_grant(rules, version, p);
	if (r == 0 && c->sockets && c->port)
		r = landlock_grant_port(rules, version, c->port);
	return r < 0 ? r : inert_close(rules, &filter);
}
