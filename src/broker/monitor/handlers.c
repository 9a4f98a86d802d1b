/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/handlers.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"

/* `ping` is the front's, and what is refused in the table never comes here. */
monitor_handler *const monitor_handlers[METHOD_COUNT] = {
#define METHOD(id, handler, ...) [METHOD_##id] = handler,
#define METHOD_ASIDE(id, ...)
#include "broker/method-table.h"
};

int handlers_absolute(const struct monitor_call *c, const char *path, char out[PATH_BYTES])
{
	auto_buffer joined = { 0 };
	size_t len;

	if (path[0] != '/') {
		if (!c->by.folder)
			return -EINVAL;
		buffer_printf(&joined, "%s/", c->by.folder);
	}
	buffer_adds(&joined, path);
	return joined.failed ? -ENOMEM
			     : path_normalize(buffer_text(&joined), joined.len, out, &len);
}
