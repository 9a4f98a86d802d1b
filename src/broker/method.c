/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/method.h"

#include <string.h>

#include "base/array.h"
#include "base/path.h"

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
		.help = "adds events to the log, as the caller's own words; 20 in a second, 2000 at once",
		.channels = CHANNEL_SOCKET,
		.params = { { "events", NULL, VALUE_JSON, true, 256 << 10, NULL, "a list of maps" } },
		.results = { { "received", NULL, VALUE_NUMBER, true, UINT64_MAX, NULL, "" } },
	},
	[METHOD_OPEN_URL] = {
		.name = "browser.open", .shield = "open_url",
		.help = "opens a page in the user's browser",
		.channels = BOTH,
		.op = OPERATION_SERVICE, .target = "url",
		.params = {
			URL("http or https, of a granted domain"),
			{ "browser", NULL, VALUE_TEXT, false, 256, NULL, "which one, where there are several" },
		},
		.results = { { "opened", NULL, VALUE_FLAG, true, 0, NULL, "true" } },
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
