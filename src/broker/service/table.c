/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service/table.h"

#include <string.h>

#include "base/array.h"

/* What leads to the bus of the user's session. */
static const char *const bus_variables[] = { "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", NULL };
static const char *const mail_ways[] = { "tls", "starttls", "plain", NULL };

/* What leads to the user's display, and to programs for it. */
static const char *const display_variables[] = { "CORRAL_TERMINAL", "DISPLAY", "HOME", "PATH",
	"WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", NULL };
static const char *const clipboard_programs[] = { "wl-clipboard", "xclip", "terminal", NULL };

/* What a program of the user's desktop needs. Not XDG_CONFIG_HOME and XDG_DATA_HOME: they name the
 * programs that open pages, and a folder of the user's may be one that commands wrote to. */
static const char *const desktop_variables[] = { "BROWSER", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY",
	"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "USER", "WAYLAND_DISPLAY", "XAUTHORITY",
	"XDG_CONFIG_DIRS", "XDG_CURRENT_DESKTOP", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR",
	"XDG_SESSION_TYPE", NULL };
/* The time zone of the user. */
static const char *const zone_variables[] = { "TZ", NULL };

#define PROGRAMS_KEY                                                                               \
	{                                                                                          \
		"programs", SCHEMA_FILE, false,                                                    \
			.help = "a folder of programs of yours that no sandbox may write, before " \
				"those "                                                           \
				"of PATH",                                                         \
			.is_program = true                                                         \
	}

/* clang-format off */
#define CALENDAR_KEYS {                                                                        \
	{ "folder", SCHEMA_FILE, false,                                             \
		.help = "a folder with one folder for each list, as vdirsyncer has it" },              \
	{ "make_lists", SCHEMA_FLAG, false,                                         \
		.help = "in a folder: a list that is granted and is not there is made" },              \
	{ "url", SCHEMA_LINE, false, .help = "a CalDAV server: https://HOST/PATH" },        \
	{ "user", SCHEMA_LINE, false, .help = "to log in with" },                           \
	{ "password_file", SCHEMA_FILE, false, .help = "a file of mode 0600", .is_secret = true },         \
	{ "authorities", SCHEMA_FILE, false,                                        \
		.help = "certificates (PEM) of those who may sign the server's" },                     \
	{ "timezone", SCHEMA_LINE, false,                                           \
		.help = "of times without one: Europe/Berlin; the system's if not given" },            \
}
/* clang-format on */

const struct service_backend service_backends[] = {
	{
		.name = "browser",
		.section = "browser",
		.program = "corral-browser",
		.help = "shows pages of granted domains, by a headless Chromium in a sandbox of "
			"its own",
		.build = "build Corral with -Dbroker=enabled",
		.has_chromium = true,
		.keys = { { "program", SCHEMA_FILE, false,
			.help = "the browser's program, if it is not where distributions have Chromium" } },
		.example = "browser:\n  program: /usr/lib/chromium/chromium\n",
	},
	{
		.name = "notifications",
		.section = "notifications",
		.program = "corral-desktop",
		.help = "shows notifications on the user's desktop",
		.is_of_desktop = true,
		.build = "build Corral with -Dnotifications=enabled (needs libsystemd)",
		.variables = bus_variables,
	},
	{
		.name = "email",
		.section = "email",
		.program = "corral-mail",
		.help = "sends mail by an SMTP server",
		.needs_section = true,
		.build = "build Corral with -Demail=enabled (needs libcurl)",
		.keys = {
			{ "server", SCHEMA_LINE, true, .help = "host of the SMTP server" },
			{ "port", SCHEMA_NUMBER, false, UINT16_MAX,
				.help = "465 for tls, 587 for starttls, 25 for plain if not given", .min = 1 },
			{ "tls", SCHEMA_CHOICE, false, .words = mail_ways,
				.help = "tls (from the first byte) if not given" },
			{ "from", SCHEMA_LINE, true, .help = "ADDRESS or NAME <ADDRESS>" },
			{ "user", SCHEMA_LINE, false, .help = "to log in with" },
			{ "password_file", SCHEMA_FILE, false,
				.help = "a file of mode 0600", .is_secret = true },
			{ "authorities", SCHEMA_FILE, false,
				.help = "certificates (PEM) of those who may sign the server's" },
		},
		.example = "email:\n"
			   "  server: smtp.example.com\n"
			   "  from: Agent <agent@example.com>\n"
			   "  user: agent@example.com\n"
			   "  password_file: ~/.config/corral/smtp-password\n",
	},
	{
		.name = "clipboard",
		.section = "clipboard",
		.program = "corral-desktop",
		.help = "reads and writes the user's clipboard",
		.is_of_desktop = true,
		.build = "install Corral with its back ends",
		.variables = display_variables,
		.keys = {
			{ "program", SCHEMA_CHOICE, false, .words = clipboard_programs,
				.help = "must be wl-clipboard, xclip or terminal" },
			PROGRAMS_KEY,
		},
	},
	{
		.name = "browser-open",
		.section = "browser",
		.program = "corral-desktop",
		.help = "opens pages in the user's browser",
		.build = "install Corral with its back ends",
		.variables = desktop_variables,
		.keys = {
			{ "open_with", SCHEMA_FILE, false,
				.help = "the browser that pages are opened in; xdg-open chooses if not given", .is_program = true },
			PROGRAMS_KEY,
		},
	},
	{
		.name = "reminders",
		.section = "reminders",
		.program = "corral-calendar",
		.help = "reads and writes reminders in folders or on a CalDAV server",
		.folder = "reminders",
		.build = "build Corral with -Dcalendar=enabled (needs libical)",
		.variables = zone_variables,
		.keys = CALENDAR_KEYS,
		.example = "reminders:\n"
			   "  folder: ~/.local/share/reminders\n",
	},
	{
		.name = "calendar",
		.section = "calendar",
		.program = "corral-calendar",
		.help = "reads and writes events in folders or on a CalDAV server",
		.folder = "calendars",
		.build = "build Corral with -Dcalendar=enabled (needs libical)",
		.variables = zone_variables,
		.keys = CALENDAR_KEYS,
		.example = "calendar:\n"
			   "  folder: ~/.local/share/calendars\n",
	},
};
const size_t service_backend_count = ROWS(service_backends);

const struct service_backend *service_backend_find(const char *name)
{
	for (size_t i = 0; i < service_backend_count; i++)
		if (strcmp(service_backends[i].name, name) == 0)
			return &service_backends[i];
	return NULL;
}

const struct schema_field *service_key_find(const char *section, const char *name)
{
	for (size_t i = 0; i < service_backend_count; i++) {
		const struct schema_field *k = service_backends[i].keys;

		if (strcmp(service_backends[i].section, section) != 0)
			continue;
		for (; k->name; k++)
			if (strcmp(k->name, name) == 0)
				return k;
	}
	return NULL;
}
