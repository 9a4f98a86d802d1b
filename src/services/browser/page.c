/* SPDX-License-Identifier: Apache-2.0 */
#include "services/browser/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/json-writer.h"
#include "services/browser/png.h"

enum { LOAD_MS = 5000 };

static int page_ask(struct browser *b, const char *method, struct buffer *params, uint64_t until)
{
	return params->failed ? -ENOMEM : browser_ask_page(b, method, params->data, until);
}

/* Where it is */

/* A copy of at most max bytes, cut between characters. */
static const char *page_cut(struct arena *a, const char *text, size_t max)
{
	size_t len = strlen(text);

	if (len > max) {
		len = max;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--;
	}
	return arena_strndup(a, text, len);
}

/* There is a page, as far as is known. One that is being loaded has a little time for it. */
static int page_ready(struct browser *b, uint64_t until)
{
	const uint64_t soon = browser_now() + LOAD_MS;

	browser_dispatch(b);
	if (!b->is_lost && b->page.session[0] && !b->page.is_broken && !b->page.is_loaded)
		(void)browser_await_load(b, "", soon < until ? soon : until);
	if (b->is_lost)
		return -EPIPE;
	if (!b->page.session[0])
		return -ENODATA;
	return b->page.is_broken ? -ECONNRESET : 0;
}

static int page_keep_url(struct arena *a, const char *url, const char **ret)
{
	if (!browser_is_web(url))
		return -ENODATA;
	if (strlen(url) >= BROWSER_URL_MAX)
		return -EMSGSIZE;
	*ret = arena_strdup(a, url);
	return *ret ? 0 : -ENOMEM;
}

int page_place(struct browser *b, struct arena *a, uint64_t until, struct page_place *ret)
{
	auto_buffer params = { 0 };
	int r = page_ready(b, until);

	if (r < 0)
		return r;
	cdp_write_one(&params, "targetId", b->page.target);
	r = params.failed ? -ENOMEM : browser_ask(b, "Target.getTargetInfo", params.data, until);
	if (r == 0)
		r = page_keep_url(a, cdp_text(&b->answer, "targetInfo.url"), &ret->url);
	if (r < 0)
		return r;
	ret->title = page_cut(a, cdp_text(&b->answer, "targetInfo.title"), PAGE_TITLE_MAX);
	ret->status = b->page.status;
	return ret->title ? 0 : -ENOMEM;
}

/* Going somewhere */

static int page_arrive(struct browser *b, const char *old_loader, uint64_t until)
{
	const char *error = cdp_text(&b->answer, "errorText");
	const struct node *download = cdp_node(&b->answer, "isDownload");
	bool is_download = false;

	if (download && node_boolean(download, &is_download) == 0 && is_download)
		return -ENOTSUP;
	if (b->page.refused[0])
		return -EACCES;
	if (error[0]) {
		(void)snprintf(b->error, sizeof(b->error), "%s", error);
		return -EHOSTUNREACH;
	}
	/* To another place in the same document: nothing is loaded. */
	if (!cdp_text(&b->answer, "loaderId")[0])
		return 0;
	return browser_await_load(b, old_loader, until);
}

int page_navigate(struct browser *b, const char *url, uint64_t until)
{
	char old_loader[CDP_NAME_BYTES];
	auto_buffer params = { 0 };
	int r;

	browser_dispatch(b);
	/* One that hangs would keep its process busy, and the new document with it. */
	if (b->page.session[0] && !b->page.is_broken)
		browser_settle(b);
	r = browser_open_page(b, until);
	if (r < 0)
		return r;
	(void)stpcpy(old_loader, b->page.loader);
	b->page.refused[0] = '\0';
	b->page.status = 0;
	b->page.n_dialogs = b->page.n_windows = 0;
	cdp_write_one(&params, "url", url);
	r = params.failed ? -ENOMEM : browser_ask_page(b, "Page.navigate", params.data, until);
	return r < 0 ? r : page_arrive(b, old_loader, until);
}

/* Its text */

/* A world of our own in the page's frame: what its scripts did to String or Array is not there. */
static int page_enter_world(struct browser *b, uint64_t until, int64_t *ret)
{
	auto_buffer params = { 0 };
	struct json_writer w = { .out = &params };
	const struct node *id;
	int r;

	json_open_map(&w, NULL);
	json_put_text(&w, "frameId", b->page.frame);
	json_put_text(&w, "worldName", "corral");
	json_close(&w);
	r = page_ask(b, "Page.createIsolatedWorld", &params, until);
	id = r == 0 ? cdp_node(&b->answer, "executionContextId") : NULL;
	if (r == 0 && (!id || node_integer(id, ret) < 0))
		r = -EBADMSG;
	return r;
}

int page_text(struct browser *b, struct arena *a, uint64_t until, struct page_text *ret)
{
	static const char script[] =
		"((n,m)=>{const c=(s,n)=>String(s).slice(0,n).toWellFormed().replaceAll('\\0','');"
		"const r=document.body||document.documentElement;"
		"const t=String(r&&(r.innerText||r.textContent)||'');"
		"return {url:location.href,title:c(document.title,m),text:c(t,n),"
		"more:t.length>n}})";
	auto_buffer params = { 0 };
	struct json_writer w = { .out = &params };
	const struct node *more;
	char call[sizeof(script) + 32];
	int64_t world = 0;
	int r = page_ready(b, until);

	if (r == 0)
		r = page_enter_world(b, until, &world);
	if (r < 0)
		return r;
	(void)snprintf(call, sizeof(call), "%s(%d,%d)", script, PAGE_TEXT_MAX, PAGE_TITLE_MAX / 4);
	json_open_map(&w, NULL);
	json_put_number(&w, "contextId", world);
	json_put_flag(&w, "returnByValue", true);
	json_put_text(&w, "expression", call);
	json_close(&w);
	r = page_ask(b, "Runtime.evaluate", &params, until);
	if (r == 0)
		r = page_keep_url(a, cdp_text(&b->answer, "result.value.url"), &ret->url);
	if (r < 0)
		return r == -EREMOTEIO ? -ESTALE : r;
	more = cdp_node(&b->answer, "result.value.more");
	if (!more || node_boolean(more, &ret->is_cut) < 0)
		return -EBADMSG;
	ret->text = arena_strdup(a, cdp_text(&b->answer, "result.value.text"));
	ret->title = page_cut(a, cdp_text(&b->answer, "result.value.title"), PAGE_TITLE_MAX);
	return ret->text && ret->title ? 0 : -ENOMEM;
}

/* Its picture */

static int page_resize(struct browser *b, const struct page_image *i, uint64_t until)
{
	auto_buffer params = { 0 };
	struct json_writer w = { .out = &params };

	json_open_map(&w, NULL);
	json_put_count(&w, "width", i->width ? i->width : PAGE_WIDTH);
	json_put_count(&w, "height", i->height ? i->height : PAGE_HEIGHT);
	json_put_count(&w, "deviceScaleFactor", 1);
	json_put_flag(&w, "mobile", false);
	json_close(&w);
	return page_ask(b, "Emulation.setDeviceMetricsOverride", &params, until);
}

/* One side of the whole page: at least 1, at most max. */
static unsigned page_side(const struct browser *b, const char *path, unsigned max)
{
	const struct node *n = cdp_node(&b->answer, path);
	const double side = n && n->type == NODE_NUMBER ? strtod(n->text, NULL) : 1;

	return side > max ? max : side >= 1 ? (unsigned)side : 1;
}

static int page_capture(struct browser *b, const struct page_image *i, uint64_t until)
{
	auto_buffer params = { 0 };
	struct json_writer w = { .out = &params };
	int r = 0;

	json_open_map(&w, NULL);
	json_put_text(&w, "format", "png");
	if (i->is_full) {
		r = browser_ask_page(b, "Page.getLayoutMetrics", "{}", until);
		json_put_flag(&w, "captureBeyondViewport", true);
		json_open_map(&w, "clip");
		json_put_count(&w, "x", 0);
		json_put_count(&w, "y", 0);
		json_put_count(&w, "scale", 1);
		json_put_count(&w, "width", page_side(b, "cssContentSize.width", PAGE_WIDTH_MAX));
		json_put_count(
			&w, "height", page_side(b, "cssContentSize.height", PAGE_HEIGHT_MAX));
		json_close(&w);
	}
	json_close(&w);
	return r < 0 ? r : page_ask(b, "Page.captureScreenshot", &params, until);
}

/* Asks the page itself which document it shows; in b->answer. */
static int page_ask_document(struct browser *b, uint64_t until)
{
	return browser_ask_page(b, "Page.getFrameTree", "{}", until);
}

static int page_take_image(struct browser *b, struct arena *a, struct page_image *ret)
{
	const char *text = cdp_text(&b->answer, "data");
	int r = encoding_decode(ENCODING_BASE64, text, strlen(text), a, &ret->data, &ret->len);

	if (r == 0 && ret->len > PAGE_IMAGE_MAX)
		return -EMSGSIZE;
	if (r == 0)
		r = png_size(ret->data, ret->len, &ret->width, &ret->height);
	return r == -EINVAL ? -EBADMSG : r;
}

int page_screenshot(struct browser *b, struct arena *a, uint64_t until, struct page_image *io)
{
	char loader[CDP_NAME_BYTES] = "";
	int r = page_ready(b, until);

	if (r == 0)
		r = page_resize(b, io, until);
	if (r == 0)
		r = page_ask_document(b, until);
	if (r == 0)
		(void)snprintf(loader, sizeof(loader), "%s",
			cdp_text(&b->answer, "frameTree.frame.loaderId"));
	if (r == 0)
		r = page_capture(b, io, until);
	if (r == 0)
		r = page_take_image(b, a, io);
	if (r == 0)
		r = page_ask_document(b, until);
	if (r == 0 && strcmp(loader, cdp_text(&b->answer, "frameTree.frame.loaderId")) != 0)
		r = -ESTALE;
	return r < 0 ? r : page_keep_url(a, cdp_text(&b->answer, "frameTree.frame.url"), &io->url);
}

/* A script in it */

/* Which world its scripts have now: page.world and page.origin. */
static int page_find_world(struct browser *b, uint64_t until)
{
	static const char *const methods[] = { "Runtime.discardConsoleEntries", "Runtime.enable",
		"Runtime.disable", NULL };
	int r = 0;

	b->page.world[0] = b->page.origin[0] = '\0';
	for (size_t i = 0; r == 0 && methods[i]; i++)
		r = browser_ask_page(b, methods[i], "{}", until);
	if (r < 0)
		return r;
	return browser_is_web(b->page.origin) && b->page.world[0] ? 0 : -ENODATA;
}

static int page_take_result(struct browser *b, struct arena *a, struct page_script *ret)
{
	const struct node *value = cdp_node(&b->answer, "result.value");
	const char *odd = cdp_text(&b->answer, "result.unserializableValue"), *words;
	auto_buffer out = { 0 };

	if (cdp_node(&b->answer, "exceptionDetails")) {
		words = cdp_text(&b->answer, "exceptionDetails.exception.description");
		if (!words[0])
			words = cdp_text(&b->answer, "exceptionDetails.exception.value");
		if (!words[0])
			words = cdp_text(&b->answer, "exceptionDetails.text");
		ret->exception = page_cut(a, words, PAGE_TITLE_MAX);
		if (!ret->exception)
			return -ENOMEM;
	} else if (value) {
		json_print(&out, value, JSON_COMPACT);
	} else if (odd[0]) {
		json_print_string(&out, odd, strlen(odd));
	}
	if (out.len > PAGE_RESULT_MAX)
		return -EMSGSIZE;
	ret->json = out.failed ? NULL : arena_strdup(a, out.len ? out.data : "null");
	return ret->json ? 0 : -ENOMEM;
}

/* In that world, or not at all. */
static int page_run(struct browser *b, const char *script, uint64_t until)
{
	const uint64_t now = browser_now(), left = until > now ? until - now : 0;
	auto_buffer params = { 0 };
	struct json_writer w = { .out = &params };
	int r;

	json_open_map(&w, NULL);
	json_put_flag(&w, "returnByValue", true);
	json_put_flag(&w, "awaitPromise", true);
	/* Chromium ends a script that computes for too long, and the page goes on. */
	json_put_count(&w, "timeout", left - left / 4);
	json_put_text(&w, "uniqueContextId", b->page.world);
	json_put_text(&w, "expression", script);
	json_close(&w);
	r = page_ask(b, "Runtime.evaluate", &params, until);
	if (r != -EREMOTEIO)
		return r;
	/* It says "Internal error" for a script that it ended. */
	if (browser_now() >= now + left - left / 4)
		return -ETIMEDOUT;
	/* "Object reference chain is too long", "CBOR: stack limit exceeded": it is too deep. */
	return strstr(b->error, "too long") || strstr(b->error, "limit") ? -EMSGSIZE : -ESTALE;
}

int page_eval(struct browser *b, struct arena *a, uint64_t until, struct page_script *io)
{
	int r = page_ready(b, until);

	if (r == 0)
		r = page_find_world(b, until);
	if (r < 0)
		return r;
	io->origin = arena_strdup(a, b->page.origin);
	if (!io->origin)
		return -ENOMEM;
	if (!io->allows(io->context, io->origin))
		return -EACCES;
	r = page_run(b, io->text, until);
	return r < 0 ? r : page_take_result(b, a, io);
}
