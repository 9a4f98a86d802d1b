/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns in words. A pattern is taken apart by the same parsers that the engine uses, so that the
 * words follow what it matches and not how it is spelt. What has no simple words is shown as it is
 * written ("all that matches …"), and so is what does not parse.
 */
#include <stdio.h>
#include <string.h>

#include "advice/describe/internal.h"
#include "base/array.h"
#include "policy/baseline.h"
#include "policy/match/command.h"
#include "policy/match/glob.h"
#include "policy/match/secret.h"
#include "policy/network/host.h"

/* Files */

static const char *const folders[VARIABLE_COUNT] = {
	[VARIABLE_SKILL_DIR] = "its own folder",
	[VARIABLE_WORK_DIR] = "the working folder",
	[VARIABLE_DATA_DIR] = "its data folder",
	[VARIABLE_SHARED_DIR] = "the shared folder",
	[VARIABLE_HOME] = "your home folder",
	[VARIABLE_TEMP] = "the folder for temporary files",
};

/* A pattern, parted into the folder that its variable names and the rest. */
struct words_place {
	const char *folder; /* NULL: the root */
	const char *value;  /* the folder's path, if it is known */
	const char *rest;   /* "" or from a slash on */
};

static int words_place_of(const struct describe *c, const char *pattern, struct words_place *ret)
{
	enum variable v;
	int r = variable_split(pattern, &v, &ret->rest, NULL, NULL);

	*ret = (struct words_place){ .rest = r == 1 ? ret->rest : pattern };
	if (r == 1) {
		ret->folder = folders[v];
		ret->value = c->vars ? c->vars->values[v] : NULL;
	}
	return r < 0 ? r : 0;
}

/* "src in the working folder", "/srv/data". */
static void words_add_path(const struct words_place *p, const char *path, struct buffer *out)
{
	if (!p->folder) {
		buffer_adds(out, *path ? path : "/");
		return;
	}
	if (*path) {
		buffer_adds(out, path + (*path == '/'));
		buffer_adds(out, " in ");
	}
	buffer_adds(out, p->folder);
	if (p->value)
		buffer_printf(out, " (%s)", p->value);
}

static void words_add_file(const struct describe *c, const char *pattern, struct buffer *out)
{
	auto_arena scratch = { 0 };
	const struct glob_alternative *alt;
	struct words_place p;
	struct glob g;

	if (words_place_of(c, pattern, &p) < 0 ||
		(!(p.folder && !*p.rest) && glob_parse(&g, &scratch, p.rest, NULL, NULL) < 0)) {
		buffer_printf(out, "“%s”, which is not a valid pattern", pattern);
		return;
	}
	if (p.folder && !*p.rest) {
		words_add_path(&p, "", out);
		buffer_adds(out, " itself, not what lies in it");
		return;
	}
	alt = &g.alternatives[0];
	if (g.n > 1 || alt->kind == GLOB_TRUE) {
		buffer_adds(out, "all that matches ");
		words_add_path(&p, p.rest, out);
	} else if (alt->kind == GLOB_SUBTREE && !p.folder && alt->literal_len == 0) {
		buffer_adds(out, "everything on this machine");
	} else {
		buffer_adds(out, alt->kind == GLOB_SUBTREE ? "everything in " : "");
		words_add_path(&p, alt->literal, out);
	}
}

void describe_folder(const struct describe *c, const char *pattern, struct buffer *out)
{
	struct words_place p;

	if (words_place_of(c, pattern, &p) == 0)
		words_add_path(&p, p.rest, out);
	else
		buffer_adds(out, pattern);
}

/* Hosts */

static const struct {
	uint16_t port;
	const char *name;
} services[] = { { 21, "FTP, not encrypted" }, { 22, "SSH" }, { 25, "mail" }, { 53, "DNS" },
	{ 80, "HTTP, not encrypted" }, { 110, "mail" }, { 143, "mail" }, { 443, "HTTPS" },
	{ 465, "mail" }, { 587, "mail" }, { 853, "DNS" }, { 993, "mail" }, { 995, "mail" },
	{ 1433, "SQL Server" }, { 3306, "MySQL" }, { 3389, "remote desktop" },
	{ 5432, "PostgreSQL" }, { 5900, "remote desktop" }, { 6379, "Redis" },
	{ 8080, "HTTP, not encrypted" }, { 9418, "git" }, { 27017, "MongoDB" } };

static bool words_is_localhost(const struct host_pattern *h)
{
	return h->kind == HOST_NAME && strcmp(h->name, "localhost") == 0;
}

static void add_endpoint(const struct host_pattern *h, struct buffer *out)
{
	switch (h->kind) {
	case HOST_NAME:
		buffer_adds(out, words_is_localhost(h) ? "this machine (localhost, 127.0.0.1, ::1)"
						       : h->name);
		break;
	case HOST_SUBDOMAINS:
		buffer_printf(out, "any subdomain of %s", h->name);
		break;
	case HOST_ANY:
		buffer_adds(out, "any public host");
		break;
	case HOST_PREFIX:
		buffer_adds(out, h->prefix.length < h->prefix.address.bits ? "any address in "
									   : "the address ");
		prefix_print(&h->prefix, out);
		break;
	case HOST_SOCKET:
		buffer_printf(out, "whatever listens at %s, outside of the sandbox", h->name);
		return;
	case HOST_GLOB:
		buffer_printf(out, "any host whose name or address looks like %s", h->name);
		break;
	}
	if (h->port_lo == 1 && h->port_hi == HOST_PORT_MAX)
		buffer_adds(out, " on any port");
	else if (h->port_lo != h->port_hi)
		buffer_printf(out, " on ports %u to %u", h->port_lo, h->port_hi);
	else
		buffer_printf(out, " on port %u", h->port_lo);
	for (size_t i = 0; i < ROWS(services) && h->transport == TRANSPORT_TCP; i++) {
		if (h->port_lo == h->port_hi && services[i].port == h->port_lo)
			buffer_printf(out, " (%s)", services[i].name);
	}
	buffer_adds(out, h->transport == TRANSPORT_UDP ? " by UDP" : "");
}

static void words_add_host(const char *pattern, struct buffer *out)
{
	auto_arena scratch = { 0 };
	const struct baseline_net *guard;
	struct host_pattern h;

	if (host_pattern_parse(&h, &scratch, pattern, NULL, NULL) < 0) {
		buffer_printf(out, "“%s”, which is not a valid host", pattern);
		return;
	}
	add_endpoint(&h, out);
	guard = host_pattern_guard(&h);
	if (guard && !words_is_localhost(&h))
		buffer_printf(out, "; %s", baseline_net_why(guard));
	for (size_t i = 0; i < h.n_url_paths; i++) {
		if (host_path_is_unseen(h.url_paths[i]))
			buffer_adds(out, ", only connections whose requests Corral does not see");
		else
			buffer_printf(out,
				", only for paths that match %s where Corral itself speaks HTTP",
				h.url_paths[i]);
	}
}

/* Programs */

static void words_add_command(const struct describe *c, const char *pattern, struct buffer *out)
{
	auto_arena scratch = { 0 };
	auto_buffer file = { 0 };
	struct command_pattern p;

	if (command_pattern_parse(&p, &scratch, pattern, NULL, NULL) < 0) {
		buffer_printf(out, "“%s”, which is not a valid command", pattern);
		return;
	}
	if (p.line) {
		buffer_printf(out, "any command whose text looks like “%s”", p.line);
		return;
	}
	if (p.is_name) {
		buffer_adds(out, p.program);
	} else {
		words_add_file(c, p.program, &file);
		if (strncmp(buffer_text(&file), "everything ", 11) == 0)
			buffer_printf(out, "any program %s", buffer_text(&file) + 11);
		else
			buffer_adds(out, buffer_text(&file));
		out->failed = out->failed || file.failed;
	}
	if (!p.n_args && !p.more)
		buffer_adds(out, " without arguments");
	if (p.n_args)
		buffer_adds(out,
			p.more ? " with arguments that start with" : " with exactly the arguments");
	for (size_t i = 0; i < p.n_args; i++)
		buffer_printf(out, " %s", p.args[i]);
}

/* Variables */

static void words_add_variable(const char *pattern, struct buffer *out)
{
	size_t len = strcspn(pattern, "=");

	if (pattern[len] == '=')
		buffer_printf(out, "%.*s, with a value that the policy sets", (int)len, pattern);
	else if (strcmp(pattern, "*") == 0)
		buffer_adds(out, "every variable");
	else if (strpbrk(pattern, "*?"))
		buffer_printf(out, "every variable whose name matches %s", pattern);
	else
		buffer_adds(out, pattern);
}

/* Secrets of the vault */

static void words_add_secret(const char *entry, struct buffer *out)
{
	struct secret_entry s;

	secret_split(entry, &s);
	buffer_printf(out, "%.*s, which it does not see, at %.*s, in the %s of requests",
		(int)s.name_len, s.name, (int)s.host_len, s.host, secret_place_names[s.place]);
	if (*s.program)
		buffer_printf(out, " of %s", s.program);
}

void describe_grant(
	const struct describe *c, enum operation op, const struct grant *g, struct buffer *out)
{
	for (size_t i = 0; i < g->n; i++) {
		buffer_adds(out, i ? "; and at the same time " : "");
		switch (operation_rows[op].target) {
		case TARGET_PATH:
			words_add_file(c, g->all[i], out);
			break;
		case TARGET_HOST:
			words_add_host(g->all[i], out);
			break;
		case TARGET_COMMAND:
			words_add_command(c, g->all[i], out);
			break;
		case TARGET_NAME:
			if (op == OPERATION_ENV)
				words_add_variable(g->all[i], out);
			else
				buffer_adds(out, g->all[i]);
			break;
		case TARGET_SECRET:
			words_add_secret(g->all[i], out);
			break;
		case TARGET_SERVICE:
			buffer_adds(out, strcmp(g->all[i], "*") == 0 ? "every service" : g->all[i]);
			break;
		}
	}
}
