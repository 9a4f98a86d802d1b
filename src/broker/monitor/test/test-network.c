/* SPDX-License-Identifier: Apache-2.0 */
/*
 * network.http and network.download by frames, with real servers on loopback (tests/broker/
 * origin.py): what they answer, and what servers and callers try. argv[1]: origin.py.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "broker/monitor/internal.h"
#include "broker/monitor/test/test-stage.h"
#include "test/scratch.h"

enum { URL, METHOD, HEADERS, BODY, ENCODING, TIMEOUT, FOLLOW };
/* Longer than many processes take to start on a busy machine. */
enum { LONG_MS = 300 * 1000 };
enum { STATUS, STATUS_TEXT, FIELDS, CONTENT, CONTENT_ENCODING, WHERE };
enum { FILE_BYTES = 1 << 20 };

static struct stage stage;
static const char *script;
static struct {
	char folder[64];
	pid_t pid;
	int in;
	unsigned plain, other, secure;
} origin;

static void origin_start(const char *certificate, const char *key)
{
	char *const argv[] = { (char *)"python3", (char *)script, origin.folder,
		(char *)certificate, (char *)key, NULL };
	posix_spawn_file_actions_t actions;
	int in[2], out[2];
	char line[128] = "", *rest;
	auto_fd read_end = -1;

	(void)snprintf(origin.folder, sizeof(origin.folder), "/tmp/corral-origin-XXXXXX");
	assert_non_null(mkdtemp(origin.folder));
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	assert_int_equal(posix_spawnp(&origin.pid, argv[0], &actions, NULL, argv, environ), 0);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)close(in[0]);
	(void)close(out[1]);
	origin.in = in[1];
	read_end = out[0];
	for (size_t n = 0; n + 1 < sizeof(line) && !strchr(line, '\n'); n++)
		assert_int_equal(read(read_end, line + n, 1), 1);
	origin.plain = (unsigned)strtoul(line, &rest, 10);
	origin.other = (unsigned)strtoul(rest, &rest, 10);
	origin.secure = (unsigned)strtoul(rest, &rest, 10);
	assert_true(origin.plain && origin.other);
}

static void origin_end(void)
{
	(void)close(origin.in);
	(void)waitpid(origin.pid, NULL, 0);
	scratch_remove(origin.folder);
}

/* Requests that arrived, as origin.py writes them. */
static const char *origin_log(void)
{
	static struct buffer text;
	char path[128];

	buffer_clear(&text);
	(void)snprintf(path, sizeof(path), "%s/log", origin.folder);
	(void)file_read(path, 1 << 20, &text);
	return buffer_text(&text);
}

static void origin_write(const char *name, const char *text)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", origin.folder, name);
	assert_int_equal(file_replace(path, text, strlen(text), 0644), 0);
}

static void origin_remove(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", origin.folder, name);
	(void)unlink(path);
}

static void set_up_with(const char *more)
{
	auto_buffer policy = { 0 };

	buffer_printf(&policy,
		"{\"fs\":{\"read\":[\"$WORK_DIR/{,**}\"],\"write\":[\"$WORK_DIR/out/{,**}\"]},"
		"\"network\":{\"allow\":[\"localhost:%u\",\"localhost:%u\"]%s}}",
		origin.plain, origin.secure ? origin.secure : origin.plain, more);
	stage = (struct stage){ 0 };
	stage_start(&stage, policy.data);
	assert_int_equal(mkdir(stage_path(&stage, "out"), 0755), 0);
}

static int set_up(void **state)
{
	(void)state;
	origin_start(NULL, NULL);
	set_up_with("");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	stage_remove(&stage);
	origin_end();
	return 0;
}

/* Calls */

static const char *url_of(unsigned port, const char *path)
{
	static char texts[4][512];
	static unsigned n;
	char *text = texts[n++ % ROWS(texts)];

	(void)snprintf(text, sizeof(texts[0]), "http://localhost:%u%s", port, path);
	return text;
}

static uint64_t fetch(struct values *v, const char *url)
{
	static uint64_t id = 1000;

	v->v[URL] = stage_text(SCHEMA_TEXT, url);
	if (v->v[TIMEOUT].type == SCHEMA_NONE)
		v->v[TIMEOUT] = value_number(SCHEMA_NUMBER, LONG_MS);
	stage_call(&stage, ++id, METHOD_NETWORK_HTTP, 0, v);
	return id;
}

/* The body that a GET of this brings. */
static const char *gets(const char *url)
{
	struct values v = { 0 };

	stage_answer(&stage, fetch(&v, url), METHOD_NETWORK_HTTP);
	return stage.answer.v[CONTENT].text;
}

static void refuses(const char *url, enum rpc_class class, const char *part)
{
	struct values v = { 0 };

	stage_refused(&stage, fetch(&v, url), class);
	if (!strstr(stage.why.message, part))
		fail_msg("%s: %s, not %s", url, stage.why.message, part);
}

static const char *field(const char *name)
{
	const struct value *v = &stage.answer.v[FIELDS];

	for (size_t i = 0; i < v->n; i++) {
		if (strcmp(v->items[i].key, name) == 0)
			return v->items[i].text;
	}
	return NULL;
}

static struct value method(const char *name)
{
	const char *const *words = method_rows[METHOD_NETWORK_HTTP].params[METHOD].words;
	uint64_t i = 0;

	while (strcmp(words[i], name) != 0)
		i++;
	return value_number(SCHEMA_CHOICE, i);
}

/* Tests */

static void test_get(void **state)
{
	(void)state;
	assert_string_equal(gets(url_of(origin.plain, "/hello#part")), "hello\n");
	assert_int_equal(stage.answer.v[STATUS].number, 200);
	assert_string_equal(stage.answer.v[STATUS_TEXT].text, "OK");
	assert_string_equal(field("x-word"), "one");
	assert_string_equal(stage.answer.v[WHERE].text, url_of(origin.plain, "/hello"));
	(void)gets(url_of(origin.plain, "/none"));
	assert_int_equal(stage.answer.v[STATUS].number, 404);
	assert_string_equal(gets(url_of(origin.plain, "/zip")), "small\n");
	(void)gets(url_of(origin.plain, "/bytes?n=4194304"));
	assert_int_equal(stage.answer.v[CONTENT].len, 4194304);
	assert_string_equal(gets(url_of(origin.plain, "/odd-fields")), "ok");
	assert_string_equal(field("vary"), "a, b");
	assert_string_equal(field("x-latin"), "gr\xc3\xbc\xc3\x9f");
	assert_string_equal(field("x-bell"), "a b");
	assert_string_equal(stage.answer.v[STATUS_TEXT].text, "Fine\xc3\xbc");
}

static void test_methods_and_headers(void **state)
{
	static const struct value_item headers[] = { { "X-One", "1" }, { "X-Empty", "" },
		{ "Content-Type", "text/x" }, { "Authorization", "Bearer t" } };
	static const char *const methods[] = { "POST", "PUT", "PATCH", "DELETE" };
	struct values v = { 0 };
	const char *body;

	(void)state;
	v.v[HEADERS] = (struct value){ .type = SCHEMA_PAIRS, .items = headers, .n = ROWS(headers) };
	v.v[BODY] = (struct value){ .type = SCHEMA_DATA, .text = "a\0b", .len = 3 };
	for (size_t i = 0; i < ROWS(methods); i++) {
		v.v[METHOD] = method(methods[i]);
		stage_answer(
			&stage, fetch(&v, url_of(origin.plain, "/echo?a=b")), METHOD_NETWORK_HTTP);
		body = stage.answer.v[CONTENT].text;
		assert_int_equal(strncmp(body, methods[i], strlen(methods[i])), 0);
		assert_non_null(strstr(body, "/echo?a=b\n"));
		assert_non_null(strstr(body, "authorization: Bearer t\n"));
		assert_non_null(strstr(body, "content-length: 3\ncontent-type: text/x\n"));
		assert_non_null(strstr(body, "x-empty: \nx-one: 1\n"));
		assert_null(strstr(body, "expect:"));
		assert_memory_equal(body + stage.answer.v[CONTENT].len - 3, "a\0b", 3);
	}
	v = (struct values){ 0 };
	v.v[METHOD] = method("HEAD");
	stage_answer(&stage, fetch(&v, url_of(origin.plain, "/hello")), METHOD_NETWORK_HTTP);
	assert_int_equal(stage.answer.v[CONTENT].len, 0);
	assert_string_equal(field("content-length"), "6");
	body = gets(url_of(origin.plain, "/echo"));
	assert_null(strstr(body, "content-type"));
	assert_null(strstr(body, "cookie"));
	assert_non_null(strstr(body, "user-agent: corral\n"));
}

/* What a caller must not say, wherever it says it. */
static void test_injection(void **state)
{
	static const struct value_item bad[] = { { "Host", "other.example" },
		{ "X", "a\r\nHost: other.example" }, { "X\r\nHost", "a" },
		{ "Content-Length", "0" }, { "Transfer-Encoding", "chunked" },
		{ "Connection", "Host" }, { "Proxy-Authorization", "x" }, { "Upgrade", "h2c" },
		{ "Expect", "100-continue" }, { "TE", "trailers" }, { "", "x" }, { "X:", "y" } };
	static const char *const urls[] = { "file:///etc/passwd", "gopher://localhost/",
		"ftp://localhost/", "dict://localhost:6379/", "localhost", "http://",
		"http://u:p@localhost/", "http://localhost/a b", "http://localhost/\r\nX: y",
		"http://[::1", "unix:/run/docker.sock" };

	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		struct values v = { 0 };

		v.v[HEADERS] = (struct value){ .type = SCHEMA_PAIRS, .items = &bad[i], .n = 1 };
		stage_refused(&stage, fetch(&v, url_of(origin.plain, "/echo")), RPC_PARAMS);
		assert_non_null(strstr(stage.why.message, "headers: "));
	}
	for (size_t i = 0; i < ROWS(urls); i++)
		refuses(urls[i], RPC_PARAMS, "url: ");
	assert_string_equal(origin_log(), "");
}

static void test_policy(void **state)
{
	(void)state;
	refuses(url_of(origin.other, "/hello"), RPC_PERMISSION, "permission denied");
	refuses("http://169.254.169.254/latest/meta-data/", RPC_PERMISSION, "");
	refuses("http://[fd00:ec2::254]/", RPC_PERMISSION, "");
	refuses("http://10.0.0.1/", RPC_PERMISSION, "");
	refuses("http://evil.example/", RPC_PERMISSION, "");
	assert_string_equal(origin_log(), "");
	assert_non_null(stage.why.hint);
}

/* Where a server sends its client is another request. */
static void test_redirects(void **state)
{
	static const char *const bad[] = { "http://169.254.169.254/latest/meta-data/",
		"http://10.0.0.1/", "http://evil.example/", "http://127.0.0.1/",
		"http://metadata.google.internal/", "//169.254.169.254/" };
	static const char *const schemes[] = { "file:///etc/passwd", "gopher://localhost:70/",
		"ftp://localhost/", "http://u:p@localhost/" };
	char path[256];

	(void)state;
	(void)snprintf(path, sizeof(path), "/redirect?to=/hello");
	assert_string_equal(gets(url_of(origin.plain, path)), "hello\n");
	assert_string_equal(stage.answer.v[WHERE].text, url_of(origin.plain, "/hello"));
	for (size_t i = 0; i < ROWS(bad); i++) {
		(void)snprintf(path, sizeof(path), "/redirect?to=%s", bad[i]);
		refuses(url_of(origin.plain, path), RPC_PERMISSION, "");
	}
	(void)snprintf(path, sizeof(path), "/redirect?to=http://localhost:%u/hello", origin.other);
	refuses(url_of(origin.plain, path), RPC_PERMISSION, "permission denied");
	for (size_t i = 0; i < ROWS(schemes); i++) {
		(void)snprintf(path, sizeof(path), "/redirect?to=%s", schemes[i]);
		refuses(url_of(origin.plain, path), RPC_NETWORK, "is not followed");
	}
	refuses(url_of(origin.plain, "/around"), RPC_NETWORK, "more than 10 redirects");
	/* None of it reached the server that was not granted. */
	(void)snprintf(path, sizeof(path), "%u\t", origin.other);
	assert_null(strstr(origin_log(), path));
}

static void test_redirects_are_kept(void **state)
{
	struct values v = { 0 };

	(void)state;
	v.v[FOLLOW] = value_number(SCHEMA_FLAG, 0);
	stage_answer(&stage,
		fetch(&v, url_of(origin.plain, "/redirect?to=http://169.254.169.254/")),
		METHOD_NETWORK_HTTP);
	assert_int_equal(stage.answer.v[STATUS].number, 302);
	assert_string_equal(field("location"), "http://169.254.169.254/");
	assert_string_equal(stage.answer.v[CONTENT].text, "elsewhere");
}

static void test_redirect_methods(void **state)
{
	static const struct {
		int code;
		const char *first;
	} rows[] = { { 302, "GET /echo\n" }, { 303, "GET /echo\n" }, { 307, "POST /echo\n" } };
	static const struct value_item headers[] = { { "Content-Type", "text/x" } };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct values v = { 0 };
		const char *body;
		char path[64];

		v.v[METHOD] = method("POST");
		v.v[BODY] = (struct value){ .type = SCHEMA_DATA, .text = "body", .len = 4 };
		v.v[HEADERS] = (struct value){ .type = SCHEMA_PAIRS, .items = headers, .n = 1 };
		(void)snprintf(path, sizeof(path), "/redirect?code=%d&to=/echo", rows[i].code);
		stage_answer(&stage, fetch(&v, url_of(origin.plain, path)), METHOD_NETWORK_HTTP);
		body = stage.answer.v[CONTENT].text;
		assert_int_equal(strncmp(body, rows[i].first, strlen(rows[i].first)), 0);
		assert_int_equal(!strstr(body, "\n\nbody"), rows[i].code != 307);
		assert_int_equal(!strstr(body, "content-type"), rows[i].code != 307);
	}
}

/* Servers that do not keep to the rules. */
static void test_servers(void **state)
{
	static const struct {
		const char *path;
		enum rpc_class class;
		const char *part;
	} rows[] = {
		{ "/bomb", RPC_NETWORK, "more than 4194304 bytes" },
		{ "/bomb?twice=1", RPC_NETWORK, "more than 4194304 bytes" },
		{ "/endless", RPC_NETWORK, "more than 4194304 bytes" },
		{ "/bytes?n=4194305", RPC_NETWORK, "more than 4194304 bytes" },
		{ "/endless-head", RPC_NETWORK, "the head of the response is too large" },
		{ "/cut", RPC_NETWORK, "" },
		{ "/two-lengths", RPC_NETWORK, "" },
		{ "/bad-chunks", RPC_NETWORK, "" },
		{ "/bad-zip", RPC_NETWORK, "" },
		{ "/old", RPC_NETWORK, "" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		refuses(url_of(origin.plain, rows[i].path), rows[i].class, rows[i].part);
	assert_string_equal(gets(url_of(origin.plain, "/more")), "hello");
	assert_string_equal(gets(url_of(origin.plain, "/hello")), "hello\n");
}

static void test_time(void **state)
{
	static const char *const paths[] = { "/silent", "/slow", "/redirect?to=/silent" };
	struct values v = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(paths); i++) {
		v.v[TIMEOUT] = value_number(SCHEMA_NUMBER, 700);
		stage_refused(&stage, fetch(&v, url_of(origin.plain, paths[i])), RPC_TIMEOUT);
	}
}

/* Others go on while one waits; and what is not wanted any more ends. */
static void test_cancel(void **state)
{
	struct values v = { 0 };
	uint64_t id = fetch(&v, url_of(origin.plain, "/silent"));

	(void)state;
	assert_string_equal(gets(url_of(origin.plain, "/hello")), "hello\n");
	assert_int_equal(monitor_calls(stage.monitor), 1);
	stage_send(&stage, FRAME_CALL_CANCEL, id, NULL, 0);
	stage_refused(&stage, id, RPC_INTERNAL);
	assert_int_equal(monitor_calls(stage.monitor), 0);
	/* A front that goes takes its calls along. */
	(void)fetch(&v, url_of(origin.plain, "/silent"));
	stage_reconnect(&stage);
	assert_string_equal(gets(url_of(origin.plain, "/hello")), "hello\n");
}

static void test_many(void **state)
{
	enum { MANY = 20 };
	struct values v = { 0 };
	uint64_t first = 0, seen = 0;

	(void)state;
	for (int i = 0; i < MANY; i++) {
		uint64_t id = fetch(&v, url_of(origin.plain, "/hello"));

		first = first ? first : id;
	}
	for (int i = 0; i < MANY; i++) {
		assert_true(stage_hear(&stage));
		assert_int_equal(stage.frame.type, FRAME_CALL_ANSWER);
		seen |= UINT64_C(1) << (stage.frame.id - first);
	}
	assert_int_equal(seen, (UINT64_C(1) << MANY) - 1);
}

/* Each has a process, and memory for its response: no caller gets more than half of them. */
static void test_too_many(void **state)
{
	enum { ONE_CALLER = 32 };
	struct values v = { 0 };
	uint64_t first = 0;

	(void)state;
	for (int i = 0; i < ONE_CALLER; i++) {
		uint64_t id = fetch(&v, url_of(origin.plain, "/silent"));

		first = first ? first : id;
	}
	refuses(url_of(origin.plain, "/hello"), RPC_RATE, "too many requests");
	stage_send(&stage, FRAME_CALL_CANCEL, first, NULL, 0);
	stage_refused(&stage, first, RPC_INTERNAL);
	/* A thread may still be starting it. */
	while (monitor_calls(stage.monitor) == ONE_CALLER)
		assert_int_equal(loop_turn(stage.loop, 10), 0);
	assert_string_equal(gets(url_of(origin.plain, "/hello")), "hello\n");
}

/* The policy's limits, and its words about paths and methods. */
static void test_limits(void **state)
{
	struct values v = { 0 };
	char more[256];

	(void)state;
	stage_remove(&stage);
	set_up_with(",\"rate_limit\":\"3/min\",\"max_request_size\":\"10\"");
	for (int i = 0; i < 3; i++)
		assert_string_equal(gets(url_of(origin.plain, "/hello")), "hello\n");
	refuses(url_of(origin.plain, "/hello"), RPC_RATE, "3");
	v.v[METHOD] = method("POST");
	v.v[BODY] = (struct value){ .type = SCHEMA_DATA, .text = "12345678901", .len = 11 };
	stage_refused(&stage, fetch(&v, url_of(origin.plain, "/echo")), RPC_SCOPE);

	/* A URL with a path grants no connection, but requests below it. */
	stage_remove(&stage);
	origin.secure = origin.plain;
	(void)snprintf(more, sizeof(more),
		"},\"rules\":[{\"id\":\"a\",\"action\":\"allow\",\"operations\":[\"net.connect\"],"
		"\"patterns\":[\"http://localhost:%u/he*\"],\"methods\":[\"GET\"]}],\"x\":{",
		origin.other);
	*strstr(more, ",\"x\":{") = '\0';
	{
		auto_buffer policy = { 0 };

		buffer_printf(&policy,
			"{\"fs\":{\"read\":[\"$WORK_DIR/"
			"{,**}\"]},\"network\":{\"allow\":[\"localhost:"
			"%u\"]%s}",
			origin.plain, more);
		stage = (struct stage){ 0 };
		stage_start(&stage, policy.data);
		assert_int_equal(mkdir(stage_path(&stage, "out"), 0755), 0);
	}
	assert_string_equal(gets(url_of(origin.other, "/hello")), "hello\n");
	refuses(url_of(origin.other, "/echo"), RPC_PERMISSION, "");
	v.v[METHOD] = method("DELETE");
	v.v[BODY] = (struct value){ 0 };
	stage_refused(&stage, fetch(&v, url_of(origin.other, "/hello")), RPC_PERMISSION);
	/* Nor by a redirect from a host that may do more. */
	(void)snprintf(more, sizeof(more), "/redirect?code=307&to=http://localhost:%u/hello",
		origin.other);
	stage_refused(&stage, fetch(&v, url_of(origin.plain, more)), RPC_PERMISSION);
	origin.secure = 0;
}

/* Downloads */

enum { SAVE_TO = 1, GET_HEADERS, RESUME, GET_TIMEOUT };
enum { SAVED, SIZE, SAVE_STATUS, RESUMED };

static uint64_t download(const char *url, const char *path, bool resume)
{
	static uint64_t id = 5000;
	struct values v = { 0 };

	v.v[URL] = stage_text(SCHEMA_TEXT, url);
	v.v[SAVE_TO] = stage_text(SCHEMA_PATH, path);
	v.v[RESUME] = value_number(SCHEMA_FLAG, resume);
	v.v[GET_TIMEOUT] = value_number(SCHEMA_NUMBER, LONG_MS);
	stage_call(&stage, ++id, METHOD_NETWORK_DOWNLOAD, 0, &v);
	return id;
}

/* Until the answer; counts the notes before it, and takes them. */
static unsigned downloads(uint64_t id, uint64_t size, uint64_t resumed)
{
	unsigned notes = 0;

	for (;;) {
		assert_true(stage_hear(&stage));
		assert_int_equal(stage.frame.id, id);
		if (stage.frame.type != FRAME_CALL_NOTE)
			break;
		notes++;
		stage_send(&stage, FRAME_CALL_NOTE, id, NULL, 0);
	}
	arena_deinit(&stage.arena);
	if (stage.frame.type != FRAME_CALL_ANSWER) {
		assert_int_equal(values_decode(rpc_refusal_fields, stage.frame.body,
					 stage.frame.len, &stage.arena, &stage.answer),
			0);
		assert_int_equal(rpc_refusal_read(&stage.answer, &stage.why), 0);
		if (size != UINT64_MAX)
			fail_msg("refused: %s", stage.why.message);
		return notes;
	}
	assert_true(size != UINT64_MAX);
	assert_int_equal(values_decode(method_rows[METHOD_NETWORK_DOWNLOAD].results,
				 stage.frame.body, stage.frame.len, &stage.arena, &stage.answer),
		0);
	assert_int_equal(stage.answer.v[SIZE].number, size);
	assert_int_equal(stage.answer.v[RESUMED].number, resumed);
	return notes;
}

static bool is_whole(const char *path)
{
	auto_buffer text = { 0 };

	if (file_read(path, 2 * FILE_BYTES, &text) < 0 || text.len != FILE_BYTES)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		if ((unsigned char)text.data[i] != i % 256)
			return false;
	}
	return true;
}

static void test_download(void **state)
{
	char path[256];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s", stage_path(&stage, "out/file"));
	assert_true(downloads(download(url_of(origin.plain, "/file?pause=0.05"), path, false),
			    FILE_BYTES, 0) > 0);
	assert_true(is_whole(path));
	assert_string_equal(stage.answer.v[SAVED].text, path);
	/* By a relative path, and by a redirect. */
	(void)downloads(download(url_of(origin.plain, "/redirect?to=/file"), "out/b", false),
		FILE_BYTES, 0);
	assert_true(is_whole(stage_path(&stage, "out/b")));
	/* What is compressed stays so: the file is what the server has. */
	(void)downloads(download(url_of(origin.plain, "/bad-zip"), "out/zip", false), 22, 0);
}

static void test_download_refused(void **state)
{
	(void)state;
	stage_refused(&stage,
		download(url_of(origin.plain, "/file"), stage_path(&stage, "no"), false),
		RPC_PERMISSION);
	stage_refused(&stage, download(url_of(origin.plain, "/file"), "/etc/passwd", false),
		RPC_PERMISSION);
	/* Nothing was asked for on behalf of a file that may not be written. */
	assert_string_equal(origin_log(), "");
	stage_refused(
		&stage, download(url_of(origin.other, "/file"), "out/a", false), RPC_PERMISSION);
	stage_refused(&stage, download(url_of(origin.plain, "/none"), "out/a", false), RPC_NETWORK);
	stage_refused(&stage,
		download(url_of(origin.plain, "/redirect?to=http://10.0.0.1/"), "out/a", false),
		RPC_PERMISSION);
	(void)downloads(download(url_of(origin.plain, "/cut"), "out/a", false), UINT64_MAX, 0);
	assert_int_equal(stage.why.class, RPC_NETWORK);
	assert_int_equal(access(stage_path(&stage, "out/a"), F_OK), -1);
}

static void test_download_resumes(void **state)
{
	const char *url = url_of(origin.plain, "/file?cut=300000");
	char path[256];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s", stage_path(&stage, "out/file"));
	(void)downloads(download(url, path, false), UINT64_MAX, 0);
	assert_int_equal(stage.why.class, RPC_NETWORK);
	assert_int_equal(access(path, F_OK), -1);
	/* The same version: only the rest. */
	origin_write("whole", "");
	(void)downloads(download(url, path, true), FILE_BYTES, 300000);
	assert_int_equal(stage.answer.v[SAVE_STATUS].number, 206);
	assert_true(is_whole(path));
	assert_non_null(strstr(origin_log(), "range=bytes=300000-\tif-range=\"one\""));
	/* Another version meanwhile: all of it. */
	(void)unlink(path);
	origin_remove("whole");
	(void)downloads(download(url, path, false), UINT64_MAX, 0);
	origin_write("whole", "");
	origin_write("version", "\"two\"");
	(void)downloads(download(url, path, true), FILE_BYTES, 0);
	assert_true(is_whole(path));
	/* Nothing there: it begins at the start. */
	(void)unlink(path);
	(void)downloads(download(url, path, true), FILE_BYTES, 0);
	assert_true(is_whole(path));
}

static void test_download_cancelled(void **state)
{
	uint64_t id = download(url_of(origin.plain, "/file?pause=0.1"), "out/file", false);

	(void)state;
	assert_true(stage_hear(&stage));
	assert_int_equal(stage.frame.type, FRAME_CALL_NOTE);
	stage_send(&stage, FRAME_CALL_CANCEL, id, NULL, 0);
	(void)downloads(id, UINT64_MAX, 0);
	assert_int_equal(access(stage_path(&stage, "out/file"), F_OK), -1);
	assert_int_equal(monitor_calls(stage.monitor), 0);
}

/* TLS */

static int set_up_secure(void **state)
{
	static char folder[64], certificate[128], key[128];
	char *const argv[] = { (char *)"openssl", (char *)"req", (char *)"-x509", (char *)"-newkey",
		(char *)"ec", (char *)"-pkeyopt", (char *)"ec_paramgen_curve:prime256v1",
		(char *)"-nodes", (char *)"-days", (char *)"2", (char *)"-subj",
		(char *)"/CN=localhost", (char *)"-addext", (char *)"subjectAltName=DNS:localhost",
		(char *)"-keyout", key, (char *)"-out", certificate, NULL };
	int status = -1;
	pid_t pid;

	(void)snprintf(folder, sizeof(folder), "/tmp/corral-tls-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(certificate, sizeof(certificate), "%s/cert.pem", folder);
	(void)snprintf(key, sizeof(key), "%s/key.pem", folder);
	assert_int_equal(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	*state = folder;
	origin_start(certificate, key);
	return 0;
}

static void test_tls(void **state)
{
	char url[128], certificate[128], path[128];
	const char *folder = *state;

	(void)snprintf(url, sizeof(url), "https://localhost:%u/hello", origin.secure);
	/* Nobody vouches for it. */
	set_up_with("");
	refuses(url, RPC_NETWORK, "TLS: ");
	stage_remove(&stage);
	/* Whoever started the broker does. */
	(void)snprintf(certificate, sizeof(certificate), "%s/cert.pem", folder);
	assert_int_equal(setenv("SSL_CERT_FILE", certificate, 1), 0);
	set_up_with("");
	assert_string_equal(gets(url), "hello\n");
	/* For another name it does not. */
	(void)snprintf(path, sizeof(path), "https://127.0.0.1:%u/hello", origin.secure);
	refuses(path, RPC_NETWORK, "TLS: ");
	/* To less than TLS no redirect leads. */
	(void)snprintf(path, sizeof(path),
		"https://localhost:%u/redirect?to=http://localhost:%u/hello", origin.secure,
		origin.plain);
	refuses(path, RPC_NETWORK, "from https to http");
	(void)unsetenv("SSL_CERT_FILE");
	stage_remove(&stage);
}

static int tear_down_secure(void **state)
{
	origin_end();
	scratch_remove(*state);
	origin.secure = 0;
	return 0;
}

/* Where corral-fetch is not installed. */
static void test_absent(void **state)
{
	char *path = strdup(getenv("CORRAL_FETCH"));

	(void)state;
	assert_int_equal(setenv("CORRAL_FETCH", "/nonexistent/corral-fetch", 1), 0);
	refuses(url_of(origin.plain, "/hello"), RPC_SERVICE, "/nonexistent/corral-fetch");
	assert_int_equal(setenv("CORRAL_FETCH", path, 1), 0);
	assert_string_equal(gets(url_of(origin.plain, "/hello")), "hello\n");
	free(path);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_get),
		TEST(test_methods_and_headers),
		TEST(test_injection),
		TEST(test_policy),
		TEST(test_redirects),
		TEST(test_redirects_are_kept),
		TEST(test_redirect_methods),
		TEST(test_servers),
		TEST(test_time),
		TEST(test_cancel),
		TEST(test_many),
		TEST(test_too_many),
		TEST(test_limits),
		TEST(test_download),
		TEST(test_download_refused),
		TEST(test_download_resumes),
		TEST(test_download_cancelled),
		TEST(test_absent),
		cmocka_unit_test_setup_teardown(test_tls, set_up_secure, tear_down_secure),
	};

	if (argc != 2)
		return 2;
	script = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
