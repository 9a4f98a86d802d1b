/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral-calendar: reminders and calendars for one sandbox. A process serves one of both, from a
 * folder or from a CalDAV server, and can do nothing else: with a folder it has that folder and the
 * system's time zones, and no network; with a server it has the zones, and connections to that
 * server that another process hands over (services/connector.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/landlock.h"
#include "process/confinement.h"
#include "services/calendar/remote.h"
#include "services/calendar/serve.h"
#include "services/calendar/vdir.h"
#include "services/connector.h"

/* The zone of the user: as configured, by TZ, or the system's. */
static void calendar_set_zone(const struct backend *b)
{
	const char *name = backend_config(b, "timezone");
	char link[PATH_MAX];
	ssize_t n;

	if (!name)
		name = getenv("TZ");
	if (name && *name == ':')
		name++;
	if (!name || !*name) {
		n = readlink("/etc/localtime", link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		name = strstr(link, "zoneinfo/");
		name = name ? name + strlen("zoneinfo/") : NULL;
	}
	zone_set_local(name);
}

static int calendar_open_folder(struct backend *b, struct store **ret, struct error *why)
{
	const char *path = backend_config(b, "folder");
	const struct confinement_grant folder = {
		.path = path, .access = LANDLOCK_READ | LANDLOCK_WRITE, .is_needed = true
	};
	auto_fd root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (root < 0) {
		r = error_set(why, -errno, NULL, "the folder `%s` cannot be opened: %s", path,
			strerror(errno));
		error_hint(why, "make it, with one folder in it for each list; see folder: in "
				"services.yaml");
		return r;
	}
	r = confinement_enter(
		PROCESS_CALENDAR, &(struct confinement_more){ .grants = &folder, .n = 1 });
	if (r < 0)
		return error_set(
			why, r, NULL, "this kernel cannot confine the service: %s", strerror(-r));
	r = vdir_new(ret, fd_take(&root));
	return r < 0 ? error_no_memory(why) : 0;
}

static int calendar_open_server(
	struct backend *b, struct store **ret, enum item_kind kind, struct error *why)
{
	const struct remote_options o = { .url = backend_config(b, "url"),
		.user = backend_config(b, "user"),
		.password = backend_config(b, "password"),
		.authorities = backend_config(b, "authorities"),
		.kind = kind };
	int r = remote_open(ret, &o, why);

	if (r < 0)
		return r;
	r = confinement_enter(PROCESS_CALENDAR, NULL);
	return r < 0 ? error_set(why, r, NULL, "this kernel cannot confine the service: %s",
			       strerror(-r))
		     : 0;
}

static int calendar_begin(struct backend *b, struct serve *serve, struct error *why)
{
	const bool has_folder = backend_config(b, "folder"), has_url = backend_config(b, "url");

	if (has_folder == has_url)
		return error_set(why, -EINVAL, NULL,
			"%s: name either a folder or a url in services.yaml", serve->service);
	/* What libical cannot read it must not end the process for. */
	icalerror_set_errors_are_fatal(false);
	calendar_set_zone(b);
	backend_set_state(b, serve);
	serve->makes_lists = has_folder && backend_config(b, "make_lists") &&
			     strcmp(backend_config(b, "make_lists"), "true") == 0;
	return has_folder ? calendar_open_folder(b, &serve->store, why)
			  : calendar_open_server(b, &serve->store, serve->kind, why);
}

static int calendar_begin_reminders(struct backend *b, struct error *why)
{
	static struct serve serve = { .service = "reminders", .kind = ITEM_TODO };

	return calendar_begin(b, &serve, why);
}

static int calendar_begin_events(struct backend *b, struct error *why)
{
	static struct serve serve = { .service = "calendar", .kind = ITEM_EVENT };

	return calendar_begin(b, &serve, why);
}

/* Reads the lists, and says where they are. */
static void calendar_probe(struct backend_call *c)
{
	const char *folder = backend_config(c->backend, "folder");
	auto_serving s;
	int r = serve_begin(&s, c);

	if (r < 0)
		serve_refuse(&s, r);
	else
		backend_found(c, "%zu %s%s in %s", s.lists.n,
			s.serve->kind == ITEM_TODO ? "list" : "calendar", s.lists.n == 1 ? "" : "s",
			folder ? folder : backend_config(c->backend, "url"));
}

int main(int argc, char **argv)
{
	static const struct backend_service services[] = {
		{ .name = "reminders",
			.begin = calendar_begin_reminders,
			.methods = reminders_methods,
			.probe = calendar_probe },
		{ .name = "calendar",
			.begin = calendar_begin_events,
			.methods = events_methods,
			.probe = calendar_probe },
		{ 0 },
	};
	static const struct backend_program program = { "corral-calendar", services };

	if (argc > 1 && strcmp(argv[1], CONNECTOR_WORD) == 0)
		return connector_main(argc, argv);
	return backend_main(argc, argv, &program);
}
