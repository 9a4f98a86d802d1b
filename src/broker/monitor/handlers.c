/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/handlers.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"

/* `ping` is the front's, and what is refused in the table never comes here. */
monitor_handler *const monitor_handlers[METHOD_COUNT] = {
	[METHOD_FS_READ] = files_read,
	[METHOD_FS_WRITE] = files_write,
	[METHOD_FS_LIST] = files_list,
	[METHOD_FS_STAT] = files_stat,
	[METHOD_FS_DELETE] = files_delete,
	[METHOD_NETWORK_HTTP] = network_http,
	[METHOD_NETWORK_DOWNLOAD] = network_download,
	[METHOD_EXEC_RUN] = exec_run,
	[METHOD_ENV_GET] = environment_get,
	[METHOD_POLICY_CHECK] = verdict_check,
	[METHOD_EVENTS_BATCH] = events_batch,
	[METHOD_OPEN_URL] = services_open_url,
	[METHOD_SECRET_INJECT] = services_secret_inject,
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
