/* SPDX-License-Identifier: Apache-2.0 */
#include "host/daemon-place.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static void daemon_place_name(const char *name, struct buffer *out)
{
	if (name)
		buffer_printf(out, "/%s", name);
}

void daemon_place_system(const char *name, struct buffer *out)
{
	buffer_adds(out, "/run/corral");
	daemon_place_name(name, out);
}

int daemon_place(const char *name, struct buffer *out)
{
	const char *base = secure_getenv("XDG_RUNTIME_DIR");

	if (base && *base) {
		if (base[0] != '/')
			return -ENOENT;
		buffer_printf(out, "%s/corral", base);
	} else if (geteuid() == 0) {
		buffer_adds(out, "/run/corral");
	} else {
		buffer_printf(out, "/run/user/%u/corral", (unsigned)geteuid());
	}
	daemon_place_name(name, out);
	return out->failed ? -ENOMEM : 0;
}
