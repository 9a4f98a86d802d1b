/* SPDX-License-Identifier: Apache-2.0 */
#include "host/session-bus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"

bool session_bus_is_watched(void)
{
	const char *ci = getenv("CI"), *address = getenv("DBUS_SESSION_BUS_ADDRESS");
	const char *folder = getenv("XDG_RUNTIME_DIR");
	char bus[PATH_BYTES];

	if (ci && *ci)
		return false;
	if (address && *address)
		return strncmp(address, "unix:", strlen("unix:")) == 0;
	if (!folder || folder[0] != '/')
		return false;
	return snprintf(bus, sizeof(bus), "%s/bus", folder) < (int)sizeof(bus) &&
	       access(bus, F_OK) == 0;
}
