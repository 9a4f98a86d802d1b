/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corrald: what runs, what was denied, what may I allow? This process is the supervisor: it has the
 * token, the log and the state, and parses frames alone. What reads HTTP is corrald-http, a child
 * that is fully confined (http-process.c); what reads policies and logs for the API is `corral`
 * (tool.c), and /api/invoke is done by corrald-enclave (enclave-process.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/supervisor/supervisor.h"
#include "host/lookup.h"
#include "jail/privilege.h"

struct corrald_options {
	const char *config;
	const char *port;
	bool is_system;
};

static const char corrald_help[] =
	"Usage: corrald [--system] [--port PORT] [--config FILE]\n"
	"\n"
	"Shows what Corral's sandboxes may do and did: an HTTP API on a Unix socket, and\n"
	"a page on loopback. It stays in the foreground until SIGTERM or Ctrl-C.\n"
	"\n"
	"Options:\n"
	"      --port PORT    have the page on this port of loopback (default 3847); if it\n"
	"                     is taken, and for 0, one that is free; `none`: no page\n"
	"      --config FILE  read this file, not daemon.json or daemon.yaml in\n"
	"                     ~/.config/corral (--system: /etc/corral)\n"
	"      --system       for all users: /run/corral, /etc/corral, /var/lib/corral\n"
	"  -h, --help         print this help and exit\n"
	"  -V, --version      print the version and exit\n"
	"\n"
	"Examples:\n"
	"  corrald\n"
	"  corrald --port 0\n"
	"  curl --unix-socket $XDG_RUNTIME_DIR/corral/api.sock -H \"Authorization: Bearer \\\n"
	"    $(cat $XDG_RUNTIME_DIR/corral/token)\" http://localhost/api/status\n";

static int corrald_complain(const struct error *e)
{
	auto_buffer text = { 0 };

	error_print(e, &text);
	(void)fprintf(stderr, "corrald: %s\n", buffer_text(&text));
	return 1;
}

/* 1: it was all that was asked for; negative: it is wrong. */
static int corrald_parse(int argc, char **argv, struct corrald_options *o, struct error *e)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];
		const char **value = strcmp(word, "--port") == 0     ? &o->port
				     : strcmp(word, "--config") == 0 ? &o->config
								     : NULL;

		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
			return fputs(corrald_help, stdout) < 0 ? -EIO : 1;
		if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
			return puts("corrald " CORRAL_VERSION) < 0 ? -EIO : 1;
		if (strcmp(word, "--system") == 0) {
			o->is_system = true;
		} else if (value && i + 1 < argc) {
			*value = argv[++i];
		} else {
			(void)error_set(e, -EINVAL, NULL,
				value ? "%s needs a value" : "unknown option `%s`", word);
			error_hint(e, "`corrald --help` lists the options");
			return -EINVAL;
		}
	}
	return 0;
}

static int corrald_set_port(struct config *c, const char *port, struct error *e)
{
	char *end;
	unsigned long number;

	c->no_port = strcmp(port, "none") == 0;
	if (c->no_port)
		return 0;
	number = strtoul(port, &end, 10);
	if (port[0] < '0' || port[0] > '9' || *end || number > UINT16_MAX)
		return error_set(e, -EINVAL, NULL,
			"--port: `%.32s` is not a port; 0 picks one, `none` leaves it out", port);
	c->port = (uint16_t)number;
	return 0;
}

static int corrald_configure(struct supervisor *s, const struct corrald_options *o, struct error *e)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
	struct buffer *folder = &s->config_folder;
	int r;

	s->config = config_default();
	s->is_system = o->is_system;
	if (o->is_system)
		buffer_adds(folder, "/etc/corral");
	else if (config && config[0] == '/')
		buffer_printf(folder, "%s/corral", config);
	else if (home && home[0] == '/')
		buffer_printf(folder, "%s/.config/corral", home);
	r = o->config     ? config_load(&s->config, o->config, e)
	    : folder->len ? config_find(&s->config, buffer_text(folder), e)
			  : 0;
	return r == 0 && o->port ? corrald_set_port(&s->config, o->port, e) : r;
}

/* For all that it starts: nothing of a terminal's leads them to code that a command left. */
static int corrald_clean_environment(struct error *e)
{
	static struct arena arena;
	const char *const *env;

	if (lookup_environment(&arena, (const char *const *)environ, &env) < 0)
		return error_no_memory(e);
	environ = (char **)(uintptr_t)env;
	return 0;
}

int main(int argc, char **argv)
{
	static struct supervisor s = { .journal = { .fd = STDERR_FILENO },
		.listeners = { .tcp = { { .fd = -1 }, { .fd = -1 } }, .api = { .fd = -1 } },
		.peers = { .join = { .fd = -1 } },
		.signals = { .fd = -1 },
		.watch = { .health = { .answer = { .fd = -1 } },
			.security = { .changes = { .fd = -1 } } },
		.folder = { .lock = -1 } };
	struct corrald_options o = { 0 };
	struct error e = { 0 };
	int r = corrald_parse(argc, argv, &o, &e);

	if (r > 0)
		return 0;
	if (r == 0)
		r = corrald_clean_environment(&e);
	if (r == 0)
		r = corrald_configure(&s, &o, &e);
	if (r < 0)
		return corrald_complain(&e) + 1;
	r = supervisor_open(&s, &e);
	/* Processes of the same user cannot look into it: it has the token. */
	if (r == 0 && privilege_hide() < 0)
		r = error_set(&e, -EPERM, NULL, "cannot hide from other processes");
	if (r < 0)
		(void)corrald_complain(&e);
	else
		r = supervisor_run(&s);
	supervisor_close(&s);
	return r < 0;
}
