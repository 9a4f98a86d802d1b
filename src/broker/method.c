/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/method.h"

#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "broker/value.h"

/* In the order of enum encoding. */
const char *const method_encodings[] = { "utf-8", "utf8", "base64", "hex", NULL };

static const char *const http_methods[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE",
	"OPTIONS", NULL };

static const char *const output_streams[] = { "stdout", "stderr", NULL };

enum {
	BOTH = CHANNEL_SOCKET | CHANNEL_HTTP,
	TIMEOUT_MAX = 600 * 1000, /* ms */
	URL_MAX = 8 << 10,
	MODE_MAX = 0777,
	LIST_NAME_MAX = 255,
	ITEM_ID_MAX = 1024,
	ITEM_TITLE_MAX = 1024,
	ITEM_NOTES_MAX = 16 << 10,
	ITEM_TIME_MAX = 64,
	ITEM_RULE_MAX = 512,
	ETAG_MAX = 128,
	LISTING_MAX = 3 << 20,
	LIMIT_MAX = 20000,
	ADDRESS_MAX = 300,
};

#define PATH(key, text)                                              \
	{                                                            \
		key, SCHEMA_PATH, true, PATH_BYTES - 1, .help = text \
	}
#define ENCODING                                                               \
	{                                                                      \
		"encoding", SCHEMA_CHOICE, false,                              \
			.words = method_encodings,                             \
			.help = "how content is written: utf-8, base64 or hex" \
	}
#define TIMEOUT                                                    \
	{                                                          \
		"timeout", SCHEMA_NUMBER, false, TIMEOUT_MAX,      \
			.help = "milliseconds; 30000 if not given" \
	}
#define URL(text)                                               \
	{                                                       \
		"url", SCHEMA_TEXT, true, URL_MAX, .help = text \
	}
#define HEADERS                                                                  \
	{                                                                        \
		"headers", SCHEMA_PAIRS, false, .help = "headers of the request" \
	}

#define SOCKET(is_required, text)                                              \
	{                                                                      \
		"socket", SCHEMA_NUMBER, is_required, UINT32_MAX, .help = text \
	}

/* Reminders and calendars: fields that several methods have. */
#define LIST_NAME(key, is_required, text)                                  \
	{                                                                  \
		key, SCHEMA_TEXT, is_required, LIST_NAME_MAX, .help = text \
	}
#define ITEM_ID                                                                    \
	{                                                                          \
		"id", SCHEMA_TEXT, true, ITEM_ID_MAX, .help = "as the list has it" \
	}
#define ITEM_TEXT(key, is_required, size, text)                   \
	{                                                         \
		key, SCHEMA_TEXT, is_required, size, .help = text \
	}
#define ETAG                                                                                   \
	{                                                                                      \
		"etag", SCHEMA_TEXT, false, ETAG_MAX,                                          \
			.help = "only if it is this version still; else the newest is changed" \
	}
#define OCCURRENCE                                                                                 \
	{                                                                                          \
		"occurrence", SCHEMA_TEXT, false, ITEM_TIME_MAX,                                   \
			.help = "only this one of an event that recurs: as calendar.list names it" \
	}
#define LISTING(what, names)                                                              \
	{ what, SCHEMA_JSON, true, LISTING_MAX, .help = "maps, one for each" },           \
		{ names, SCHEMA_WORDS, true, .help = "those that may be read" },          \
		{ "truncated", SCHEMA_FLAG, true, .help = "there are more" },             \
	{                                                                                 \
		"skipped", SCHEMA_NUMBER, true, UINT64_MAX, .help = "that cannot be read" \
	}
#define CHANGED(where)                                                                   \
	{ "id", SCHEMA_TEXT, true, ITEM_ID_MAX, .help = "of the item" },                 \
		{ where, SCHEMA_TEXT, true, LIST_NAME_MAX, .help = "where it is" },      \
	{                                                                                \
		"etag", SCHEMA_TEXT, true, ETAG_MAX, .help = "its version; may be empty" \
	}
#define DELETED                                              \
	{                                                    \
		"deleted", SCHEMA_FLAG, true, .help = "true" \
	}
#define LIMIT                                                         \
	{                                                             \
		"limit", SCHEMA_NUMBER, false, LIMIT_MAX,             \
			.help = "how many at most; 1000 if not given" \
	}

const struct method method_rows[METHOD_COUNT] = {
	[METHOD_PING] = {
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
	},
	[METHOD_FS_READ] = {
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
	},
	[METHOD_FS_WRITE] = {
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
	},
	[METHOD_FS_LIST] = {
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
	},
	[METHOD_FS_STAT] = {
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
	},
	[METHOD_FS_DELETE] = {
		.name = "fs.delete",
		.help = "removes a file, a link or an empty folder",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_FS_WRITE, .target = "path",
		.params = { PATH("path", "the file") },
		.results = { { "deleted", SCHEMA_FLAG, true, .help = "true" } },
	},
	[METHOD_NETWORK_HTTP] = {
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
	},
	[METHOD_NETWORK_DOWNLOAD] = {
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
	},
	[METHOD_SOCKET_OPEN] = {
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
	},
	[METHOD_SOCKET_READ] = {
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
	},
	[METHOD_SOCKET_WRITE] = {
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
	},
	[METHOD_SOCKET_CLOSE] = {
		.name = "socket.close", .shield = "socket_close",
		.help = "closes a socket, or all of this connection; what was written is still sent, for 2 seconds",
		.channels = CHANNEL_SOCKET,
		.params = { SOCKET(false, "of socket.open; all if not given") },
		.results = { { "closed", SCHEMA_NUMBER, true, UINT32_MAX, .help = "how many" } },
	},
	[METHOD_EXEC_RUN] = {
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
	},
	[METHOD_ENV_GET] = {
		.name = "env.get",
		.help = "reads a granted variable of the caller's environment outside",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_ENV, .target = "name",
		.params = { { "name", SCHEMA_TEXT, true, 256, .help = "of the variable" } },
		.results = {
			{ "value", SCHEMA_TEXT, false, 128 << 10, .help = "not there if it is not set" },
			{ "set", SCHEMA_FLAG, true, .help = "" },
		},
	},
	[METHOD_POLICY_CHECK] = {
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
	},
	[METHOD_EVENTS_BATCH] = {
		.shield = "events_batch",
		.help = "adds events to the log, as the caller's own words: 200 in a call, 20 in a second, 2000 in a burst",
		.channels = CHANNEL_SOCKET,
		.params = { { "events", SCHEMA_JSON, true, 256 << 10, .help = "a list of maps" } },
		.results = { { "received", SCHEMA_NUMBER, true, UINT64_MAX, .help = "" } },
	},
	[METHOD_OPEN_URL] = {
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
	},
	[METHOD_BROWSER_NAVIGATE] = {
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
	},
	[METHOD_BROWSER_TEXT] = {
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
	},
	[METHOD_BROWSER_SCREENSHOT] = {
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
	},
	[METHOD_BROWSER_EVAL_JS] = {
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
	},
	[METHOD_BROWSER_CLOSE] = {
		.name = "browser.close",
		.help = "ends the sandbox's browser, with all that it kept",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE,
		.service = "browser", .grant = "browser.navigate", .filters = true, .is_last = true,
		.results = { { "closed", SCHEMA_FLAG, true, .help = "false: there was none" } },
	},
	[METHOD_NOTIFICATIONS_SEND] = {
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
	},
	[METHOD_EMAIL_SEND] = {
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
	},
	[METHOD_CLIPBOARD_READ] = {
		.name = "clipboard.read",
		.help = "reads the text in the user's clipboard",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE,
		.service = "clipboard", .grant = "clipboard.read",
		.per_minute = 60, .seconds = 10,
		.results = { { "text", SCHEMA_TEXT, true, 1 << 20, .help = "what it holds" } },
	},
	[METHOD_CLIPBOARD_WRITE] = {
		.name = "clipboard.write",
		.help = "puts text into the user's clipboard",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE,
		.service = "clipboard", .grant = "clipboard.write",
		.per_minute = 60, .seconds = 10,
		.params = { { "text", SCHEMA_TEXT, true, 1 << 20, .help = "what it is to hold" } },
		.results = { { "written", SCHEMA_FLAG, true, .help = "true" } },
	},
	[METHOD_REMINDERS_LIST] = {
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
	},
	[METHOD_REMINDERS_ADD] = {
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
	},
	[METHOD_REMINDERS_UPDATE] = {
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
	},
	[METHOD_REMINDERS_COMPLETE] = {
		.name = "reminders.complete",
		.help = "marks a reminder as done; one that recurs becomes due again",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE, .target = "list",
		.service = "reminders", .grant = "reminders.write", .record = "id",
		.params = { ITEM_ID, LIST_NAME("list", true, "where it is"), ETAG },
		.results = { CHANGED("list"),
			ITEM_TEXT("due", false, ITEM_TIME_MAX, "when it is due again") },
	},
	[METHOD_REMINDERS_DELETE] = {
		.name = "reminders.delete",
		.help = "deletes a reminder",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE, .target = "list",
		.service = "reminders", .grant = "reminders.write",
		.params = { ITEM_ID, LIST_NAME("list", true, "where it is"), ETAG },
		.results = { DELETED },
	},
	[METHOD_CALENDAR_LIST] = {
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
	},
	[METHOD_CALENDAR_GET] = {
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
	},
	[METHOD_CALENDAR_CREATE] = {
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
	},
	[METHOD_CALENDAR_UPDATE] = {
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
	},
	[METHOD_CALENDAR_DELETE] = {
		.name = "calendar.delete",
		.help = "deletes an event, with all its recurrences, or one of them",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE, .target = "calendar",
		.service = "calendar", .grant = "calendar.write",
		.params = { ITEM_ID, LIST_NAME("calendar", true, "where it is"), ETAG, OCCURRENCE },
		.results = { DELETED },
	},
	[METHOD_SECRET_INJECT] = {
		.shield = "secret_inject",
		.help = "gives a secret of the vault",
		.channels = CHANNEL_SOCKET,
		.params = {
			{ "name", SCHEMA_TEXT, true, 256, .help = "of the secret" },
			{ "targetEnv", SCHEMA_TEXT, false, 256, .help = "the variable it is for" },
		},
		.results = {
			{ "value", SCHEMA_TEXT, true, .help = "" },
			{ "injected", SCHEMA_FLAG, true, .help = "" },
		},
	},
	[METHOD_SKILL_INSTALL] = {
		.shield = "skill_install",
		.help = "is refused: what runs in a sandbox cannot install skills",
		.channels = CHANNEL_SOCKET,
		.refused = "skills are installed from outside the sandbox; use: corral approve DIR",
	},
	[METHOD_SKILL_UNINSTALL] = {
		.shield = "skill_uninstall",
		.help = "is refused: what runs in a sandbox cannot remove skills",
		.channels = CHANNEL_SOCKET,
		.refused = "skills are removed from outside the sandbox; use: corral approve --remove DIR",
	},
};

static bool method_is_called(const char *a, const char *name, size_t len)
{
	return a && strlen(a) == len && memcmp(a, name, len) == 0;
}

const struct method *method_find(const char *name, size_t len, bool *ret_shield)
{
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		const struct method *m = &method_rows[i];

		*ret_shield = method_is_called(m->shield, name, len);
		if (*ret_shield || method_is_called(m->name, name, len))
			return m;
	}
	return NULL;
}

const char *method_called(const struct method *m, bool by_shield)
{
	return (by_shield && m->shield) || !m->name ? m->shield : m->name;
}

int method_param(const struct method *m, const char *name, bool by_shield)
{
	for (int i = 0; m->params[i].name; i++) {
		const char *called = method_called_field(&m->params[i], by_shield);

		if (called && strcmp(called, name) == 0)
			return i;
	}
	return -1;
}

uint64_t method_timeout_ms(const struct method *m, const struct values *params)
{
	const int at = method_param(m, "timeout", false);

	if (at >= 0 && params->v[at].type == SCHEMA_NUMBER && params->v[at].number > 0)
		return params->v[at].number;
	return (m->seconds ? m->seconds : 30) * UINT64_C(1000);
}
