/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service/chromium.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/path.h"
#include "broker/service/chromium-rights.h"
#include "lib/api/handles.h"
#include "lib/sandbox/sandbox.h"
#include "policy/format/image.h"
#include "policy/format/manifest.h"

enum {
	CHROMIUM_MEMORY = 2047 << 20, /* of all its processes */
	CHROMIUM_PIDS = 1024,         /* threads count too */
};

/* The program itself, not the script in PATH that may stand before it. */
static const char *const chromium_places[] = {
	"/usr/lib/chromium/chromium",                   /* Debian, Arch */
	"/usr/lib64/chromium-browser/chromium-browser", /* Fedora */
	"/usr/lib/chromium/chrome",                     /* Alpine */
	"/usr/lib/chromium-browser/chromium-browser",
	"/opt/google/chrome/chrome",
	NULL,
};

/*
 * --no-sandbox: Chromium's own sandbox needs user namespaces, which no command gets inside of
 * Corral's, and it stands around all of Chromium. What follows takes away what a page has no use
 * for; hosts are enforced by the relay, whatever stands here.
 */
static const char chromium_flags[] =
	" --headless --no-sandbox --remote-debugging-pipe --no-startup-window"
	" --user-data-dir=/tmp/profile --disable-gpu --disable-dev-shm-usage --hide-scrollbars"
	" --no-first-run --no-default-browser-check --no-pings --no-service-autorun"
	" --disable-extensions --disable-component-extensions-with-background-pages"
	" --disable-default-apps --disable-sync --disable-background-networking"
	" --disable-component-update --disable-domain-reliability --disable-breakpad"
	" --disable-crash-reporter --disable-client-side-phishing-detection"
	" --disable-quic --webrtc-ip-handling-policy=disable_non_proxied_udp"
	" --force-webrtc-ip-handling-policy=disable_non_proxied_udp"
	" --dns-prefetch-disable --disable-notifications --deny-permission-prompts"
	" --disable-print-preview --mute-audio --password-store=basic --use-mock-keychain"
	" --disk-cache-size=33554432 --js-flags=--max-old-space-size=768"
	" --disable-features=DnsOverHttps,MediaRouter,OptimizationHints,Translate,"
	"AutofillServerCommunication,NetworkTimeServiceQuerying,Prerender2,BackForwardCache,"
	"InterestFeedContentSuggestions,CertificateTransparencyComponentUpdater";

struct chromium {
	struct corral_sandbox *sandbox;
	struct corral_process *process;
};

/* Finding */

const char *chromium_find(const char *configured, char buffer[PATH_BYTES])
{
	const char *const given[] = { configured, NULL };

	for (const char *const *p = configured ? given : chromium_places; *p; p++) {
		char *real = realpath(*p, NULL);
		const bool is_it = real && strlen(real) < PATH_BYTES && access(real, X_OK) == 0;

		if (is_it)
			(void)stpcpy(buffer, real);
		free(real);
		if (is_it)
			return buffer;
	}
	return NULL;
}

static int chromium_find_program(
	const struct chromium_options *o, char ret[PATH_BYTES], struct error *e)
{
	if (!chromium_find(o->program, ret)) {
		(void)error_set(e, -ENOENT, NULL, "there is no Chromium%s%s",
			o->program ? " at " : "", o->program ? o->program : "");
		error_hint(e, "install it (Debian: apt install chromium), or name another one in "
			      "services.yaml: browser: {program: /path/to/chrome}");
		return -ENOENT;
	}
	/* It stands in a shell's line, and as a pattern it would be another. */
	if (strpbrk(ret, "*?[]{}\\$'\n"))
		return error_set(e, -EINVAL, NULL,
			"the path of Chromium must have none of *?[]{}\\$': %s", ret);
	return 0;
}

/* Building */

/* An image (policy/format/image.h), or text in any format; NULL: nothing is granted. */
static int chromium_read_layer(const char *text, struct permissions **ret, struct error *e)
{
	auto_manifest m = { 0 };
	int r;

	if (!text || image_is_text(text)) {
		*ret = permissions_new();
		return !*ret ? -ENOMEM : text ? image_read_text(*ret, text) : 0;
	}
	r = manifest_read(&m, MANIFEST_UNKNOWN, "policy.json", text, strlen(text), e);
	if (r < 0)
		return r;
	*ret = m.permissions;
	m.permissions = NULL;
	return 0;
}

static int chromium_add_layer(
	struct corral_builder **b, const char *text, const char *program, struct error *e)
{
	struct corral_permissions handle = { 0 };
	auto_permissions *layer = NULL;
	int r = chromium_read_layer(text, &layer, e);

	if (r == 0)
		r = chromium_rights_new(&handle.p, layer, program, e);
	if (r < 0)
		return r;
	/* Both copy it. */
	r = *b ? corral_builder_restrict(*b, &handle) : corral_builder_from_permissions(b, &handle);
	permissions_free(handle.p);
	return r;
}

static int chromium_build(struct chromium *c, struct corral_builder *b,
	const struct chromium_options *o, const char *folder, struct corral_error **e)
{
	/* What fails here, building fails with its words. */
	(void)corral_builder_variable(b, CHROMIUM_RIGHTS_FOLDER, folder);
	(void)corral_builder_memory_limit(b, CHROMIUM_MEMORY);
	(void)corral_builder_pids_limit(b, CHROMIUM_PIDS);
	/* It is a part of a session that has joined. */
	(void)corral_builder_without_daemon(b);
	if (o->warden && o->warden[0])
		(void)corral_builder_warden(b, o->warden);
	if (o->sink)
		(void)corral_builder_with_audit(b, o->sink, o->context);
	return sandbox_builder_build(b, NULL, &c->sandbox, e);
}

static int chromium_make_sandbox(
	struct chromium *c, const struct chromium_options *o, const char *program, struct error *e)
{
	char folder[PATH_BYTES];
	struct corral_builder *b = NULL;
	struct corral_error *why = NULL;
	int r = 0;

	(void)snprintf(folder, sizeof(folder), "%s", program);
	for (size_t i = 0; r == 0 && i < o->n_layers; i++)
		r = chromium_add_layer(&b, o->layers[i], strrchr(program, '/') + 1, e);
	/* `corral service test` has no policy. */
	if (r == 0 && !b)
		r = chromium_add_layer(&b, NULL, strrchr(program, '/') + 1, e);
	if (r == 0) {
		r = chromium_build(c, b, o, dirname(folder), &why);
		if (r < 0)
			(void)error_set(e, r, NULL, "no sandbox for Chromium: %s",
				why ? corral_error_message(why) : strerror(-r));
	}
	corral_error_free(why);
	corral_builder_free(b);
	return r;
}

/* Its protocol is spoken by descriptors 3 and 4, which are the pipes that it has as 0 and 1. */
static int chromium_launch(struct chromium *c, const char *program, struct error *e)
{
	struct corral_call call = CORRAL_CALL;
	struct corral_error *why = NULL;
	auto_buffer line = { 0 };
	int r;

	buffer_printf(
		&line, "exec '%s'%s 3<&0 4>&1 </dev/null >/dev/null 2>&1", program, chromium_flags);
	if (line.failed)
		return -ENOMEM;
	call.flags = CORRAL_CALL_INPUT | CORRAL_CALL_RAW;
	r = corral_process_start_line(&c->process, c->sandbox, line.data, &call, &why);
	if (r < 0)
		(void)error_set(e, r, NULL, "Chromium does not start: %s",
			why ? corral_error_message(why) : strerror(-r));
	corral_error_free(why);
	return r;
}

int chromium_look(const struct chromium_options *o, struct error *e)
{
	char program[PATH_BYTES];

	return chromium_find_program(o, program, e);
}

int chromium_start(struct chromium **ret, const struct chromium_options *o, struct error *e)
{
	char program[PATH_BYTES];
	struct chromium *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return error_no_memory(e);
	r = chromium_find_program(o, program, e);
	if (r == 0)
		r = chromium_make_sandbox(c, o, program, e);
	if (r == 0)
		r = chromium_launch(c, program, e);
	if (r == 0)
		*ret = c;
	else
		chromium_free(c);
	return r;
}

/* While it runs */

int chromium_take_pipes(struct chromium *c, int ret[2])
{
	int to = corral_process_take_fd(c->process, CORRAL_STDIN);
	int from = to < 0 ? to : corral_process_take_fd(c->process, CORRAL_STDOUT);

	if (from < 0) {
		if (to >= 0)
			(void)close(to);
		return from;
	}
	ret[0] = to;
	ret[1] = from;
	return 0;
}

int chromium_fd(const struct chromium *c)
{
	return corral_process_fd(c->process);
}

bool chromium_dispatch(struct chromium *c)
{
	return corral_process_dispatch(c->process) != 0;
}

void chromium_free(struct chromium *c)
{
	if (!c)
		return;
	if (c->process)
		corral_process_free(c->process);
	corral_sandbox_free(c->sandbox);
	free(c);
}
