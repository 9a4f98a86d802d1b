/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/browser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "broker/service/config.h"
#include "broker/service/table.h"
#include "cli/output.h"
#include "host/daemon-place.h"
#include "host/lookup.h"
#include "process/starting.h"

static bool browser_is_there(void)
{
	static const char *const names[] = { "DISPLAY", "WAYLAND_DISPLAY", "BROWSER" };

	for (size_t i = 0; i < ROWS(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return true;
	}
	return false;
}

/* As browser.open has it: the one of services.yaml, or xdg-open. */
static bool browser_find(struct call *c, char out[PATH_BYTES])
{
	const char *home = getenv("HOME"), *named;
	const struct service_config_places places = { .user = service_config_user_file(c->arena,
							      getenv("XDG_CONFIG_HOME"),
							      home && home[0] == '/' ? home : NULL),
		.system = SERVICE_CONFIG_SYSTEM_FILE,
		.home = home && home[0] == '/' ? home : NULL };
	const struct service_section *section;
	auto_service_config config = { 0 };
	struct error e = { 0 };

	/* The link can be opened without it. */
	if (service_config_read(&config, &places, &e) < 0) {
		output_error(&e);
		return false;
	}
	section = service_config_find(&config, "browser");
	named = section ? service_section_get(section, "open_with") : NULL;
	if (named && strlen(named) < PATH_BYTES)
		return access(named, X_OK) == 0 && stpcpy(out, named);
	return lookup_find(getenv("PATH"), "xdg-open", out) == 0;
}

/* What browsers of browser.open get. */
static int browser_environment(struct call *c, const char *const **ret)
{
	const char *const *names = service_backend_find("browser-open")->variables;
	const char **env;
	size_t n = 0;

	while (names[n])
		n++;
	env = arena_calloc(c->arena, n + 1, sizeof(*env));
	for (n = 0; env && *names; names++) {
		const char *value = NULL;

		if (lookup_value(c->arena, *names, getenv(*names), &value) < 0)
			return -ENOMEM;
		if (value && !(env[n++] = arena_printf(c->arena, "%s=%s", *names, value)))
			return -ENOMEM;
	}
	*ret = env;
	return env ? 0 : -ENOMEM;
}

static void browser_escape(const char *url, struct buffer *out)
{
	for (; *url; url++)
		if (strchr("&<>\"'", *url))
			buffer_printf(out, "&#%d;", *url);
		else
			buffer_addc(out, *url);
}

static int browser_write(const char *path, const char *url)
{
	auto_buffer page = { 0 }, folder = { 0 };

	buffer_adds(&page, "<!doctype html><meta charset=\"utf-8\"><title>Corral</title>"
			   "<meta name=\"referrer\" content=\"no-referrer\">"
			   "<meta http-equiv=\"refresh\" content=\"0;url=");
	browser_escape(url, &page);
	buffer_adds(&page, "\"><p><a href=\"");
	browser_escape(url, &page);
	buffer_adds(&page, "\">Corral</a></p>\n");
	buffer_printf(&folder, "%.*s", (int)(strrchr(path, '/') - path), path);
	if (page.failed || folder.failed)
		return -ENOMEM;
	(void)file_make_folders(folder.data);
	return file_replace(path, page.data, page.len, 0600);
}

int browser_open(struct call *c, const char *file, const char *url)
{
	auto_buffer path = { 0 };
	char program[PATH_BYTES];
	const char *argv[] = { program, NULL, NULL };
	struct starting s = { .program = program,
		.argv = argv,
		.fds = (int[]){ -1, -1, -1 },
		.n = 3,
		.folder = "/",
		.place = STARTING_SESSION };
	pid_t pid = 0;
	int r;

	if (!browser_is_there() || !browser_find(c, program) || daemon_place(file, &path) < 0)
		return 0;
	r = path.failed ? -ENOMEM : browser_write(path.data, url);
	if (r < 0)
		return error_set(
			c->error, r, NULL, "cannot write %s: %s", buffer_text(&path), strerror(-r));
	argv[1] = path.data;
	r = browser_environment(c, &s.env);
	return r < 0 ? error_no_memory(c->error) : starting_program(&s, &pid) == 0;
}
