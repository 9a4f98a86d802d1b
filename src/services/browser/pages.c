/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral-browser: browser.navigate, text, screenshot, eval_js and close, for one sandbox. The
 * monitor starts Chromium in a sandbox of its own and hands its two pipes to this process, which
 * has nothing else: no file, no socket, no program. A page that takes Chromium over, and this
 * process after it, has the granted domains and the answers to the sandbox's own calls.
 *
 * Hosts are enforced by the relay of Chromium's sandbox. Here is checked what a relay cannot see:
 * schemes, where redirects lead, and of which domain the page is that is read, shown or scripted,
 * where the policy grants those for fewer domains.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/array.h"
#include "process/confinement.h"
#include "services/backend.h"
#include "services/browser/page.h"

enum {
	BEGIN_MS = 20000, /* Chromium answers within this time */
	ANSWER_MS = 300,  /* of a call's time is kept for its answer */
};

struct pages {
	struct browser browser;
	struct backend *backend;
	struct watcher watcher;
};

/* Scopes */

/* By scheme, host and port of the URL; how long the rest is does not matter. */
static bool pages_is_granted(const struct pages *s, const char *access, const char *url)
{
	const char *host = url ? strstr(url, "://") : NULL;
	size_t len;

	if (!host || !browser_is_web(url))
		return false;
	len = (size_t)(host + 3 - url) + strcspn(host + 3, "/?#\\");
	return len < BROWSER_URL_MAX &&
	       backend_allows(s->backend, "browser.%s:%.*s/", access, (int)len, url);
}

static bool pages_allows(void *context, const char *url)
{
	return pages_is_granted(context, "navigate", url);
}

/* Answering */

static uint64_t pages_until(const struct backend_call *c)
{
	const uint64_t left = backend_left_ms(c);

	return browser_now() + (left > 2 * ANSWER_MS ? left - ANSWER_MS : left / 2);
}

/* What Chromium calls an error, in words. */
static void pages_refuse_load(struct backend_call *c, const char *error)
{
	static const char private_hint[] = "a name that leads to a private address needs "
					   "network: {private: [\"NAME:PORT\"]} in the policy";
	static const struct {
		const char *begin, *text, *hint;
	} rows[] = {
		{ "net::ERR_CERT_", "the certificate of the server is not trusted",
			"only authorities that Chromium comes with are trusted; a test server can "
			"be reached by http" },
		{ "net::ERR_NAME_NOT_RESOLVED", "the name cannot be resolved", private_hint },
		{ "net::ERR_CONNECTION_", "the connection failed", private_hint },
		/* It was reset before Chromium looked at it. */
		{ "net::ERR_SOCKET_NOT_CONNECTED", "the connection failed", private_hint },
		{ "net::ERR_EMPTY_RESPONSE", "the connection failed", private_hint },
		{ "net::ERR_ADDRESS_UNREACHABLE", "the server cannot be reached", private_hint },
		{ "net::ERR_NETWORK_ACCESS_DENIED", "the connection was refused", private_hint },
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		if (strncmp(error, rows[i].begin, strlen(rows[i].begin)) == 0) {
			backend_refuse(c, RPC_NETWORK, rows[i].hint,
				"the page could not be loaded: %s (%s)", rows[i].text, error);
			return;
		}
	backend_refuse(c, RPC_NETWORK, NULL, "the page could not be loaded: %s", error);
}

/* A browser that is lost ends this process; the next call starts both again. */
static void pages_refuse(struct backend_call *c, struct pages *s, int r)
{
	static const struct {
		int code;
		enum rpc_class class;
		const char *text, *hint;
	} rows[] = {
		{ -ETIMEDOUT, RPC_TIMEOUT, "the page did not answer in time", NULL },
		{ -EPIPE, RPC_SERVICE, "the browser ended", "call again; it is started anew" },
		{ -EMSGSIZE, RPC_PARAMS, "the result is too large", "ask for less of it" },
		{ -EBADMSG, RPC_PARAMS,
			"the result cannot be shown: it is no Unicode text, or no "
			"picture",
			NULL },
		{ -ENOTSUP, RPC_NETWORK, "the URL is a download, and downloads are off",
			"use network.download" },
		{ -ENODATA, RPC_PARAMS, "there is no page of the web",
			"call browser.navigate first" },
		{ -ESTALE, RPC_SERVICE, "the page went elsewhere meanwhile", "call again" },
	};
	struct browser *b = &s->browser;
	size_t i = 0;

	if (b->is_lost)
		backend_stop(s->backend);
	while (i < sizeof(rows) / sizeof(rows[0]) && rows[i].code != r)
		i++;
	if (i < sizeof(rows) / sizeof(rows[0]))
		backend_refuse(c, rows[i].class, rows[i].hint, "%s", rows[i].text);
	else if (r == -EACCES)
		backend_refuse(c, RPC_SCOPE,
			"grant its domain: services: {browser: {domains: […]}}",
			"the page leads to %s, which is not granted", b->page.refused);
	else if (r == -EHOSTUNREACH)
		pages_refuse_load(c, b->error);
	else if (r == -ECONNRESET)
		backend_refuse(c, RPC_SERVICE, "call browser.navigate again", "%s, and was closed",
			b->page.why ? b->page.why : "the page ended");
	else if (r == -EREMOTEIO)
		backend_refuse(c, RPC_INTERNAL, NULL, "the browser refused: %s", b->error);
	else
		backend_refuse(c, RPC_INTERNAL, NULL, "the browser failed: %s", strerror(-r));
	/* The caller has its answer; calls that follow wait for this. */
	if (r == -ETIMEDOUT && !b->is_lost)
		browser_settle(b);
	if (b->page.is_broken)
		browser_close_page(b);
	if (b->is_lost)
		backend_stop(s->backend);
}

static void pages_refuse_place(struct backend_call *c, const char *access, const char *url)
{
	backend_refuse(c, RPC_SCOPE, "grant it for the page's domain, or navigate elsewhere",
		"browser.%s is not granted for %.200s", access, url);
}

static struct value pages_text(const char *text)
{
	return value_text(text, strlen(text));
}

/* Methods */

static void pages_navigate(struct backend_call *c)
{
	enum { URL };
	enum { RESULT_URL, RESULT_TITLE, RESULT_STATUS };
	struct pages *s = backend_state(c->backend);
	const char *url = c->call.params.v[URL].text;
	const uint64_t until = pages_until(c);
	struct page_place place = { 0 };
	struct values v = { 0 };
	int r;

	if (!browser_is_web(url)) {
		backend_refuse(c, RPC_PARAMS, NULL, "only http and https URLs can be opened");
		return;
	}
	r = page_navigate(&s->browser, url, until);
	if (r == 0)
		r = page_place(&s->browser, &c->arena, until, &place);
	if (r < 0) {
		pages_refuse(c, s, r);
		return;
	}
	if (!pages_is_granted(s, "navigate", place.url)) {
		pages_refuse_place(c, "navigate", place.url);
		browser_close_page(&s->browser);
		return;
	}
	v.v[RESULT_URL] = pages_text(place.url);
	v.v[RESULT_TITLE] = pages_text(place.title);
	if (place.status)
		v.v[RESULT_STATUS] = value_number(SCHEMA_NUMBER, place.status);
	backend_answer(c, &v);
}

static void pages_read_text(struct backend_call *c)
{
	enum { TEXT, URL, TITLE, TRUNCATED };
	struct pages *s = backend_state(c->backend);
	struct page_text text = { 0 };
	struct values v = { 0 };
	int r = page_text(&s->browser, &c->arena, pages_until(c), &text);

	if (r < 0) {
		pages_refuse(c, s, r);
		return;
	}
	if (!pages_is_granted(s, "navigate", text.url)) {
		pages_refuse_place(c, "navigate", text.url);
		return;
	}
	v.v[TEXT] = pages_text(text.text);
	v.v[URL] = pages_text(text.url);
	v.v[TITLE] = pages_text(text.title);
	v.v[TRUNCATED] = value_number(SCHEMA_FLAG, text.is_cut);
	backend_answer(c, &v);
}

static void pages_screenshot(struct backend_call *c)
{
	enum { WIDTH, HEIGHT, FULL_PAGE };
	enum { DATA, ENCODING, RESULT_WIDTH, RESULT_HEIGHT, URL };
	struct pages *s = backend_state(c->backend);
	const struct value *p = c->call.params.v;
	struct page_image image = { .width = (unsigned)p[WIDTH].number,
		.height = (unsigned)p[HEIGHT].number,
		.is_full = p[FULL_PAGE].number };
	struct values v = { 0 };
	int r = page_screenshot(&s->browser, &c->arena, pages_until(c), &image);

	if (r < 0) {
		pages_refuse(c, s, r);
		return;
	}
	if (!pages_is_granted(s, "screenshot", image.url)) {
		pages_refuse_place(c, "screenshot", image.url);
		return;
	}
	v.v[DATA] = (struct value){ .type = SCHEMA_DATA, .text = image.data, .len = image.len };
	v.v[RESULT_WIDTH] = value_number(SCHEMA_NUMBER, image.width);
	v.v[RESULT_HEIGHT] = value_number(SCHEMA_NUMBER, image.height);
	v.v[URL] = pages_text(image.url);
	backend_answer(c, &v);
}

static bool pages_allows_script(void *context, const char *origin)
{
	return pages_is_granted(context, "eval", origin);
}

static void pages_eval(struct backend_call *c)
{
	enum { SCRIPT };
	enum { RESULT, EXCEPTION, ORIGIN };
	struct pages *s = backend_state(c->backend);
	struct page_script script = {
		.text = c->call.params.v[SCRIPT].text, .allows = pages_allows_script, .context = s
	};
	struct values v = { 0 };
	int r = page_eval(&s->browser, &c->arena, pages_until(c), &script);

	if (r == -EACCES) {
		pages_refuse_place(c, "eval", script.origin);
		return;
	}
	if (r < 0) {
		pages_refuse(c, s, r);
		return;
	}
	v.v[RESULT] = pages_text(script.json);
	v.v[RESULT].type = SCHEMA_JSON;
	if (script.exception)
		v.v[EXCEPTION] = pages_text(script.exception);
	v.v[ORIGIN] = pages_text(script.origin);
	backend_answer(c, &v);
}

/* The monitor ends this process, and Chromium with it, when it has the answer. */
static void pages_close(struct backend_call *c)
{
	enum { CLOSED };
	struct values v = { 0 };

	v.v[CLOSED] = value_number(SCHEMA_FLAG, 1);
	backend_answer(c, &v);
}

static void pages_probe(struct backend_call *c)
{
	struct pages *s = backend_state(c->backend);
	int r = browser_open_page(&s->browser, pages_until(c));

	if (r < 0)
		pages_refuse(c, s, r);
	else
		backend_found(c, "%s, in a sandbox of its own", s->browser.version);
}

/* The beginning */

/* Between calls: dialogs, windows, documents that are asked for. */
static void pages_on_browser(struct watcher *w, uint32_t events)
{
	struct pages *s = container_of(w, struct pages, watcher);

	(void)events;
	browser_dispatch(&s->browser);
	if (!s->browser.is_lost)
		return;
	loop_remove(backend_loop(s->backend), &s->watcher);
	backend_stop(s->backend);
}

static int pages_begin(struct backend *b, struct error *why)
{
	static struct pages s;
	const int to = backend_take_fd(b, 0), from = backend_take_fd(b, 1);
	int r = to < 0 || from < 0 ? -EBADF : 0;

	s = (struct pages){ .backend = b, .watcher = { .ready = pages_on_browser, .fd = -1 } };
	s.browser =
		(struct browser){ .to = to, .from = from, .allows = pages_allows, .context = &s };
	backend_set_state(b, &s);
	if (r == 0 && (fcntl(to, F_SETFL, O_NONBLOCK) < 0 || fcntl(from, F_SETFL, O_NONBLOCK) < 0))
		r = -errno;
	if (r == 0)
		r = confinement_enter(PROCESS_BACKEND, NULL);
	if (r == 0)
		r = browser_begin(&s.browser, browser_now() + BEGIN_MS);
	if (r == -ETIMEDOUT || r == -EPIPE) {
		(void)error_set(why, r, NULL, "Chromium %s",
			r == -EPIPE ? "ended when it was started" : "does not answer");
		error_hint(why, "try it: chromium --headless --no-sandbox --dump-dom about:blank");
	}
	return r < 0 ? r : loop_add(backend_loop(b), &s.watcher, from, EPOLLIN);
}

int main(int argc, char **argv)
{
	static const struct backend_method methods[] = {
		{ METHOD_BROWSER_NAVIGATE, pages_navigate },
		{ METHOD_BROWSER_TEXT, pages_read_text },
		{ METHOD_BROWSER_SCREENSHOT, pages_screenshot },
		{ METHOD_BROWSER_EVAL_JS, pages_eval },
		{ METHOD_BROWSER_CLOSE, pages_close },
		{ 0 },
	};
	static const struct backend_service services[] = {
		{ .name = "browser",
			.begin = pages_begin,
			.methods = methods,
			.probe = pages_probe },
		{ 0 },
	};
	static const struct backend_program program = { "corral-browser", services };

	return backend_main(argc, argv, &program);
}
