/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver against a peer that answers from a table, as a browser that behaves and as one that
 * does not.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "services/browser/page.h"

/* What is answered comes long before; what is not is waited for no longer than that. */
enum { SOON = 60000, NEVER = 400 };

/* What the peer says to a command: text with ID for the command's id, or one of these. */
#define SILENCE "silence"
#define END "end"
#define HUGE "huge"

struct line {
	const char *method, *text; /* several with one method: in their order, the last for ever */
};

struct peer {
	const struct line *lines; /* ends with NULL */
	int from, to;
	struct buffer heard; /* "method " of each command */
	unsigned used[32];   /* by line */
	pthread_t thread;
};

#define ATTACHED                                                                   \
	"{\"method\":\"Target.attachedToTarget\",\"params\":{\"sessionId\":\"S\"," \
	"\"targetInfo\":{\"targetId\":\"T\",\"type\":\"page\"}}}|"
#define NAVIGATED                                                                         \
	"{\"method\":\"Page.frameNavigated\",\"sessionId\":\"S\",\"params\":{\"frame\":{" \
	"\"id\":\"F\",\"loaderId\":\"L2\"}}}|"
#define LOADED                                                                          \
	"{\"method\":\"Page.lifecycleEvent\",\"sessionId\":\"S\",\"params\":{\"name\":" \
	"\"load\",\"loaderId\":\"L2\"}}|"
#define PAUSED(url, more)                                                                    \
	"{\"method\":\"Fetch.requestPaused\",\"sessionId\":\"S\",\"params\":{\"requestId\":" \
	"\"R\",\"frameId\":\"F\",\"request\":{\"url\":\"" url "\"}" more "}}|"
#define GONE "{\"id\":ID,\"result\":{\"frameId\":\"F\",\"loaderId\":\"L2\"}}|"

#define WORLD                                                                              \
	"{\"method\":\"Runtime.executionContextCreated\",\"sessionId\":\"S\",\"params\":{" \
	"\"context\":{\"uniqueId\":\"1.2\",\"origin\":\"http://a.example\",\"auxData\":{"  \
	"\"isDefault\":true,\"frameId\":\"F\"}}}}|"

/* What every browser says. */
#define COMMON                                                                              \
	{ "Browser.getVersion", "{\"id\":ID,\"result\":{\"product\":\"Chrome/1\"}}|" },     \
		{ "Target.createTarget",                                                    \
			ATTACHED "{\"id\":ID,\"result\":{\"targetId\":\"T\"}}|" },          \
		{ "Page.getFrameTree",                                                      \
			"{\"id\":ID,\"result\":{\"frameTree\":{\"frame\":{\"id\":\"F\","    \
			"\"loaderId\":\"L1\",\"url\":\"http://a.example/\"}}}}|" },         \
		{ "Target.getTargetInfo", "{\"id\":ID,\"result\":{\"targetInfo\":{\"url\":" \
					  "\"http://a.example/\",\"title\":\"A\"}}}|" },    \
		{ "Runtime.enable", WORLD "{\"id\":ID,\"result\":{}}|" },                   \
		{ "", "{\"id\":ID,\"result\":{}}|" },                                       \
	{                                                                                   \
		NULL, NULL                                                                  \
	}

/* The peer */

static void peer_send(struct peer *p, const char *text, const char *id)
{
	auto_buffer out = { 0 };

	for (; *text; text++) {
		if (strncmp(text, "ID", 2) == 0) {
			buffer_adds(&out, id);
			text++;
		} else {
			buffer_addc(&out, *text == '|' ? '\0' : *text);
		}
	}
	(void)file_write_all(p->to, out.data, out.len);
}

static void peer_send_huge(struct peer *p, const char *id)
{
	char *text = malloc(CDP_MESSAGE_MAX + 100);
	int n = text ? snprintf(text, 100, "{\"id\":%s,\"result\":\"", id) : 0;

	if (!text)
		return;
	memset(text + n, 'x', CDP_MESSAGE_MAX);
	text[n + CDP_MESSAGE_MAX] = '\0';
	(void)file_write_all(p->to, text, (size_t)n + CDP_MESSAGE_MAX + 1);
	free(text);
}

static const char *peer_choose(struct peer *p, const char *method)
{
	const char *last = SILENCE;

	for (size_t i = 0; p->lines[i].method; i++) {
		if (strcmp(p->lines[i].method, method) != 0 && p->lines[i].method[0])
			continue;
		last = p->lines[i].text;
		if (!p->lines[i].method[0] || p->used[i]++ == 0 || !p->lines[i + 1].method ||
			strcmp(p->lines[i + 1].method, method) != 0)
			return last;
	}
	return last;
}

/* One command. False: the peer ends. */
static bool peer_answer(struct peer *p, const char *text)
{
	static const char name[] = "\"method\":\"";
	char id[24] = "", method[64] = "";
	const char *at = strstr(text, name), *answer;

	(void)sscanf(text, "{\"id\":%23[0-9]", id);
	if (at)
		(void)sscanf(at + sizeof(name) - 1, "%63[^\"]", method);
	buffer_printf(&p->heard, "%s ", method);
	answer = peer_choose(p, method);
	if (strcmp(answer, END) == 0)
		return false;
	if (strcmp(answer, HUGE) == 0)
		peer_send_huge(p, id);
	else if (strcmp(answer, SILENCE) != 0)
		peer_send(p, answer, id);
	return true;
}

static void *peer_run(void *context)
{
	struct peer *p = context;
	struct cdp_stream s = { 0 };
	bool goes_on = true;
	char chunk[4096];
	ssize_t n;

	while (goes_on && (n = read(p->from, chunk, sizeof(chunk))) > 0) {
		const char *data = chunk;
		size_t left = (size_t)n;

		while (goes_on && left > 0 && cdp_stream_take(&s, &data, &left) == 1)
			goes_on = peer_answer(p, s.message.data);
	}
	fd_close(&p->from);
	fd_close(&p->to);
	cdp_stream_deinit(&s);
	return NULL;
}

/* The stage */

static bool allows(void *context, const char *url)
{
	(void)context;
	return strncmp(url, "http://a.example", 16) == 0;
}

static struct browser *begin(struct peer *p, const struct line *lines)
{
	struct browser *b = calloc(1, sizeof(*b));
	int to[2], from[2];

	assert_non_null(b);
	assert_int_equal(pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC), 0);
	*p = (struct peer){ .lines = lines, .from = to[0], .to = from[1] };
	assert_int_equal(pthread_create(&p->thread, NULL, peer_run, p), 0);
	*b = (struct browser){ .to = to[1], .from = from[0], .allows = allows };
	assert_int_equal(
		fcntl(b->to, F_SETFL, O_NONBLOCK) | fcntl(b->from, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(browser_begin(b, browser_now() + SOON), 0);
	assert_string_equal(b->version, "Chrome/1");
	return b;
}

/* The peer has heard this by then, unless it is NULL. */
static void end(struct browser *b, struct peer *p, const char *heard)
{
	browser_end(b);
	fd_close(&b->to);
	fd_close(&b->from);
	free(b);
	(void)pthread_join(p->thread, NULL);
	if (heard)
		assert_non_null(strstr(buffer_text(&p->heard), heard));
	buffer_deinit(&p->heard);
}

static int navigate(struct browser *b, uint64_t ms)
{
	return page_navigate(b, "http://a.example/", browser_now() + ms);
}

static void test_navigates(void **state)
{
	static const struct line lines[] = {
		{ "Page.navigate", PAUSED("http://a.example/", "") PAUSED("http://a.example/",
					   ",\"responseStatusCode\":203") NAVIGATED GONE LOADED },
		COMMON,
	};
	struct peer p;
	struct browser *b = begin(&p, lines);
	struct page_place place;
	auto_arena a = { 0 };

	(void)state;
	assert_int_equal(page_place(b, &a, browser_now() + SOON, &place), -ENODATA);
	assert_int_equal(navigate(b, SOON), 0);
	assert_int_equal(page_place(b, &a, browser_now() + SOON, &place), 0);
	assert_string_equal(place.url, "http://a.example/");
	assert_string_equal(place.title, "A");
	assert_int_equal(place.status, 203);
	end(b, &p, "Fetch.continueRequest Fetch.continueRequest");
}

static void test_documents_are_asked_about(void **state)
{
	static const struct line redirect[] = {
		{ "Page.navigate",
			PAUSED("http://a.example/", "") PAUSED("http://b.example/x", "") SILENCE },
		{ "Fetch.failRequest", "{\"id\":5,\"result\":{}}|" },
		COMMON,
	};
	static const struct line file[] = {
		{ "Page.navigate", PAUSED("file:///etc/passwd", "") GONE }, COMMON
	};
	struct peer p;
	struct browser *b;
	bool refused = false;

	(void)state;
	/* The peer may need more time than that to say where it leads. */
	for (uint64_t ms = NEVER; !refused && ms < SOON; ms *= 2) {
		b = begin(&p, redirect);
		assert_int_equal(navigate(b, ms), -ETIMEDOUT);
		refused = strcmp(b->page.refused, "http://b.example/x") == 0;
		end(b, &p, NULL);
	}
	assert_true(refused);
	b = begin(&p, file);
	assert_int_equal(navigate(b, SOON), -EACCES);
	assert_string_equal(b->page.refused, "file:///etc/passwd");
	end(b, &p, "Fetch.failRequest");
}

#define DIALOG "{\"method\":\"Page.javascriptDialogOpening\",\"sessionId\":\"S\",\"params\":{}}|"
#define TEN(x) x x x x x x x x x x
#define WINDOW                                                                      \
	"{\"method\":\"Target.attachedToTarget\",\"params\":{\"sessionId\":\"S2\"," \
	"\"targetInfo\":{\"targetId\":\"T2\"}}}|"

static void test_dialogs_and_windows(void **state)
{
	static const struct line few[] = { { "Page.navigate", DIALOG WINDOW NAVIGATED GONE LOADED },
		COMMON };
	static const struct line many[] = { { "Page.navigate", TEN(TEN(DIALOG)) DIALOG GONE },
		COMMON };
	struct peer p;
	struct browser *b = begin(&p, few);

	(void)state;
	assert_int_equal(navigate(b, SOON), 0);
	end(b, &p, "Page.handleJavaScriptDialog Target.closeTarget");
	b = begin(&p, many);
	assert_int_equal(navigate(b, SOON), -ECONNRESET);
	assert_string_equal(b->page.why, "the page opened too many dialogs");
	/* The next one has a page again. */
	assert_int_equal(browser_open_page(b, browser_now() + SOON), 0);
	assert_false(b->page.is_broken);
	end(b, &p, NULL);
}

/* One answer to a script, and what comes of it; a second script has an answer again. */
static void test_answers(void **state)
{
	static const struct {
		const char *answer;
		int code;
		const char *json, *exception;
	} rows[] = {
		{ "{\"id\":ID,\"result\":{\"result\":{\"value\":{\"a\":[1,null]}}}}|", 0,
			"{\"a\":[1,null]}", NULL },
		{ "{\"id\":ID,\"result\":{\"result\":{\"type\":\"undefined\"}}}|", 0, "null",
			NULL },
		{ "{\"id\":ID,\"result\":{\"result\":{\"unserializableValue\":\"NaN\"}}}|", 0,
			"\"NaN\"", NULL },
		{ "{\"id\":ID,\"result\":{\"exceptionDetails\":{\"text\":\"Uncaught\"}}}|", 0,
			"null", "Uncaught" },
		{ "{\"id\":ID,\"error\":{\"message\":\"no\"}}|", -ESTALE, NULL, NULL },
		{ "{\"id\":ID,\"result\":{\"result\":{\"value\":\"\\ud800\"}}}|", -EBADMSG, NULL,
			NULL },
		{ "{\"id\":4000000,\"result\":{}}|nonsense|{\"id\":ID}|", 0, "null", NULL },
		{ "{\"method\":\"Inspector.targetCrashed\",\"sessionId\":\"S\"}|", -ECONNRESET,
			NULL, NULL },
		{ "{\"method\":\"Inspector.targetCrashed\",\"sessionId\":\"S3\"}|{\"id\":ID}|", 0,
			"null", NULL },
		{ HUGE, -EMSGSIZE, NULL, NULL },
		{ END, -EPIPE, NULL, NULL },
		{ SILENCE, -ETIMEDOUT, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct line lines[] = {
			{ "Page.navigate", NAVIGATED GONE LOADED },
			{ "Runtime.evaluate", rows[i].answer },
			{ "Runtime.evaluate",
				"{\"id\":ID,\"result\":{\"result\":{\"value\":1}}}|" },
			COMMON,
		};
		struct page_script script = { .text = "1", .allows = allows };
		struct peer p;
		struct browser *b = begin(&p, lines);
		auto_arena a = { 0 };
		uint64_t ms;

		assert_int_equal(navigate(b, SOON), 0);
		ms = rows[i].code == -ETIMEDOUT ? NEVER : SOON;
		assert_int_equal(page_eval(b, &a, browser_now() + ms, &script), rows[i].code);
		if (rows[i].code == -ETIMEDOUT)
			browser_settle(b);
		if (rows[i].json)
			assert_string_equal(script.json, rows[i].json);
		if (rows[i].exception)
			assert_string_equal(script.exception, rows[i].exception);
		if (rows[i].code == -EPIPE)
			assert_true(b->is_lost);
		else if (rows[i].code != -ECONNRESET)
			assert_int_equal(page_eval(b, &a, browser_now() + SOON, &script), 0);
		end(b, &p, NULL);
	}
}

/* A page of another origin: the script is not sent. */
static void test_origins(void **state)
{
	static const struct line lines[] = {
		{ "Page.navigate", NAVIGATED GONE LOADED },
		{ "Runtime.enable",
			"{\"method\":\"Runtime.executionContextCreated\",\"sessionId\":\"S\","
			"\"params\":{\"context\":{\"uniqueId\":\"1.2\",\"origin\":"
			"\"http://"
			"b.example\",\"auxData\":{\"isDefault\":true,\"frameId\":\"F\"}}}}|"
			"{\"id\":ID,\"result\":{}}|" },
		{ "Runtime.evaluate", END },
		COMMON,
	};
	struct page_script script = { .text = "1", .allows = allows };
	struct peer p;
	struct browser *b = begin(&p, lines);
	auto_arena a = { 0 };

	(void)state;
	assert_int_equal(navigate(b, SOON), 0);
	assert_int_equal(page_eval(b, &a, browser_now() + SOON, &script), -EACCES);
	assert_string_equal(script.origin, "http://b.example");
	assert_false(b->is_lost);
	end(b, &p, NULL);
}

/* A page that hangs is closed; a browser that does not close it is lost. */
static void test_hangs(void **state)
{
	static const struct line page[] = { { "Page.navigate", SILENCE },
		{ "Page.stopLoading", SILENCE }, { "Runtime.evaluate", SILENCE }, COMMON };
	static const struct line all[] = { { "Page.navigate", SILENCE },
		{ "Page.stopLoading", SILENCE }, { "Runtime.evaluate", SILENCE },
		{ "Target.closeTarget", SILENCE }, COMMON };
	struct peer p;
	struct browser *b = begin(&p, page);

	(void)state;
	assert_int_equal(navigate(b, NEVER), -ETIMEDOUT);
	browser_settle(b);
	assert_false(b->is_lost);
	assert_string_equal(b->page.target, "");
	end(b, &p, NULL);
	b = begin(&p, all);
	assert_int_equal(navigate(b, NEVER), -ETIMEDOUT);
	browser_settle(b);
	assert_true(b->is_lost);
	assert_int_equal(navigate(b, NEVER), -EPIPE);
	end(b, &p, NULL);
}

static void test_pictures(void **state)
{
	static const struct {
		const char *data;
		int code;
	} rows[] = {
		{ "iVBORw0KGgoAAAANSUhEUgAABQAAAALQ", 0 },
		{ "R0lGODlhAQABAA==", -EBADMSG },
		{ "!!!!", -EBADMSG },
		{ "", -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		char answer[256];
		const struct line lines[] = { { "Page.navigate", NAVIGATED GONE LOADED },
			{ "Page.captureScreenshot", answer }, COMMON };
		struct page_image image = { 0 };
		struct peer p;
		struct browser *b;
		auto_arena a = { 0 };

		(void)snprintf(answer, sizeof(answer), "{\"id\":ID,\"result\":{\"data\":\"%s\"}}|",
			rows[i].data);
		b = begin(&p, lines);
		assert_int_equal(navigate(b, SOON), 0);
		assert_int_equal(
			page_screenshot(b, &a, browser_now() + SOON, &image), rows[i].code);
		if (rows[i].code == 0)
			assert_int_equal(image.width, 1280);
		end(b, &p, NULL);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_navigates),
		cmocka_unit_test(test_documents_are_asked_about),
		cmocka_unit_test(test_dialogs_and_windows),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_origins),
		cmocka_unit_test(test_hangs),
		cmocka_unit_test(test_pictures),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("browser", tests, NULL, NULL);
}
