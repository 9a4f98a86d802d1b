/* SPDX-License-Identifier: Apache-2.0 */
#include "services/desktop/open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/confinement.h"
#include "services/desktop/launcher.h"
#include "services/desktop/login.h"
#include "services/desktop/page.h"
#include "services/desktop/program.h"

struct opener {
	char program[PATH_BYTES];
	int launcher;
};

/* Parameters, by the table. */
enum { URL, BROWSER };

static const char open_hint[] =
	"install xdg-utils and a browser, or set `browser: {open_with: PATH}` in services.yaml";

/* The one that is configured; xdg-open, which knows $BROWSER and the desktop; or $BROWSER. */
static int open_find(const struct backend *b, char out[PATH_BYTES], struct error *why)
{
	const char *configured = backend_config(b, "open_with"), *browser = getenv("BROWSER");
	const char *folder = backend_config(b, "programs");

	if (configured && access(configured, X_OK) == 0 && strlen(configured) < PATH_BYTES) {
		(void)stpcpy(out, configured);
		return 0;
	}
	if (configured) {
		(void)error_set(why, -ENOENT, NULL, "browser: %s: %s", configured, strerror(errno));
		error_hint(why, "correct `open_with` of `browser` in services.yaml");
		return -ENOENT;
	}
	if (program_find("xdg-open", folder, out) == 0)
		return 0;
	/* One program, without options and without a list; lookup_value() let it through. */
	if (browser && *browser && !strpbrk(browser, ": %\t")) {
		if (browser[0] == '/' && strlen(browser) < PATH_BYTES &&
			access(browser, X_OK) == 0) {
			(void)stpcpy(out, browser);
			return 0;
		}
		if (!strchr(browser, '/') && program_find(browser, folder, out) == 0)
			return 0;
	}
	(void)error_set(why, -ENOENT, NULL,
		"browser: there is no xdg-open in the folders of PATH that no sandbox may write, "
		"and no browser is set");
	error_hint(why, "%s", open_hint);
	return -ENOENT;
}

int open_begin(struct backend *b, struct error *why)
{
	static struct opener o;
	int r = open_find(b, o.program, why);

	if (r < 0)
		return r;
	r = launcher_start(o.program, &o.launcher);
	if (r == 0)
		r = confinement_enter(PROCESS_BACKEND, NULL);
	if (r < 0)
		(void)error_set(why, r, NULL, "cannot start the launcher: %s", strerror(-r));
	backend_set_state(b, &o);
	return r;
}

static const char *open_name(const struct opener *o)
{
	return strrchr(o->program, '/') + 1;
}

static void open_refuse(struct backend_call *c, const char *program, int r)
{
	if (r == -EPIPE || r == -ECONNRESET)
		backend_stop(c->backend);
	if (r == -ETIMEDOUT)
		backend_refuse(c, RPC_TIMEOUT, NULL, "%s did not start in time", program);
	else if (r < 0)
		backend_refuse(
			c, RPC_SERVICE, open_hint, "cannot start %s: %s", program, strerror(-r));
	else
		backend_refuse(c, RPC_SERVICE, open_hint, "%s failed, with status %d", program, r);
}

/* The address, written anew; false: the call was refused. What is opened is what is asked about. */
static bool open_is_granted(struct backend_call *c, const char *access, struct buffer *page)
{
	const struct value *v = c->call.params.v;
	struct error e = { 0 };

	if (page_normal(v[URL].text, v[URL].len, page, &e) < 0) {
		backend_refuse(c, RPC_PARAMS, NULL, "url: %s", e.text);
		return false;
	}
	if (backend_allows(c->backend, "browser.%s:%s", access, buffer_text(page)))
		return true;
	backend_refuse(c, RPC_SCOPE, NULL, "%s is not in the granted domains", buffer_text(page));
	return false;
}

static void open_now(struct backend_call *c, const struct buffer *page)
{
	const struct opener *o = backend_state(c->backend);
	struct values result = { 0 };
	const int r = launcher_open(o->launcher, page->data, page->len, (int)backend_left_ms(c));

	if (r != 0) {
		open_refuse(c, open_name(o), r);
		return;
	}
	result.v[0] = value_number(SCHEMA_FLAG, 1);
	if (c->call.method->id == METHOD_BROWSER_LOGIN)
		result.v[1] = value_text(buffer_text(page), page->len);
	backend_answer(c, &result);
}

static void open_page(struct backend_call *c)
{
	const char *name = open_name(backend_state(c->backend));
	const struct value *v = c->call.params.v;
	auto_buffer page = { 0 };

	if (!open_is_granted(c, "open", &page))
		return;
	if (v[BROWSER].type == SCHEMA_TEXT && strcmp(v[BROWSER].text, name) != 0) {
		backend_refuse(c, RPC_PARAMS, "leave `browser` out",
			"pages are opened by %s, and no other program", name);
		return;
	}
	open_now(c, &page);
}

/* A page that leads on takes along what is in its address: page, client and way back are known. */
static void open_login(struct backend_call *c)
{
	auto_buffer page = { 0 };
	struct error e = { 0 };

	if (!open_is_granted(c, "login", &page))
		return;
	if (login_check(page.data, page.len, &e) < 0)
		backend_refuse(
			c, RPC_SCOPE, "open the address yourself, if you trust it", "%s", e.text);
	else
		open_now(c, &page);
}

/* A page that the user did not ask for is not opened to try it. */
void open_probe(struct backend_call *c)
{
	const struct opener *o = backend_state(c->backend);

	backend_found(c, "%s opens pages", o->program);
}

const struct backend_method open_methods[] = {
	{ METHOD_OPEN_URL, open_page },
	{ METHOD_BROWSER_LOGIN, open_login },
	{ 0 },
};
