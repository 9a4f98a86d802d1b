/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's methods, one row each: METHOD(ID, HANDLER, members of struct method). A row is the
 * value METHOD_ID of the enum (method.h), the row of method_rows (method.c), and the declaration of
 * its handler in the monitor with its place in monitor_handlers (monitor/handlers.[ch]), which
 * include this file with METHOD() defined as they need it. METHOD_ASIDE(ID, members) has no
 * handler: the front answers it, or it is always refused.
 *
 * Frames carry the place of a row: front and monitor are the same build. Bounds and rows of
 * parameters that several methods have are in method.c.
 */
/* clang-format off */
METHOD_ASIDE(PING,
	.name = "ping",
	.help = "answers, and shows that the broker is there",
	.channels = BOTH,
	.params = { { "echo", SCHEMA_TEXT, false, .help = "text that comes back" } },
	.results = {
		{ "pong", SCHEMA_FLAG, true, .help = "true" },
		{ "echo", SCHEMA_TEXT, false, .help = "what was sent" },
		{ "timestamp", SCHEMA_TIME, true, .help = "the broker's time" },
		{ "version", SCHEMA_TEXT, true, .help = "of Corral" },
	},
)

METHOD(FS_READ, files_read,
	.name = "fs.read", .shield = "file_read",
	.help = "reads a file",
	.channels = BOTH,
	.op = OPERATION_FS_READ, .target = "path",
	.params = { PATH("path", "the file"), ENCODING },
	.results = {
		{ "content", SCHEMA_DATA, true, METHOD_DATA_MAX, .help = "what it holds" },
		{ "encoding", SCHEMA_TEXT, false, .help = "how content is written", .also = "" },
		{ "size", SCHEMA_NUMBER, true, UINT64_MAX, .help = "bytes" },
		{ "modified", SCHEMA_TIME, true, .help = "when it was written last", .also = "mtime" },
	},
)

METHOD(FS_WRITE, files_write,
	.name = "fs.write", .shield = "file_write",
	.help = "replaces a file as a whole, or makes it",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_FS_WRITE, .target = "path",
	.params = {
		PATH("path", "the file"),
		{ "content", SCHEMA_DATA, true, METHOD_DATA_MAX, .help = "what it is to hold" },
		ENCODING,
		{ "mode", SCHEMA_NUMBER, false, MODE_MAX,
			.help = "permission bits of a new file, as a decimal number" },
	},
	.results = {
		{ "bytesWritten", SCHEMA_NUMBER, true, UINT64_MAX, .help = "bytes" },
		{ "path", SCHEMA_PATH, true, PATH_BYTES - 1, .help = "where it is" },
	},
)

METHOD(FS_LIST, files_list,
	.name = "fs.list", .shield = "file_list",
	.help = "lists a folder",
	.channels = BOTH,
	.op = OPERATION_FS_READ, .target = "path",
	.params = {
		PATH("path", "the folder"),
		{ "glob", SCHEMA_TEXT, false,
			.help = "only names that match: * ? [abc], and ** across folders", .also = "pattern" },
		{ "recursive", SCHEMA_FLAG, false, .help = "with the folders in it" },
	},
	.results = {
		{ "entries", SCHEMA_FILES, true, .help = "by name" },
		{ "truncated", SCHEMA_FLAG, false, .help = "there are more", .also = "" },
	},
)

METHOD(FS_STAT, files_stat,
	.name = "fs.stat",
	.help = "says what a path is",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_FS_READ, .target = "path",
	.params = { PATH("path", "a file or folder") },
	.results = {
		{ "path", SCHEMA_PATH, true, PATH_BYTES - 1, .help = "where it is" },
		{ "type", SCHEMA_TEXT, true, .help = "file, directory, symlink or other" },
		{ "size", SCHEMA_NUMBER, true, UINT64_MAX, .help = "bytes" },
		{ "mode", SCHEMA_NUMBER, true, UINT64_MAX, .help = "permission bits" },
		{ "modified", SCHEMA_TIME, true, .help = "when it was written last" },
	},
)

METHOD(FS_DELETE, files_delete,
	.name = "fs.delete",
	.help = "removes a file, a link or an empty folder",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_FS_WRITE, .target = "path",
	.params = { PATH("path", "the file") },
	.results = { { "deleted", SCHEMA_FLAG, true, .help = "true" } },
)

METHOD(NETWORK_HTTP, network_http,
	.name = "network.http", .shield = "http_request", .is_lossy = true,
	.help = "makes a request to a granted host",
	.channels = BOTH,
	.op = OPERATION_NET_CONNECT, .target = "url",
	.params = {
		URL("http or https"),
		{ "method", SCHEMA_CHOICE, false, .words = http_methods, .help = "GET if not given" },
		HEADERS,
		{ "body", SCHEMA_DATA, false, METHOD_DATA_MAX, .help = "of the request" },
		ENCODING,
		TIMEOUT,
		{ "followRedirects", SCHEMA_FLAG, false,
			.help = "each is checked as the first request is; true if not given" },
	},
	.results = {
		{ "status", SCHEMA_NUMBER, true, 999, .help = "of the response" },
		{ "statusText", SCHEMA_TEXT, true, .help = "its words" },
		{ "headers", SCHEMA_PAIRS, true, 64 << 10, .help = "names in small letters" },
		{ "body", SCHEMA_DATA, true, METHOD_DATA_MAX, .help = "decompressed" },
		{ "encoding", SCHEMA_TEXT, false, .help = "how body is written", .also = "" },
		{ "url", SCHEMA_TEXT, true, URL_MAX, .help = "where redirects led", .also = "" },
	},
)

METHOD(NETWORK_DOWNLOAD, network_download,
	.name = "network.download",
	.help = "fetches a file to a granted path; progress comes as notifications",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_NET_CONNECT, .target = "url",
	.params = {
		URL("http or https"),
		PATH("saveTo", "the file; it appears when all of it is there"),
		HEADERS,
		{ "resume", SCHEMA_FLAG, false, .help = "go on with what an attempt left" },
		TIMEOUT,
	},
	.results = {
		{ "path", SCHEMA_PATH, true, PATH_BYTES - 1, .help = "where it is" },
		{ "size", SCHEMA_NUMBER, true, UINT64_MAX, .help = "bytes" },
		{ "status", SCHEMA_NUMBER, true, 999, .help = "of the response" },
		{ "resumed", SCHEMA_NUMBER, true, UINT64_MAX, .help = "bytes that were there" },
	},
	.note = "network.progress",
	.notes = {
		{ "received", SCHEMA_NUMBER, true, UINT64_MAX, .help = "bytes so far" },
		{ "total", SCHEMA_NUMBER, false, UINT64_MAX, .help = "bytes, if known" },
	},
)

METHOD(SOCKET_OPEN, sockets_open,
	.name = "socket.open", .shield = "socket_open",
	.help = "connects to a granted host by TCP; the socket is this connection's, and ends with it, "
		"or after 10 minutes",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_NET_CONNECT, .target = "address",
	.params = {
		{ "address", SCHEMA_TEXT, true, ADDRESS_MAX, .help = "HOST:PORT" },
		TIMEOUT,
	},
	.results = { SOCKET(true, "for socket.read, socket.write and socket.close") },
)

METHOD(SOCKET_READ, sockets_read,
	.name = "socket.read", .shield = "socket_read",
	.help = "waits until bytes come, or the end",
	.channels = CHANNEL_SOCKET,
	.params = {
		SOCKET(true, "of socket.open"),
		{ "max", SCHEMA_NUMBER, false, METHOD_SOCKET_MAX,
			.help = "bytes; 65536 if not given" },
		ENCODING,
		TIMEOUT,
	},
	.results = {
		{ "data", SCHEMA_DATA, true, METHOD_SOCKET_MAX, .help = "at least one byte, or the end" },
		{ "encoding", SCHEMA_TEXT, false, .help = "how data is written" },
		{ "end", SCHEMA_FLAG, true, .help = "the other side sends no more" },
	},
)

METHOD(SOCKET_WRITE, sockets_write,
	.name = "socket.write", .shield = "socket_write",
	.help = "sends bytes; fewer than all if the timeout comes first",
	.channels = CHANNEL_SOCKET,
	.params = {
		SOCKET(true, "of socket.open"),
		{ "data", SCHEMA_DATA, true, METHOD_SOCKET_MAX, .help = "what is sent" },
		ENCODING,
		TIMEOUT,
	},
	.results = { { "written", SCHEMA_NUMBER, true, UINT64_MAX, .help = "bytes" } },
)

METHOD(SOCKET_CLOSE, sockets_close,
	.name = "socket.close", .shield = "socket_close",
	.help = "closes a socket, or all of this connection; what was written is still sent, for 2 seconds",
	.channels = CHANNEL_SOCKET,
	.params = { SOCKET(false, "of socket.open; all if not given") },
	.results = { { "closed", SCHEMA_NUMBER, true, UINT32_MAX, .help = "how many" } },
)

METHOD(EXEC_RUN, exec_run,
	.name = "exec.run", .shield = "exec", .is_lossy = true,
	.help = "runs a program in a sandbox of its own with the same permissions; /tmp and home "
		"are empty there",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_EXEC, .target = "command",
	.params = {
		{ "command", SCHEMA_TEXT, true, .help = "a program, by name or path" },
		{ "args", SCHEMA_WORDS, false, 128 << 10, .help = "its arguments" },
		{ "cwd", SCHEMA_PATH, false, PATH_BYTES - 1, .help = "where it starts" },
		{ "env", SCHEMA_PAIRS, false, 128 << 10, .help = "granted variables" },
		TIMEOUT,
		{ "stdin", SCHEMA_DATA, false, METHOD_DATA_MAX, .help = "what it reads", .also = "" },
		ENCODING,
		{ "shell", SCHEMA_FLAG, false,
			.help = "must be false: name the shell as the command" },
		{ "stream", SCHEMA_FLAG, false,
			.help = "output comes as it is printed, by notifications, and not in the answer", .also = "" },
	},
	.results = {
		{ "exitCode", SCHEMA_NUMBER, true, UINT64_MAX,
			.help = "128 and the signal's number if one ended it" },
		{ "stdout", SCHEMA_DATA, true, METHOD_DATA_MAX, .help = "" },
		{ "stderr", SCHEMA_DATA, true, METHOD_DATA_MAX, .help = "" },
		{ "encoding", SCHEMA_TEXT, false, .help = "how output is written", .also = "" },
		{ "signal", SCHEMA_TEXT, false, .help = "that ended it: SIGTERM" },
		{ "timedOut", SCHEMA_FLAG, false, .help = "the timeout ended it", .also = "" },
		{ "truncated", SCHEMA_FLAG, false, .help = "there was more output", .also = "" },
	},
	.note = "exec.output",
	.notes = {
		{ "stream", SCHEMA_CHOICE, true, .words = output_streams, .help = "stdout or stderr" },
		{ "data", SCHEMA_DATA, true, METHOD_DATA_MAX, .help = "what was printed" },
		{ "encoding", SCHEMA_TEXT, false, .help = "how data is written" },
	},
)

METHOD(ENV_GET, environment_get,
	.name = "env.get",
	.help = "reads a granted variable of the caller's environment outside",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_ENV, .target = "name",
	.params = { { "name", SCHEMA_TEXT, true, 256, .help = "of the variable" } },
	.results = {
		{ "value", SCHEMA_TEXT, false, 128 << 10, .help = "not there if it is not set" },
		{ "set", SCHEMA_FLAG, true, .help = "" },
	},
)

METHOD(POLICY_CHECK, verdict_check,
	.shield = "policy_check",
	.help = "would this be allowed? Nothing is done",
	.channels = CHANNEL_SOCKET,
	.params = {
		{ "operation", SCHEMA_TEXT, true, 64,
			.help = "fs.read, net.connect, exec …, or a method's name" },
		{ "target", SCHEMA_TEXT, true, .help = "a path, a URL, a command …" },
	},
	.results = {
		{ "allowed", SCHEMA_FLAG, true, .help = "" },
		{ "policyId", SCHEMA_TEXT, false, .help = "the rule that decided" },
		{ "reason", SCHEMA_TEXT, false, .help = "" },
	},
)

METHOD(EVENTS_BATCH, events_batch,
	.shield = "events_batch",
	.help = "adds events to the log, as the caller's own words: 200 in a call, 20 in a second, 2000 in a burst",
	.channels = CHANNEL_SOCKET,
	.params = { { "events", SCHEMA_JSON, true, 256 << 10, .help = "a list of maps" } },
	.results = { { "received", SCHEMA_NUMBER, true, UINT64_MAX, .help = "" } },
)

METHOD(OPEN_URL, services_forward,
	.name = "browser.open", .shield = "open_url",
	.help = "opens a page in the user's browser",
	.channels = BOTH,
	.op = OPERATION_SERVICE, .target = "url",
	.service = "browser-open", .grant = "browser.open",
	.per_minute = 10, .seconds = 15,
	.params = {
		URL("http or https, of a granted domain"),
		{ "browser", SCHEMA_TEXT, false, 256,
			.help = "must be the one that is configured; the user's if not given" },
	},
	.results = { { "opened", SCHEMA_FLAG, true, .help = "true" } },
)

METHOD(BROWSER_LOGIN, services_forward,
	.name = "browser.login",
	.help = "opens the page of a coding agent's login in the user's browser",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "url",
	.service = "browser-open", .grant = "browser.login", .record = "url",
	.per_minute = 3, .seconds = 15,
	.params = { URL("a page, a client and a way back that a preset names, of a granted domain") },
	.results = {
		{ "opened", SCHEMA_FLAG, true, .help = "true" },
		{ "url", SCHEMA_TEXT, true, URL_MAX, .help = "of the page" },
	},
)

METHOD(BROWSER_NAVIGATE, services_forward,
	.name = "browser.navigate", .shield = "browser_navigate",
	.help = "opens a page in the sandbox's own browser, and waits until it has loaded",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "url",
	.service = "browser", .grant = "browser.navigate", .record = "url",
	.params = { URL("http or https, of a granted domain"), TIMEOUT },
	.results = {
		{ "url", SCHEMA_TEXT, true, URL_MAX, .help = "where redirects led" },
		{ "title", SCHEMA_TEXT, true, .help = "of the page" },
		{ "status", SCHEMA_NUMBER, false, 999, .help = "of the response, if known" },
	},
)

METHOD(BROWSER_TEXT, services_forward,
	.name = "browser.text",
	.help = "reads the text of the page that the sandbox's browser shows",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE,
	.service = "browser", .grant = "browser.navigate", .filters = true, .record = "url",
	.params = { TIMEOUT },
	.results = {
		{ "text", SCHEMA_TEXT, true, 1 << 20, .help = "as a reader sees it" },
		{ "url", SCHEMA_TEXT, true, URL_MAX, .help = "of the page" },
		{ "title", SCHEMA_TEXT, true, .help = "of the page" },
		{ "truncated", SCHEMA_FLAG, true, .help = "there is more" },
	},
)

METHOD(BROWSER_SCREENSHOT, services_forward,
	.name = "browser.screenshot", .shield = "browser_screenshot",
	.help = "takes a picture of the page that the sandbox's browser shows",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE,
	.service = "browser", .grant = "browser.screenshot", .filters = true, .record = "url",
	.params = {
		{ "width", SCHEMA_NUMBER, false, 4096, .help = "of the window; 1280 if not given" },
		{ "height", SCHEMA_NUMBER, false, 4096, .help = "of the window; 720 if not given" },
		{ "fullPage", SCHEMA_FLAG, false,
			.help = "all of the page, up to 16384 pixels, not what the window shows" },
		TIMEOUT,
	},
	.results = {
		{ "data", SCHEMA_DATA, true, METHOD_DATA_MAX, .help = "a PNG" },
		{ "encoding", SCHEMA_TEXT, false, .help = "how data is written" },
		{ "width", SCHEMA_NUMBER, true, UINT32_MAX, .help = "pixels" },
		{ "height", SCHEMA_NUMBER, true, UINT32_MAX, .help = "pixels" },
		{ "url", SCHEMA_TEXT, true, URL_MAX, .help = "of the page" },
	},
)

METHOD(BROWSER_EVAL_JS, services_forward,
	.name = "browser.eval_js", .shield = "browser_eval_js",
	.help = "runs a script in the page that the sandbox's browser shows",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE,
	.service = "browser", .grant = "browser.eval", .filters = true, .record = "origin",
	.params = {
		{ "script", SCHEMA_TEXT, true, 256 << 10,
			.help = "JavaScript; its last value is the result, and a promise is waited for" },
		TIMEOUT,
	},
	.results = {
		{ "result", SCHEMA_JSON, true, 1 << 20, .help = "null if there is none" },
		{ "exception", SCHEMA_TEXT, false, .help = "what the script threw" },
		{ "origin", SCHEMA_TEXT, true, .help = "of the page" },
	},
)

METHOD(BROWSER_CLOSE, services_forward,
	.name = "browser.close",
	.help = "ends the sandbox's browser, with all that it kept",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE,
	.service = "browser", .grant = "browser.navigate", .filters = true, .is_last = true,
	.results = { { "closed", SCHEMA_FLAG, true, .help = "false: there was none" } },
)

METHOD(NOTIFICATIONS_SEND, services_forward,
	.name = "notifications.send",
	.help = "shows a notification on the user's desktop, under the name of the skill or sandbox",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE,
	.service = "notifications", .grant = "notifications.send",
	.per_minute = 10, .seconds = 10,
	.params = {
		{ "title", SCHEMA_TEXT, true, 256, .help = "one line of plain text" },
		{ "body", SCHEMA_TEXT, false, 4096, .help = "plain text; markup is shown as it is" },
		{ "sound", SCHEMA_FLAG, false, .help = "with a sound; false if not given" },
	},
	.results = { { "shown", SCHEMA_FLAG, true, .help = "true" } },
)

METHOD(EMAIL_SEND, services_forward,
	.name = "email.send", .shield = "send_email",
	.help = "sends a mail from the address of services.yaml; to all recipients, or to none",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "to", .more_targets = { "cc", "bcc" },
	.service = "email", .grant = "email.send", .mailboxes = true, .lone_words = true,
	.per_minute = 10, .seconds = 60, .record = "messageId",
	.params = {
		{ "to", SCHEMA_WORDS, true, 64 << 10,
			.help = "recipients: ADDRESS or NAME <ADDRESS>; at most 50 in all" },
		{ "cc", SCHEMA_WORDS, false, 64 << 10, .help = "more of them" },
		{ "bcc", SCHEMA_WORDS, false, 64 << 10,
			.help = "more of them, whom the others do not see" },
		{ "subject", SCHEMA_TEXT, false, 512, .help = "one line" },
		{ "body", SCHEMA_TEXT, false, 1 << 20, .help = "plain text" },
		{ "attachments", SCHEMA_WORDS, false, 32 << 10,
			.help = "paths of at most 8 files that the caller may read" },
		{ "timeout", SCHEMA_NUMBER, false, TIMEOUT_MAX,
			.help = "milliseconds; 60000 if not given" },
	},
	.results = {
		{ "messageId", SCHEMA_TEXT, true, 512, .help = "of the mail, without < >" },
		{ "recipients", SCHEMA_NUMBER, true, UINT64_MAX, .help = "how many got it" },
	},
)

METHOD(CLIPBOARD_READ, services_forward,
	.name = "clipboard.read",
	.help = "reads the text in the user's clipboard",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE,
	.service = "clipboard", .grant = "clipboard.read",
	.per_minute = 60, .seconds = 10,
	.results = { { "text", SCHEMA_TEXT, true, 1 << 20, .help = "what it holds" } },
)

METHOD(CLIPBOARD_WRITE, services_forward,
	.name = "clipboard.write",
	.help = "puts text into the user's clipboard",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE,
	.service = "clipboard", .grant = "clipboard.write",
	.per_minute = 60, .seconds = 10,
	.params = { { "text", SCHEMA_TEXT, true, 1 << 20, .help = "what it is to hold" } },
	.results = { { "written", SCHEMA_FLAG, true, .help = "true" } },
)

METHOD(REMINDERS_LIST, services_forward,
	.name = "reminders.list",
	.help = "lists reminders, of one list or of all that are granted",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "list",
	.service = "reminders", .grant = "reminders.read", .filters = true,
	.params = {
		LIST_NAME("list", false, "its name; all that are granted if not given"),
		{ "completed", SCHEMA_FLAG, false, .help = "with those that are done" },
		LIMIT,
	},
	.results = { LISTING("reminders", "lists") },
)

METHOD(REMINDERS_ADD, services_forward,
	.name = "reminders.add",
	.help = "adds a reminder",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "list",
	.service = "reminders", .grant = "reminders.write", .record = "id",
	.params = {
		LIST_NAME("list", true, "its name"),
		ITEM_TEXT("title", true, ITEM_TITLE_MAX, "what to do"),
		ITEM_TEXT("notes", false, ITEM_NOTES_MAX, "more about it"),
		ITEM_TEXT("due", false, ITEM_TIME_MAX, "2026-11-16 or 2026-11-16T09:00:00+01:00"),
		{ "priority", SCHEMA_NUMBER, false, 9, .help = "1 is the highest, 9 the lowest, 0 none" },
	},
	.results = { CHANGED("list"),
		ITEM_TEXT("due", false, ITEM_TIME_MAX, "when it is due") },
)

METHOD(REMINDERS_UPDATE, services_forward,
	.name = "reminders.update",
	.help = "changes a reminder; what is not given stays as it is",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "list", .more_targets = { "moveTo" },
	.service = "reminders", .grant = "reminders.write", .record = "id",
	.params = {
		ITEM_ID,
		LIST_NAME("list", true, "where it is"),
		ITEM_TEXT("title", false, ITEM_TITLE_MAX, "what to do"),
		ITEM_TEXT("notes", false, ITEM_NOTES_MAX, "more about it; empty: none"),
		ITEM_TEXT("due", false, ITEM_TIME_MAX, "a date or time; empty: none"),
		{ "priority", SCHEMA_NUMBER, false, 9, .help = "1 to 9, 0 none" },
		LIST_NAME("moveTo", false, "the list that it goes to"),
		ETAG,
	},
	.results = { CHANGED("list"),
		ITEM_TEXT("due", false, ITEM_TIME_MAX, "when it is due, if that was changed") },
)

METHOD(REMINDERS_COMPLETE, services_forward,
	.name = "reminders.complete",
	.help = "marks a reminder as done; one that recurs becomes due again",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "list",
	.service = "reminders", .grant = "reminders.write", .record = "id",
	.params = { ITEM_ID, LIST_NAME("list", true, "where it is"), ETAG },
	.results = { CHANGED("list"),
		ITEM_TEXT("due", false, ITEM_TIME_MAX, "when it is due again") },
)

METHOD(REMINDERS_DELETE, services_forward,
	.name = "reminders.delete",
	.help = "deletes a reminder",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "list",
	.service = "reminders", .grant = "reminders.write",
	.params = { ITEM_ID, LIST_NAME("list", true, "where it is"), ETAG },
	.results = { DELETED },
)

METHOD(CALENDAR_LIST, services_forward,
	.name = "calendar.list",
	.help = "lists what occurs in a time, in one calendar or in all that are granted",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "calendar",
	.service = "calendar", .grant = "calendar.read", .filters = true,
	.params = {
		LIST_NAME("calendar", false, "its name; all that are granted if not given"),
		ITEM_TEXT("from", false, ITEM_TIME_MAX, "a date or time; now if not given"),
		ITEM_TEXT("to", false, ITEM_TIME_MAX, "the same; a week later if not given"),
		LIMIT,
	},
	.results = { LISTING("events", "calendars") },
)

METHOD(CALENDAR_GET, services_forward,
	.name = "calendar.get",
	.help = "shows an event, with its occurrences in the granted range",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "calendar",
	.service = "calendar", .grant = "calendar.read",
	.params = { ITEM_ID, LIST_NAME("calendar", true, "where it is") },
	.results = {
		{ "occurrences", SCHEMA_JSON, true, LISTING_MAX,
			.help = "as calendar.list has them; of a year from now on, where no range is granted" },
		{ "recurring", SCHEMA_FLAG, true, .help = "it recurs" },
		{ "truncated", SCHEMA_FLAG, true, .help = "there are more" },
		{ "etag", SCHEMA_TEXT, true, ETAG_MAX, .help = "its version" },
	},
)

METHOD(CALENDAR_CREATE, services_forward,
	.name = "calendar.create",
	.help = "adds an event; all of it must be in the granted range",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "calendar",
	.service = "calendar", .grant = "calendar.write", .record = "id",
	.params = {
		LIST_NAME("calendar", true, "its name"),
		ITEM_TEXT("title", true, ITEM_TITLE_MAX, "what it is"),
		ITEM_TEXT("start", true, ITEM_TIME_MAX, "2026-11-16 for whole days, or 2026-11-16T09:00:00+01:00"),
		ITEM_TEXT("end", false, ITEM_TIME_MAX, "the same; of whole days the first that is not in it"),
		ITEM_TEXT("timezone", false, ITEM_TIME_MAX, "whose clock shows it: Europe/Berlin"),
		ITEM_TEXT("location", false, ITEM_TITLE_MAX, "where"),
		ITEM_TEXT("notes", false, ITEM_NOTES_MAX, "more about it"),
		ITEM_TEXT("recurrence", false, ITEM_RULE_MAX, "a rule of RFC 5545: FREQ=WEEKLY;COUNT=10"),
	},
	.results = { CHANGED("calendar") },
)

METHOD(CALENDAR_UPDATE, services_forward,
	.name = "calendar.update",
	.help = "changes an event, with all its recurrences, or one of them; what is not given stays as it is",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "calendar", .more_targets = { "moveTo" },
	.service = "calendar", .grant = "calendar.write", .record = "id",
	.params = {
		ITEM_ID,
		LIST_NAME("calendar", true, "where it is"),
		ITEM_TEXT("title", false, ITEM_TITLE_MAX, "what it is"),
		ITEM_TEXT("start", false, ITEM_TIME_MAX, "a date or time; it takes as long as before"),
		ITEM_TEXT("end", false, ITEM_TIME_MAX, "a date or time"),
		ITEM_TEXT("timezone", false, ITEM_TIME_MAX, "whose clock shows the new times"),
		ITEM_TEXT("location", false, ITEM_TITLE_MAX, "where; empty: nowhere"),
		ITEM_TEXT("notes", false, ITEM_NOTES_MAX, "more about it; empty: none"),
		ITEM_TEXT("recurrence", false, ITEM_RULE_MAX, "a rule; empty: it does not recur"),
		LIST_NAME("moveTo", false, "the calendar that it goes to"),
		ETAG,
		OCCURRENCE,
	},
	.results = { CHANGED("calendar") },
)

METHOD(CALENDAR_DELETE, services_forward,
	.name = "calendar.delete",
	.help = "deletes an event, with all its recurrences, or one of them",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "calendar",
	.service = "calendar", .grant = "calendar.write",
	.params = { ITEM_ID, LIST_NAME("calendar", true, "where it is"), ETAG, OCCURRENCE },
	.results = { DELETED },
)

METHOD(SECRET_INJECT, secrets_inject,
	.shield = "secret_inject",
	.help = "has a secret of the vault injected into the next exec.run of this connection: its program has a "
		"placeholder, and hosts get the value; it is never shown",
	.channels = CHANNEL_SOCKET,
	.op = OPERATION_SERVICE, .target = "name", .grant = "vault.read",
	.params = {
		{ "name", SCHEMA_TEXT, true, 256, .help = "of the secret" },
		{ "targetEnv", SCHEMA_TEXT, false, 256,
			.help = "the variable that the placeholder is in; the secret's name if not given" },
	},
	.results = { { "injected", SCHEMA_FLAG, true, .help = "true" } },
)

METHOD_ASIDE(SKILL_INSTALL,
	.shield = "skill_install",
	.help = "is refused: what runs in a sandbox cannot install skills",
	.channels = CHANNEL_SOCKET,
	.refused = "skills are installed from outside the sandbox; use: corral approve DIR",
)

METHOD_ASIDE(SKILL_UNINSTALL,
	.shield = "skill_uninstall",
	.help = "is refused: what runs in a sandbox cannot remove skills",
	.channels = CHANNEL_SOCKET,
	.refused = "skills are removed from outside the sandbox; use: corral approve --remove DIR",
)
/* clang-format on */
#undef METHOD
#undef METHOD_ASIDE
