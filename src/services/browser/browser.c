/* SPDX-License-Identifier: Apache-2.0 */
#include "services/browser/browser.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "codec/json-writer.h"

enum { CHUNK = 64 << 10, TURN_CHUNKS = 64, PING_MS = 2000 };

uint64_t browser_now(void)
{
	return clock_ms(CLOCK_MONOTONIC);
}

bool browser_is_web(const char *url)
{
	return strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
}

/* How long poll() may wait. */
static int browser_left(uint64_t until)
{
	const uint64_t now = browser_now();

	return until <= now ? 0 : until - now > 60000 ? 60000 : (int)(until - now);
}

/* Ids of Chromium's are short; one that is not is no id. */
static void browser_keep(char out[CDP_NAME_BYTES], const char *name)
{
	if (strlen(name) < CDP_NAME_BYTES)
		(void)stpcpy(out, name);
	else
		out[0] = '\0';
}

static bool browser_is(const char *mine, const char *name)
{
	return mine[0] && strcmp(mine, name) == 0;
}

/* Sending */

static int browser_write(struct browser *b, const char *data, size_t len, uint64_t until)
{
	while (len > 0) {
		struct pollfd p = { .fd = b->to, .events = POLLOUT };
		const ssize_t n = write(b->to, data, len);

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN && browser_left(until) > 0) {
			(void)poll(&p, 1, browser_left(until));
		} else if (errno != EINTR) {
			return -EPIPE;
		}
	}
	return 0;
}

/* A command; its answer is not waited for yet. A negative value: the browser is lost. */
static int browser_send(
	struct browser *b, const char *session, const char *method, const char *params)
{
	auto_buffer out = { 0 };
	int r = b->is_lost ? -EPIPE : 0;

	cdp_write(&out, ++b->last_id, session, method, params);
	if (r == 0)
		r = out.failed
			    ? -ENOMEM
			    : browser_write(b, out.data, out.len, browser_now() + BROWSER_WRITE_MS);
	b->is_lost = b->is_lost || r < 0;
	return r;
}

/* The same with one text as its parameter, and why if there is a reason. */
static void browser_send_text(struct browser *b, const char *session, const char *method,
	const char *key, const char *text, const char *reason)
{
	auto_buffer params = { 0 };
	struct json_writer w = { .out = &params };

	json_open_map(&w, NULL);
	json_put_text(&w, key, text);
	if (reason)
		json_put_text(&w, "errorReason", reason);
	json_close(&w);
	if (!params.failed)
		(void)browser_send(b, session, method, params.data);
}

/* Events */

/* Sees to it that the page ends; the next call makes another. */
static void browser_break(struct browser *b, const char *why)
{
	if (b->page.is_broken)
		return;
	b->page.is_broken = true;
	b->page.why = why;
	browser_send_text(b, "", "Target.closeTarget", "targetId", b->page.target, NULL);
}

static void browser_on_attached(struct browser *b, const struct cdp_message *m)
{
	const char *target = cdp_text(m, "targetInfo.targetId");

	if (b->page.is_making) {
		b->page.is_making = false;
		browser_keep(b->page.target, target);
		browser_keep(b->page.session, cdp_text(m, "sessionId"));
		return;
	}
	if (browser_is(b->page.target, target))
		return;
	browser_send_text(b, "", "Target.closeTarget", "targetId", target, NULL);
	if (++b->page.n_windows > BROWSER_WINDOWS_MAX)
		browser_break(b, "the page opened too many windows");
}

static void browser_on_detached(struct browser *b, const struct cdp_message *m)
{
	if (browser_is(b->page.session, cdp_text(m, "sessionId")))
		browser_break(b, "the page closed itself");
}

static void browser_on_crashed(struct browser *b, const struct cdp_message *m)
{
	(void)m;
	browser_break(b, "the page crashed");
}

static void browser_on_dialog(struct browser *b, const struct cdp_message *m)
{
	(void)m;
	if (++b->page.n_dialogs > BROWSER_DIALOGS_MAX)
		browser_break(b, "the page opened too many dialogs");
	else
		(void)browser_send(
			b, b->page.session, "Page.handleJavaScriptDialog", "{\"accept\":false}");
}

static void browser_on_navigated(struct browser *b, const struct cdp_message *m)
{
	/* A frame with a parent is no page. */
	if (cdp_node(m, "frame.parentId"))
		return;
	browser_keep(b->page.frame, cdp_text(m, "frame.id"));
	browser_keep(b->page.loader, cdp_text(m, "frame.loaderId"));
	b->page.is_loaded = false;
}

static void browser_on_lifecycle(struct browser *b, const struct cdp_message *m)
{
	if (strcmp(cdp_text(m, "name"), "load") == 0 &&
		browser_is(b->page.loader, cdp_text(m, "loaderId")))
		b->page.is_loaded = true;
}

static void browser_on_world(struct browser *b, const struct cdp_message *m)
{
	const struct node *is_default = cdp_node(m, "context.auxData.isDefault");
	bool is_it = false;

	if (!is_default || node_boolean(is_default, &is_it) < 0 || !is_it ||
		!browser_is(b->page.frame, cdp_text(m, "context.auxData.frameId")))
		return;
	browser_keep(b->page.world, cdp_text(m, "context.uniqueId"));
	browser_keep(b->page.origin, cdp_text(m, "context.origin"));
}

/* A request for a document, or the head of its response. */
static void browser_on_paused(struct browser *b, const struct cdp_message *m)
{
	const char *id = cdp_text(m, "requestId"), *url = cdp_text(m, "request.url");
	const struct node *status = cdp_node(m, "responseStatusCode");
	const bool is_main = browser_is(b->page.frame, cdp_text(m, "frameId"));
	int64_t number = 0;

	if (status || cdp_node(m, "responseErrorReason")) {
		if (is_main && status && node_integer(status, &number) == 0 && number > 0 &&
			number < 1000)
			b->page.status = (unsigned)number;
	} else if (!browser_is_web(url) || !b->allows(b->context, url)) {
		if (is_main)
			(void)snprintf(b->page.refused, sizeof(b->page.refused), "%s", url);
		browser_send_text(b, b->page.session, "Fetch.failRequest", "requestId", id,
			"BlockedByClient");
		return;
	}
	browser_send_text(b, b->page.session, "Fetch.continueRequest", "requestId", id, NULL);
}

static const struct browser_event {
	const char *name;
	bool is_of_page;
	void (*hear)(struct browser *b, const struct cdp_message *m);
} browser_events[] = {
	{ "Target.attachedToTarget", false, browser_on_attached },
	{ "Target.detachedFromTarget", false, browser_on_detached },
	{ "Inspector.targetCrashed", true, browser_on_crashed },
	{ "Page.javascriptDialogOpening", true, browser_on_dialog },
	{ "Page.frameNavigated", true, browser_on_navigated },
	{ "Page.lifecycleEvent", true, browser_on_lifecycle },
	{ "Fetch.requestPaused", true, browser_on_paused },
	{ "Runtime.executionContextCreated", true, browser_on_world },
};

static void browser_hear(struct browser *b, const struct cdp_message *m)
{
	for (size_t i = 0; i < ROWS(browser_events); i++) {
		const struct browser_event *e = &browser_events[i];

		if (strcmp(e->name, m->method) == 0 &&
			(e->is_of_page ? browser_is(b->page.session, m->session) : !m->session[0]))
			e->hear(b, m);
	}
}

/* Receiving */

static void browser_take(struct browser *b)
{
	struct cdp_message m;
	const int r = cdp_read(&m, &b->stream);

	if (b->awaited && m.id == b->awaited) {
		b->awaited = 0;
		b->answer_code = r;
		b->answer = m;
		return;
	}
	if (r == 0 && m.id == 0)
		browser_hear(b, &m);
	cdp_message_deinit(&m);
}

/* Reads once. 0, or -EAGAIN; the browser is lost at its end. */
static int browser_receive(struct browser *b)
{
	static char chunk[CHUNK];
	const ssize_t n = read(b->from, chunk, sizeof(chunk));
	const char *data = chunk;
	size_t left = n > 0 ? (size_t)n : 0;
	int r = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	if (n <= 0)
		b->is_lost = true;
	while (left > 0 && r >= 0) {
		r = cdp_stream_take(&b->stream, &data, &left);
		if (r == 1)
			browser_take(b);
	}
	if (r < 0)
		b->is_lost = true;
	return 0;
}

void browser_dispatch(struct browser *b)
{
	for (int i = 0; i < TURN_CHUNKS && !b->is_lost; i++) {
		if (browser_receive(b) < 0)
			return;
	}
}

static int browser_wait(struct browser *b, uint64_t until)
{
	struct pollfd p = { .fd = b->from, .events = POLLIN };

	if (b->is_lost)
		return -EPIPE;
	if (browser_left(until) == 0)
		return -ETIMEDOUT;
	if (poll(&p, 1, browser_left(until)) > 0)
		(void)browser_receive(b);
	return 0;
}

/* Asking */

static int browser_result(struct browser *b)
{
	if (b->answer_code < 0)
		return b->answer_code;
	if (!b->answer.error)
		return 0;
	(void)snprintf(b->error, sizeof(b->error), "%s", b->answer.error);
	return -EREMOTEIO;
}

static int browser_ask_of(struct browser *b, const char *session, const char *method,
	const char *params, uint64_t until)
{
	int r;

	cdp_message_deinit(&b->answer);
	r = browser_send(b, session, method, params);
	b->awaited = b->last_id;
	while (r == 0 && b->awaited) {
		r = browser_wait(b, until);
		if (r == 0 && session[0] && b->page.is_broken && b->awaited)
			r = -ECONNRESET;
	}
	b->awaited = 0;
	return r < 0 ? r : browser_result(b);
}

int browser_ask(struct browser *b, const char *method, const char *params, uint64_t until)
{
	return browser_ask_of(b, "", method, params, until);
}

int browser_ask_page(struct browser *b, const char *method, const char *params, uint64_t until)
{
	if (b->is_lost)
		return -EPIPE;
	if (b->page.is_broken || !b->page.session[0])
		return -ECONNRESET;
	return browser_ask_of(b, b->page.session, method, params, until);
}

int browser_await_load(struct browser *b, const char *old_loader, uint64_t until)
{
	int r = 0;

	while (r == 0 && !b->page.is_broken &&
		(!b->page.is_loaded || strcmp(b->page.loader, old_loader) == 0))
		r = browser_wait(b, until);
	return r == 0 && b->page.is_broken ? -ECONNRESET : r;
}

/* The browser and its page */

int browser_begin(struct browser *b, uint64_t until)
{
	/* Windows and tabs are attached to before they begin; workers are not. */
	static const char attach[] = "{\"autoAttach\":true,\"waitForDebuggerOnStart\":true,"
				     "\"flatten\":true,\"filter\":[{\"type\":\"page\"}]}";
	int r = browser_ask(b, "Browser.getVersion", "{}", until);

	if (r == 0)
		browser_keep(b->version, cdp_text(&b->answer, "product"));
	if (r == 0)
		r = browser_ask(b, "Browser.setDownloadBehavior", "{\"behavior\":\"deny\"}", until);
	if (r == 0)
		r = browser_ask(b, "Target.setAutoAttach", attach, until);
	return r;
}

void browser_end(struct browser *b)
{
	cdp_message_deinit(&b->answer);
	cdp_stream_deinit(&b->stream);
}

static int browser_open_parts(struct browser *b, uint64_t until)
{
	static const struct {
		const char *method, *params;
	} parts[] = {
		{ "Page.enable", "{}" },
		{ "Page.setLifecycleEventsEnabled", "{\"enabled\":true}" },
		{ "Inspector.enable", "{}" },
		{ "Fetch.enable",
			"{\"patterns\":[{\"resourceType\":\"Document\",\"requestStage\":"
			"\"Request\"},"
			"{\"resourceType\":\"Document\",\"requestStage\":\"Response\"}]}" },
		{ "Runtime.runIfWaitingForDebugger", "{}" },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(parts); i++)
		r = browser_ask_page(b, parts[i].method, parts[i].params, until);
	if (r == 0)
		r = browser_ask_page(b, "Page.getFrameTree", "{}", until);
	if (r == 0) {
		browser_keep(b->page.frame, cdp_text(&b->answer, "frameTree.frame.id"));
		browser_keep(b->page.loader, cdp_text(&b->answer, "frameTree.frame.loaderId"));
		b->page.is_loaded = true;
	}
	return r;
}

int browser_open_page(struct browser *b, uint64_t until)
{
	char target[CDP_NAME_BYTES];
	int r;

	if (b->page.is_broken)
		browser_close_page(b);
	if (b->is_lost)
		return -EPIPE;
	if (b->page.session[0])
		return 0;
	b->page.is_making = true;
	r = browser_ask(b, "Target.createTarget", "{\"url\":\"about:blank\"}", until);
	if (r < 0) {
		b->page.is_making = false;
		return r;
	}
	browser_keep(target, cdp_text(&b->answer, "targetId"));
	while (r == 0 && !b->page.session[0])
		r = browser_wait(b, until);
	if (r == 0 && !browser_is(b->page.target, target))
		r = -EBADMSG;
	if (r == 0)
		r = browser_open_parts(b, until);
	if (r < 0)
		browser_break(b, "the page could not be opened");
	return r;
}

void browser_close_page(struct browser *b)
{
	const uint64_t until = browser_now() + BROWSER_CLOSE_MS;
	auto_buffer params = { 0 };

	if (!b->page.target[0])
		return;
	cdp_write_one(&params, "targetId", b->page.target);
	/* One that closed itself is not there any more: that is as good. */
	if (params.failed || browser_ask(b, "Target.closeTarget", params.data, until) == -ETIMEDOUT)
		b->is_lost = true;
	b->page = (struct browser_page){ 0 };
}

void browser_settle(struct browser *b)
{
	int r = browser_send(b, b->page.session, "Page.stopLoading", "{}");

	if (r == 0)
		r = browser_ask_page(
			b, "Runtime.evaluate", "{\"expression\":\"1\"}", browser_now() + PING_MS);
	if (r < 0)
		browser_close_page(b);
}
