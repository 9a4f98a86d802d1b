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

#define PATH(key, text)                                                 \
	{                                                               \
		key, NULL, VALUE_PATH, true, PATH_BYTES - 1, NULL, text \
	}
#define ENCODING                                                            \
	{                                                                   \
		"encoding", NULL, VALUE_CHOICE, false, 0, method_encodings, \
			"how content is written: utf-8, base64 or hex"      \
	}
#define TIMEOUT                                                          \
	{                                                                \
		"timeout", NULL, VALUE_NUMBER, false, TIMEOUT_MAX, NULL, \
			"milliseconds; 30000 if not given"               \
	}
#define URL(text)                                                  \
	{                                                          \
		"url", NULL, VALUE_TEXT, true, URL_MAX, NULL, text \
	}
#define HEADERS                                                                        \
	{                                                                              \
		"headers", NULL, VALUE_PAIRS, false, 0, NULL, "headers of the request" \
	}

#define SOCKET(is_required, text)                                                 \
	{                                                                         \
		"socket", NULL, VALUE_NUMBER, is_required, UINT32_MAX, NULL, text \
	}

/* Reminders and calendars: fields that several methods have. */
#define LIST_NAME(key, is_required, text)                                     \
	{                                                                     \
		key, NULL, VALUE_TEXT, is_required, LIST_NAME_MAX, NULL, text \
	}
#define ITEM_ID                                                                       \
	{                                                                             \
		"id", NULL, VALUE_TEXT, true, ITEM_ID_MAX, NULL, "as the list has it" \
	}
#define ITEM_TEXT(key, is_required, size, text)                      \
	{                                                            \
		key, NULL, VALUE_TEXT, is_required, size, NULL, text \
	}
#define ETAG                                                                           \
	{                                                                              \
		"etag", NULL, VALUE_TEXT, false, ETAG_MAX, NULL,                       \
			"only if it is this version still; else the newest is changed" \
	}
#define OCCURRENCE                                                                         \
	{                                                                                  \
		"occurrence", NULL, VALUE_TEXT, false, ITEM_TIME_MAX, NULL,                \
			"only this one of an event that recurs: as calendar.list names it" \
	}
#define LISTING(what, names)                                                                 \
	{ what, NULL, VALUE_JSON, true, LISTING_MAX, NULL, "maps, one for each" },           \
		{ names, NULL, VALUE_WORDS, true, 0, NULL, "those that may be read" },       \
		{ "truncated", NULL, VALUE_FLAG, true, 0, NULL, "there are more" },          \
	{                                                                                    \
		"skipped", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "that cannot be read" \
	}
#define CHANGED(where)                                                                      \
	{ "id", NULL, VALUE_TEXT, true, ITEM_ID_MAX, NULL, "of the item" },                 \
		{ where, NULL, VALUE_TEXT, true, LIST_NAME_MAX, NULL, "where it is" },      \
	{                                                                                   \
		"etag", NULL, VALUE_TEXT, true, ETAG_MAX, NULL, "its version; may be empty" \
	}
#define DELETED                                                    \
	{                                                          \
		"deleted", NULL, VALUE_FLAG, true, 0, NULL, "true" \
	}
#define LIMIT                                                        \
	{                                                            \
		"limit", NULL, VALUE_NUMBER, false, LIMIT_MAX, NULL, \
			"how many at most; 1000 if not given"        \
	}

const struct method method_rows[METHOD_COUNT] = {
	[METHOD_PING] = {
		.name = "ping",
		.help = "answers, and shows that the broker is there",
		.channels = BOTH,
		.params = { { "echo", NULL, VALUE_TEXT, false, 0, NULL, "text that comes back" } },
		.results = {
			{ "pong", NULL, VALUE_FLAG, true, 0, NULL, "true" },
			{ "echo", NULL, VALUE_TEXT, false, 0, NULL, "what was sent" },
			{ "timestamp", NULL, VALUE_TIME, true, 0, NULL, "the broker's time" },
			{ "version", NULL, VALUE_TEXT, true, 0, NULL, "of Corral" },
		},
	},
	[METHOD_FS_READ] = {
		.name = "fs.read", .shield = "file_read",
		.help = "reads a file",
		.channels = BOTH,
		.op = OPERATION_FS_READ, .target = "path",
		.params = { PATH("path", "the file"), ENCODING },
		.results = {
			{ "content", NULL, VALUE_DATA, true, METHOD_DATA_MAX, NULL, "what it holds" },
			{ "encoding", "", VALUE_TEXT, false, 0, NULL, "how content is written" },
			{ "size", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "bytes" },
			{ "modified", "mtime", VALUE_TIME, true, 0, NULL, "when it was written last" },
		},
	},
	[METHOD_FS_WRITE] = {
		.name = "fs.write", .shield = "file_write",
		.help = "replaces a file as a whole, or makes it",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_FS_WRITE, .target = "path",
		.params = {
			PATH("path", "the file"),
			{ "content", NULL, VALUE_DATA, true, METHOD_DATA_MAX, NULL, "what it is to hold" },
			ENCODING,
			{ "mode", NULL, VALUE_NUMBER, false, MODE_MAX, NULL,
				"permission bits of a new file, as a decimal number" },
		},
		.results = {
			{ "bytesWritten", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "bytes" },
			{ "path", NULL, VALUE_PATH, true, PATH_BYTES - 1, NULL, "where it is" },
		},
	},
	[METHOD_FS_LIST] = {
		.name = "fs.list", .shield = "file_list",
		.help = "lists a folder",
		.channels = BOTH,
		.op = OPERATION_FS_READ, .target = "path",
		.params = {
			PATH("path", "the folder"),
			{ "glob", "pattern", VALUE_TEXT, false, 0, NULL,
				"only names that match: * ? [abc], and ** across folders" },
			{ "recursive", NULL, VALUE_FLAG, false, 0, NULL, "with the folders in it" },
		},
		.results = {
			{ "entries", NULL, VALUE_FILES, true, 0, NULL, "by name" },
			{ "truncated", "", VALUE_FLAG, false, 0, NULL, "there are more" },
		},
	},
	[METHOD_FS_STAT] = {
		.name = "fs.stat",
		.help = "says what a path is",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_FS_READ, .target = "path",
		.params = { PATH("path", "a file or folder") },
		.results = {
			{ "path", NULL, VALUE_PATH, true, PATH_BYTES - 1, NULL, "where it is" },
			{ "type", NULL, VALUE_TEXT, true, 0, NULL, "file, directory, symlink or other" },
			{ "size", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "bytes" },
			{ "mode", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "permission bits" },
			{ "modified", NULL, VALUE_TIME, true, 0, NULL, "when it was written last" },
		},
	},
	[METHOD_FS_DELETE] = {
		.name = "fs.delete",
		.help = "removes a file, a link or an empty folder",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_FS_WRITE, .target = "path",
		.params = { PATH("path", "the file") },
		.results = { { "deleted", NULL, VALUE_FLAG, true, 0, NULL, "true" } },
	},
	[METHOD_NETWORK_HTTP] = {
		.name = "network.http", .shield = "http_request", .is_lossy = true,
		.help = "makes a request to a granted host",
		.channels = BOTH,
		.op = OPERATION_NET_CONNECT, .target = "url",
		.params = {
			URL("http or https"),
			{ "method", NULL, VALUE_CHOICE, false, 0, http_methods, "GET if not given" },
			HEADERS,
			{ "body", NULL, VALUE_DATA, false, METHOD_DATA_MAX, NULL, "of the request" },
			ENCODING,
			TIMEOUT,
			{ "followRedirects", NULL, VALUE_FLAG, false, 0, NULL,
				"each is checked as the first request is; true if not given" },
		},
		.results = {
			{ "status", NULL, VALUE_NUMBER, true, 999, NULL, "of the response" },
			{ "statusText", NULL, VALUE_TEXT, true, 0, NULL, "its words" },
			{ "headers", NULL, VALUE_PAIRS, true, 64 << 10, NULL, "names in small letters" },
			{ "body", NULL, VALUE_DATA, true, METHOD_DATA_MAX, NULL, "decompressed" },
			{ "encoding", "", VALUE_TEXT, false, 0, NULL, "how body is written" },
			{ "url", "", VALUE_TEXT, true, URL_MAX, NULL, "where redirects led" },
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
			{ "resume", NULL, VALUE_FLAG, false, 0, NULL, "go on with what an attempt left" },
			TIMEOUT,
		},
		.results = {
			{ "path", NULL, VALUE_PATH, true, PATH_BYTES - 1, NULL, "where it is" },
			{ "size", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "bytes" },
			{ "status", NULL, VALUE_NUMBER, true, 999, NULL, "of the response" },
			{ "resumed", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "bytes that were there" },
		},
		.note = "network.progress",
		.notes = {
			{ "received", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "bytes so far" },
			{ "total", NULL, VALUE_NUMBER, false, UINT64_MAX, NULL, "bytes, if known" },
		},
	},
	[METHOD_SOCKET_OPEN] = {
		.name = "socket.open", .shield = "socket_open",
		.help = "connects to a granted host by TCP; the socket is this connection's, and ends with it, "
			"or after 10 minutes",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_NET_CONNECT, .target = "address",
		.params = {
			{ "address", NULL, VALUE_TEXT, true, ADDRESS_MAX, NULL, "HOST:PORT" },
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
			{ "max", NULL, VALUE_NUMBER, false, METHOD_SOCKET_MAX, NULL,
				"bytes; 65536 if not given" },
			ENCODING,
			TIMEOUT,
		},
		.results = {
			{ "data", NULL, VALUE_DATA, true, METHOD_SOCKET_MAX, NULL, "at least one byte, or the end" },
			{ "encoding", NULL, VALUE_TEXT, false, 0, NULL, "how data is written" },
			{ "end", NULL, VALUE_FLAG, true, 0, NULL, "the other side sends no more" },
		},
	},
	[METHOD_SOCKET_WRITE] = {
		.name = "socket.write", .shield = "socket_write",
		.help = "sends bytes; fewer than all if the timeout comes first",
		.channels = CHANNEL_SOCKET,
		.params = {
			SOCKET(true, "of socket.open"),
			{ "data", NULL, VALUE_DATA, true, METHOD_SOCKET_MAX, NULL, "what is sent" },
			ENCODING,
			TIMEOUT,
		},
		.results = { { "written", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "bytes" } },
	},
	[METHOD_SOCKET_CLOSE] = {
		.name = "socket.close", .shield = "socket_close",
		.help = "closes a socket, or all of this connection; what was written is still sent, for 2 seconds",
		.channels = CHANNEL_SOCKET,
		.params = { SOCKET(false, "of socket.open; all if not given") },
		.results = { { "closed", NULL, VALUE_NUMBER, true, UINT32_MAX, NULL, "how many" } },
	},
	[METHOD_EXEC_RUN] = {
		.name = "exec.run", .shield = "exec", .is_lossy = true,
		.help = "runs a program in a sandbox of its own with the same permissions; /tmp and home "
			"are empty there",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_EXEC, .target = "command",
		.params = {
			{ "command", NULL, VALUE_TEXT, true, 0, NULL, "a program, by name or path" },
			{ "args", NULL, VALUE_WORDS, false, 128 << 10, NULL, "its arguments" },
			{ "cwd", NULL, VALUE_PATH, false, PATH_BYTES - 1, NULL, "where it starts" },
			{ "env", NULL, VALUE_PAIRS, false, 128 << 10, NULL, "granted variables" },
			TIMEOUT,
			{ "stdin", "", VALUE_DATA, false, METHOD_DATA_MAX, NULL, "what it reads" },
			ENCODING,
			{ "shell", NULL, VALUE_FLAG, false, 0, NULL,
				"must be false: name the shell as the command" },
			{ "stream", "", VALUE_FLAG, false, 0, NULL,
				"output comes as it is printed, by notifications, and not in the answer" },
		},
		.results = {
			{ "exitCode", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL,
				"128 and the signal's number if one ended it" },
			{ "stdout", NULL, VALUE_DATA, true, METHOD_DATA_MAX, NULL, "" },
			{ "stderr", NULL, VALUE_DATA, true, METHOD_DATA_MAX, NULL, "" },
			{ "encoding", "", VALUE_TEXT, false, 0, NULL, "how output is written" },
			{ "signal", NULL, VALUE_TEXT, false, 0, NULL, "that ended it: SIGTERM" },
			{ "timedOut", "", VALUE_FLAG, false, 0, NULL, "the timeout ended it" },
			{ "truncated", "", VALUE_FLAG, false, 0, NULL, "there was more output" },
		},
		.note = "exec.output",
		.notes = {
			{ "stream", NULL, VALUE_CHOICE, true, 0, output_streams, "stdout or stderr" },
			{ "data", NULL, VALUE_DATA, true, METHOD_DATA_MAX, NULL, "what was printed" },
			{ "encoding", NULL, VALUE_TEXT, false, 0, NULL, "how data is written" },
		},
	},
	[METHOD_ENV_GET] = {
		.name = "env.get",
		.help = "reads a granted variable of the caller's environment outside",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_ENV, .target = "name",
		.params = { { "name", NULL, VALUE_TEXT, true, 256, NULL, "of the variable" } },
		.results = {
			{ "value", NULL, VALUE_TEXT, false, 128 << 10, NULL, "not there if it is not set" },
			{ "set", NULL, VALUE_FLAG, true, 0, NULL, "" },
		},
	},
	[METHOD_POLICY_CHECK] = {
		.shield = "policy_check",
		.help = "would this be allowed? Nothing is done",
		.channels = CHANNEL_SOCKET,
		.params = {
			{ "operation", NULL, VALUE_TEXT, true, 64, NULL,
				"fs.read, net.connect, exec …, or a method's name" },
			{ "target", NULL, VALUE_TEXT, true, 0, NULL, "a path, a URL, a command …" },
		},
		.results = {
			{ "allowed", NULL, VALUE_FLAG, true, 0, NULL, "" },
			{ "policyId", NULL, VALUE_TEXT, false, 0, NULL, "the rule that decided" },
			{ "reason", NULL, VALUE_TEXT, false, 0, NULL, "" },
		},
	},
	[METHOD_EVENTS_BATCH] = {
		.shield = "events_batch",
		.help = "adds events to the log, as the caller's own words: 200 in a call, 20 in a second, 2000 in a burst",
		.channels = CHANNEL_SOCKET,
		.params = { { "events", NULL, VALUE_JSON, true, 256 << 10, NULL, "a list of maps" } },
		.results = { { "received", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "" } },
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
			{ "browser", NULL, VALUE_TEXT, false, 256, NULL,
				"must be the one that is configured; the user's if not given" },
		},
		.results = { { "opened", NULL, VALUE_FLAG, true, 0, NULL, "true" } },
	},
	[METHOD_BROWSER_NAVIGATE] = {
		.name = "browser.navigate", .shield = "browser_navigate",
		.help = "opens a page in the sandbox's own browser, and waits until it has loaded",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE, .target = "url",
		.service = "browser", .grant = "browser.navigate", .record = "url",
		.params = { URL("http or https, of a granted domain"), TIMEOUT },
		.results = {
			{ "url", NULL, VALUE_TEXT, true, URL_MAX, NULL, "where redirects led" },
			{ "title", NULL, VALUE_TEXT, true, 0, NULL, "of the page" },
			{ "status", NULL, VALUE_NUMBER, false, 999, NULL, "of the response, if known" },
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
			{ "text", NULL, VALUE_TEXT, true, 1 << 20, NULL, "as a reader sees it" },
			{ "url", NULL, VALUE_TEXT, true, URL_MAX, NULL, "of the page" },
			{ "title", NULL, VALUE_TEXT, true, 0, NULL, "of the page" },
			{ "truncated", NULL, VALUE_FLAG, true, 0, NULL, "there is more" },
		},
	},
	[METHOD_BROWSER_SCREENSHOT] = {
		.name = "browser.screenshot", .shield = "browser_screenshot",
		.help = "takes a picture of the page that the sandbox's browser shows",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE,
		.service = "browser", .grant = "browser.screenshot", .filters = true, .record = "url",
		.params = {
			{ "width", NULL, VALUE_NUMBER, false, 4096, NULL, "of the window; 1280 if not given" },
			{ "height", NULL, VALUE_NUMBER, false, 4096, NULL, "of the window; 720 if not given" },
			{ "fullPage", NULL, VALUE_FLAG, false, 0, NULL,
				"all of the page, up to 16384 pixels, not what the window shows" },
			TIMEOUT,
		},
		.results = {
			{ "data", NULL, VALUE_DATA, true, METHOD_DATA_MAX, NULL, "a PNG" },
			{ "encoding", NULL, VALUE_TEXT, false, 0, NULL, "how data is written" },
			{ "width", NULL, VALUE_NUMBER, true, UINT32_MAX, NULL, "pixels" },
			{ "height", NULL, VALUE_NUMBER, true, UINT32_MAX, NULL, "pixels" },
			{ "url", NULL, VALUE_TEXT, true, URL_MAX, NULL, "of the page" },
		},
	},
	[METHOD_BROWSER_EVAL_JS] = {
		.name = "browser.eval_js", .shield = "browser_eval_js",
		.help = "runs a script in the page that the sandbox's browser shows",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE,
		.service = "browser", .grant = "browser.eval", .filters = true, .record = "origin",
		.params = {
			{ "script", NULL, VALUE_TEXT, true, 256 << 10, NULL,
				"JavaScript; its last value is the result, and a promise is waited for" },
			TIMEOUT,
		},
		.results = {
			{ "result", NULL, VALUE_JSON, true, 1 << 20, NULL, "null if there is none" },
			{ "exception", NULL, VALUE_TEXT, false, 0, NULL, "what the script threw" },
			{ "origin", NULL, VALUE_TEXT, true, 0, NULL, "of the page" },
		},
	},
	[METHOD_BROWSER_CLOSE] = {
		.name = "browser.close",
		.help = "ends the sandbox's browser, with all that it kept",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE,
		.service = "browser", .grant = "browser.navigate", .filters = true, .is_last = true,
		.results = { { "closed", NULL, VALUE_FLAG, true, 0, NULL, "false: there was none" } },
	},
	[METHOD_NOTIFICATIONS_SEND] = {
		.name = "notifications.send",
		.help = "shows a notification on the user's desktop, under the name of the skill or sandbox",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE,
		.service = "notifications", .grant = "notifications.send",
		.per_minute = 10, .seconds = 10,
		.params = {
			{ "title", NULL, VALUE_TEXT, true, 256, NULL, "one line of plain text" },
			{ "body", NULL, VALUE_TEXT, false, 4096, NULL, "plain text; markup is shown as it is" },
			{ "sound", NULL, VALUE_FLAG, false, 0, NULL, "with a sound; false if not given" },
		},
		.results = { { "shown", NULL, VALUE_FLAG, true, 0, NULL, "true" } },
	},
	[METHOD_EMAIL_SEND] = {
		.name = "email.send", .shield = "send_email",
		.help = "sends a mail from the address of services.yaml; to all recipients, or to none",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE, .target = "to", .more_targets = { "cc", "bcc" },
		.service = "email", .grant = "email.send", .mailboxes = true, .lone_words = true,
		.per_minute = 10, .seconds = 60, .record = "messageId",
		.params = {
			{ "to", NULL, VALUE_WORDS, true, 64 << 10, NULL,
				"recipients: ADDRESS or NAME <ADDRESS>; at most 50 in all" },
			{ "cc", NULL, VALUE_WORDS, false, 64 << 10, NULL, "more of them" },
			{ "bcc", NULL, VALUE_WORDS, false, 64 << 10, NULL,
				"more of them, whom the others do not see" },
			{ "subject", NULL, VALUE_TEXT, false, 512, NULL, "one line" },
			{ "body", NULL, VALUE_TEXT, false, 1 << 20, NULL, "plain text" },
			{ "attachments", NULL, VALUE_WORDS, false, 32 << 10, NULL,
				"paths of at most 8 files that the caller may read" },
			{ "timeout", NULL, VALUE_NUMBER, false, TIMEOUT_MAX, NULL,
				"milliseconds; 60000 if not given" },
		},
		.results = {
			{ "messageId", NULL, VALUE_TEXT, true, 512, NULL, "of the mail, without < >" },
			{ "recipients", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "how many got it" },
		},
	},
	[METHOD_CLIPBOARD_READ] = {
		.name = "clipboard.read",
		.help = "reads the text in the user's clipboard",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE,
		.service = "clipboard", .grant = "clipboard.read",
		.per_minute = 60, .seconds = 10,
		.results = { { "text", NULL, VALUE_TEXT, true, 1 << 20, NULL, "what it holds" } },
	},
	[METHOD_CLIPBOARD_WRITE] = {
		.name = "clipboard.write",
		.help = "puts text into the user's clipboard",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE,
		.service = "clipboard", .grant = "clipboard.write",
		.per_minute = 60, .seconds = 10,
		.params = { { "text", NULL, VALUE_TEXT, true, 1 << 20, NULL, "what it is to hold" } },
		.results = { { "written", NULL, VALUE_FLAG, true, 0, NULL, "true" } },
	},
	[METHOD_REMINDERS_LIST] = {
		.name = "reminders.list",
		.help = "lists reminders, of one list or of all that are granted",
		.channels = CHANNEL_SOCKET,
		.op = OPERATION_SERVICE, .target = "list",
		.service = "reminders", .grant = "reminders.read", .filters = true,
		.params = {
			LIST_NAME("list", false, "its name; all that are granted if not given"),
			{ "completed", NULL, VALUE_FLAG, false, 0, NULL, "with those that are done" },
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
			{ "priority", NULL, VALUE_NUMBER, false, 9, NULL, "1 is the highest, 9 the lowest, 0 none" },
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
			{ "priority", NULL, VALUE_NUMBER, false, 9, NULL, "1 to 9, 0 none" },
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
			{ "occurrences", NULL, VALUE_JSON, true, LISTING_MAX, NULL,
				"as calendar.list has them; of a year from now on, where no range is granted" },
			{ "recurring", NULL, VALUE_FLAG, true, 0, NULL, "it recurs" },
			{ "truncated", NULL, VALUE_FLAG, true, 0, NULL, "there are more" },
			{ "etag", NULL, VALUE_TEXT, true, ETAG_MAX, NULL, "its version" },
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
			{ "name", NULL, VALUE_TEXT, true, 256, NULL, "of the secret" },
			{ "targetEnv", NULL, VALUE_TEXT, false, 256, NULL, "the variable it is for" },
		},
		.results = {
			{ "value", NULL, VALUE_TEXT, true, 0, NULL, "" },
			{ "injected", NULL, VALUE_FLAG, true, 0, NULL, "" },
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

size_t method_count(const struct method_field *fields)
{
	size_t n = 0;

	while (fields[n].name)
		n++;
	return n;
}

int method_param(const struct method *m, const char *name, bool by_shield)
{
	for (int i = 0; m->params[i].name; i++) {
		const char *called = method_field_called(&m->params[i], by_shield);

		if (called && strcmp(called, name) == 0)
			return i;
	}
	return -1;
}

uint64_t method_timeout_ms(const struct method *m, const struct values *params)
{
	const int at = method_param(m, "timeout", false);

	if (at >= 0 && params->v[at].type == VALUE_NUMBER && params->v[at].number > 0)
		return params->v[at].number;
	return (m->seconds ? m->seconds : 30) * UINT64_C(1000);
}
