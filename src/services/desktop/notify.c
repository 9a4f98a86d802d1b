/* SPDX-License-Identifier: Apache-2.0 */
#include "services/desktop/notify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>

#include "process/confinement.h"
#include "services/desktop/text.h"

#define NAME "org.freedesktop.Notifications"
#define PATH "/org/freedesktop/Notifications"

enum {
	BEGIN_MS = 5000,
	NAME_CHARS = 40,
	TITLE_CHARS = 120,
	BODY_CHARS = 1000,
	BODY_LINES = 12,
};

struct notify {
	sd_bus *bus;
	bool has_markup; /* the daemon reads markup in a body */
	char name[128], version[64];
};

/* Parameters, by the table. */
enum { TITLE, BODY, SOUND };

/* The bus */

static const char notify_hint[] =
	"log in to a desktop with notifications, or install a daemon such as dunst or mako";

/* No address that runs a program, and none on another machine. */
static int notify_address(char out[512], struct error *why)
{
	const char *address = getenv("DBUS_SESSION_BUS_ADDRESS");
	const char *folder = getenv("XDG_RUNTIME_DIR");
	int n;

	if (address && *address)
		n = snprintf(out, 512, "%s", address);
	else if (folder && *folder == '/')
		n = snprintf(out, 512, "unix:path=%s/bus", folder);
	else
		n = -1;
	if (n > 0 && n < 512 && strncmp(out, "unix:", 5) == 0 && !strchr(out, ';'))
		return 0;
	if (n < 0)
		(void)error_set(why, -ENOENT, NULL,
			"there is no session bus: DBUS_SESSION_BUS_ADDRESS is not set");
	else
		(void)error_set(
			why, -EINVAL, NULL, "DBUS_SESSION_BUS_ADDRESS must be one unix: address");
	error_hint(why, "%s", notify_hint);
	return -ENOENT;
}

static int notify_connect(struct notify *n, struct error *why)
{
	const char *unique = NULL;
	char address[512];
	int r = notify_address(address, why);

	if (r < 0)
		return r;
	r = sd_bus_new(&n->bus);
	if (r >= 0)
		r = sd_bus_set_address(n->bus, address);
	if (r >= 0)
		r = sd_bus_set_bus_client(n->bus, 1);
	if (r >= 0)
		r = sd_bus_set_method_call_timeout(n->bus, BEGIN_MS * UINT64_C(1000));
	if (r >= 0)
		r = sd_bus_start(n->bus);
	/* Waits until the bus has answered. */
	if (r >= 0)
		r = sd_bus_get_unique_name(n->bus, &unique);
	if (r >= 0)
		return 0;
	(void)error_set(why, r, NULL, "cannot connect to the session bus: %s", strerror(-r));
	error_hint(why, "%s", notify_hint);
	return r;
}

/* The daemon */

static int notify_ask(struct notify *n, const char *member, sd_bus_message **ret, struct error *why)
{
	sd_bus_error e = SD_BUS_ERROR_NULL;
	int r = sd_bus_call_method(n->bus, NAME, PATH, NAME, member, &e, ret, NULL);

	if (r < 0) {
		(void)error_set(why, r, NULL, "no notification daemon answers: %s",
			e.message ? e.message : strerror(-r));
		error_hint(why, "%s", notify_hint);
	}
	sd_bus_error_free(&e);
	return r;
}

static int notify_identify(struct notify *n, struct error *why)
{
	const char *name = NULL, *vendor = NULL, *version = NULL;
	sd_bus_message *m = NULL;
	int r = notify_ask(n, "GetServerInformation", &m, why);

	if (r >= 0)
		r = sd_bus_message_read(m, "sss", &name, &vendor, &version);
	if (r >= 0) {
		(void)snprintf(n->name, sizeof(n->name), "%s", name);
		(void)snprintf(n->version, sizeof(n->version), "%s", version);
	}
	sd_bus_message_unref(m);
	return r < 0 ? r : 0;
}

static int notify_find_capabilities(struct notify *n, struct error *why)
{
	char **list = NULL;
	sd_bus_message *m = NULL;
	int r = notify_ask(n, "GetCapabilities", &m, why);

	if (r >= 0)
		r = sd_bus_message_read_strv(m, &list);
	for (char **word = list; r >= 0 && word && *word; word++)
		n->has_markup = n->has_markup || strcmp(*word, "body-markup") == 0;
	for (char **word = list; word && *word; word++)
		free(*word);
	free(list);
	sd_bus_message_unref(m);
	return r < 0 ? r : 0;
}

int notify_begin(struct backend *b, struct error *why)
{
	static struct notify n;
	int r = notify_connect(&n, why);

	if (r == 0)
		r = notify_identify(&n, why);
	if (r == 0)
		r = notify_find_capabilities(&n, why);
	if (r == 0) {
		r = confinement_enter(PROCESS_BACKEND, NULL);
		if (r < 0)
			(void)error_set(
				why, r, NULL, "cannot confine corral-desktop: %s", strerror(-r));
	}
	backend_set_state(b, &n);
	return r;
}

/* Sending */

static int notify_add_hints(sd_bus_message *m, bool sound)
{
	const uint8_t normal = 1;
	int r = sd_bus_message_open_container(m, 'a', "{sv}");

	if (r >= 0)
		r = sd_bus_message_append(m, "{sv}", "urgency", "y", normal);
	if (r >= 0)
		r = sound ? sd_bus_message_append(
				    m, "{sv}", "sound-name", "s", "message-new-instant")
			  : sd_bus_message_append(m, "{sv}", "suppress-sound", "b", 1);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int notify_call(const struct notify *n, const char *title, const char *body, bool sound,
	uint64_t ms, sd_bus_error *e)
{
	sd_bus_message *m = NULL, *answer = NULL;
	int r = sd_bus_message_new_method_call(n->bus, &m, NAME, PATH, NAME, "Notify");

	/* Name of the program, nothing to replace, no icon, title, body, no actions. */
	if (r >= 0)
		r = sd_bus_message_append(m, "susssas", "Corral", 0, "", title, body, 0);
	if (r >= 0)
		r = notify_add_hints(m, sound);
	if (r >= 0)
		r = sd_bus_message_append(m, "i", -1);
	if (r >= 0)
		r = sd_bus_call(n->bus, m, ms * 1000, e, &answer);
	sd_bus_message_unref(m);
	sd_bus_message_unref(answer);
	return r < 0 ? r : 0;
}

static void notify_refuse(struct backend_call *c, int r, const sd_bus_error *e)
{
	const struct notify *n = backend_state(c->backend);

	/* The next call connects anew. */
	if (sd_bus_is_open(n->bus) <= 0)
		backend_stop(c->backend);
	backend_refuse(c, r == -ETIMEDOUT ? RPC_TIMEOUT : RPC_SERVICE, notify_hint,
		"the notification was not shown: %s", e->message ? e->message : strerror(-r));
}

static void notify_send(struct backend_call *c)
{
	const struct value *v = c->call.params.v;
	const struct notify *n = backend_state(c->backend);
	const char *sandbox = backend_sandbox(c->backend);
	sd_bus_error e = SD_BUS_ERROR_NULL;
	auto_buffer title = { 0 }, body = { 0 };
	struct values result = { 0 };
	int r = -ENOMEM;

	/* A policy is called by its file. */
	if (strrchr(sandbox, '/') && strrchr(sandbox, '/')[1])
		sandbox = strrchr(sandbox, '/') + 1;
	/* First whose it is: what follows can be anything. */
	text_add_line(&title, sandbox, strlen(sandbox), NAME_CHARS);
	buffer_adds(&title, ": ");
	text_add_line(&title, v[TITLE].text, v[TITLE].len, TITLE_CHARS);
	text_add_lines(&body, v[BODY].text, v[BODY].len, BODY_CHARS, BODY_LINES, n->has_markup);
	if (!title.failed && !body.failed)
		r = notify_call(n, buffer_text(&title), buffer_text(&body), v[SOUND].number != 0,
			backend_left_ms(c), &e);
	if (r < 0) {
		notify_refuse(c, r, &e);
	} else {
		result.v[0] = value_number(SCHEMA_FLAG, 1);
		backend_answer(c, &result);
	}
	sd_bus_error_free(&e);
}

void notify_probe(struct backend_call *c)
{
	const struct notify *n = backend_state(c->backend);

	backend_found(c, "%s %s on the session bus", n->name, n->version);
}

const struct backend_method notify_methods[] = {
	{ METHOD_NOTIFICATIONS_SEND, notify_send },
	{ 0 },
};
