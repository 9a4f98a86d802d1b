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
	[METHOD_SOCKET_OPEN] = sockets_open,
	[METHOD_SOCKET_READ] = sockets_read,
	[METHOD_SOCKET_WRITE] = sockets_write,
	[METHOD_SOCKET_CLOSE] = sockets_close,
	[METHOD_EXEC_RUN] = exec_run,
	[METHOD_ENV_GET] = environment_get,
	[METHOD_POLICY_CHECK] = verdict_check,
	[METHOD_EVENTS_BATCH] = events_batch,
	[METHOD_BROWSER_NAVIGATE] = services_forward,
	[METHOD_BROWSER_TEXT] = services_forward,
	[METHOD_BROWSER_SCREENSHOT] = services_forward,
	[METHOD_BROWSER_EVAL_JS] = services_forward,
	[METHOD_BROWSER_CLOSE] = services_forward,
	[METHOD_OPEN_URL] = services_forward,
	[METHOD_NOTIFICATIONS_SEND] = services_forward,
	[METHOD_EMAIL_SEND] = services_forward,
	[METHOD_CLIPBOARD_READ] = services_forward,
	[METHOD_CLIPBOARD_WRITE] = services_forward,
	[METHOD_REMINDERS_LIST] = services_forward,
	[METHOD_REMINDERS_ADD] = services_forward,
	[METHOD_REMINDERS_UPDATE] = services_forward,
	[METHOD_REMINDERS_COMPLETE] = services_forward,
	[METHOD_REMINDERS_DELETE] = services_forward,
	[METHOD_CALENDAR_LIST] = services_forward,
	[METHOD_CALENDAR_GET] = services_forward,
	[METHOD_CALENDAR_CREATE] = services_forward,
	[METHOD_CALENDAR_UPDATE] = services_forward,
	[METHOD_CALENDAR_DELETE] = services_forward,
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
