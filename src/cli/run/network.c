/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/network.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "cli/run/run.h"
#include "codec/json-writer.h"
#include "policy/explain.h"

/* Keeping */

static int run_network_append(struct run_network *n, struct arena *a, const struct record *r)
{
	struct record copy = *r;
	const char **texts[] = { &copy.target, &copy.name, &copy.address, &copy.rule, &copy.reason,
		&copy.remedy, &copy.program };

	if (n->n == RUN_NETWORK_MAX)
		return -ENOSPC;
	for (size_t i = 0; i < ROWS(texts); i++) {
		*texts[i] = arena_strdup(a, *texts[i]);
		if (!*texts[i])
			return -ENOMEM;
	}
	copy.count = r->count ? r->count : 1;
	return ARENA_PUSH(a, n->items, n->n, n->cap, copy);
}

/* Of the same, by whichever program. */
static bool run_network_is_same(const struct record *a, const struct record *b)
{
	return a->kind == b->kind && a->dns == b->dns && strcmp(a->target, b->target) == 0 &&
	       strcmp(a->reason, b->reason) == 0;
}

int run_network_add(struct run_network *n, struct arena *a, const struct record *r)
{
	int ret;

	for (size_t i = 0; i < n->n; i++) {
		struct record *known = &n->items[i];

		if (!run_network_is_same(known, r) || strcmp(known->program, r->program) != 0)
			continue;
		known->count += r->count ? r->count : 1;
		known->sent += r->sent;
		known->received += r->received;
		return 0;
	}
	ret = run_network_append(n, a, r);
	n->missed += ret < 0 && r->kind != RECORD_CLOSED;
	return ret == -ENOMEM ? ret : 0;
}

/* Names without a network, and ports of names */

bool run_network_forbids(const struct run *r, const struct request *q, struct decision *ret)
{
	for (size_t i = r->n_base; i < r->n_layers; i++)
		if (policy_decide_layer(r->policy, i, q, ret) == 0 && ret->verdict == VERDICT_DENY)
			return true;
	return false;
}

/* "http://NAME/", "NAME:8080": the port of a name, as the command line has it; 0: it has none. */
static unsigned run_network_port_in(const char *word, const char *name)
{
	const char *at = strstr(word, name);
	size_t len = strlen(name);
	unsigned port = 0;

	for (const char *p = at ? at + len + 1 : NULL;
		p && at[len] == ':' && *p >= '0' && *p <= '9'; p++)
		port = port > UINT16_MAX ? port : port * 10 + (unsigned)(*p - '0');
	if (port > 0 && port <= UINT16_MAX)
		return port;
	return at && at - word >= 7 && strncmp(at - 7, "http://", 7) == 0 ? 80 : 0;
}

/* What a program connects to, where nothing else is known. */
static uint16_t run_network_port_of(const char *program)
{
	static const struct {
		const char *program;
		uint16_t port;
	} rows[] = {
		{ "ssh", 22 },
		{ "scp", 22 },
		{ "sftp", 22 },
		{ "ftp", 21 },
		{ "telnet", 23 },
		{ "whois", 43 },
		{ "psql", 5432 },
		{ "pg_dump", 5432 },
		{ "mysql", 3306 },
		{ "mariadb", 3306 },
		{ "redis-cli", 6379 },
		{ "mongosh", 27017 },
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		if (strcmp(rows[i].program, program) == 0)
			return rows[i].port;
	return 443;
}

uint16_t run_network_port(const struct record *r, const char *const *argv, size_t n_argv)
{
	const char *slash = strrchr(r->program, '/');
	unsigned port = 0;

	for (size_t i = 0; port == 0 && i < n_argv; i++)
		port = run_network_port_in(argv[i], r->target);
	return port ? (uint16_t)port : run_network_port_of(slash ? slash + 1 : r->program);
}

int run_network_complete(const struct run *r, struct record *record)
{
	auto_buffer rule = { 0 }, reason = { 0 }, remedy = { 0 };
	const uint16_t port = run_network_port(record, r->argv, r->n_argv);
	char target[512];
	const struct request request = { .op = OPERATION_NET_CONNECT, .target = target };
	struct arena *a = r->call->arena;
	struct decision d;

	if (record->kind != RECORD_DENIED || !record->dns || strcmp(record->target, "*") == 0 ||
		snprintf(target, sizeof(target), "%s:%u", record->name, port) >=
			(int)sizeof(target))
		return 0;
	/* A line that a stored policy forbids does not help. */
	if (!run_network_forbids(r, &request, &d)) {
		if (record->port == port || policy_decide(r->policy, &request, &d) < 0 ||
			d.verdict == VERDICT_ALLOW)
			return 0;
	}
	explain_rule(&d, &rule);
	explain_reason(&request, &d, &reason);
	explain_remedy(&request, &d, &remedy);
	record->port = port;
	record->rule = arena_strdup(a, buffer_text(&rule));
	record->reason = arena_strdup(a, buffer_text(&reason));
	record->remedy = arena_strdup(a, buffer_text(&remedy));
	return record->rule && record->reason && record->remedy ? 0 : -ENOMEM;
}

/* For people */

bool run_network_is_granted(const struct record *r, const struct policy *policy)
{
	char target[512];

	if (r->kind != RECORD_DENIED || r->dns || !*r->name ||
		snprintf(target, sizeof(target), "%s:%u", r->name, r->port) >= (int)sizeof(target))
		return false;
	return policy_allows(
		policy, &(struct request){ .op = OPERATION_NET_CONNECT, .target = target });
}

/* What would help, as an option where there is one: "--net NAME:443". */
static void run_network_put_remedy(const char *remedy, struct output *o)
{
	auto_buffer text = { 0 };
	const char *rest, *option = explain_option(remedy, &text, &rest);

	/* What is built in has no file to add it to, and an option joins it (explain_where()). */
	if (option) {
		buffer_printf(&o->text, "%s ", option);
		buffer_adds(&text, rest);
		remedy = buffer_text(&text);
	}
	output_foreign(o, remedy);
}

/* Not where the reason says it already. */
static bool run_network_has_remedy(const struct record *r)
{
	return *r->remedy && strncmp(r->remedy, "none: ", 6) != 0;
}

void run_network_tell_first(const struct record *r, const char *profile, struct output *o)
{
	const bool is_never = profile && strcmp(profile, "offline") == 0;

	output_note(o);
	buffer_adds(&o->text, "this run has no network: ");
	output_foreign(o, *r->program ? r->program : "the command");
	buffer_adds(&o->text, " asked for ");
	output_foreign(o, r->target);
	if (is_never) {
		buffer_adds(&o->text, "; the profile offline never has one");
	} else if (run_network_has_remedy(r)) {
		buffer_adds(&o->text, "; to allow it: ");
		run_network_put_remedy(r->remedy, o);
	}
	buffer_addc(&o->text, '\n');
}

/* A person reads of a target once, whichever programs tried it. How often; 0: it was shown. */
static uint64_t run_network_count(const struct run_network *n, size_t i)
{
	uint64_t count = 0;

	for (size_t k = 0; k < n->n; k++) {
		if (!run_network_is_same(&n->items[k], &n->items[i]))
			continue;
		if (k < i)
			return 0;
		count += n->items[k].count;
	}
	return count;
}

void run_network_tell(const struct run_network *n, struct output *o)
{
	uint64_t all = n->missed, shown = 0;

	for (size_t i = 0; i < n->n; i++) {
		const struct record *r = &n->items[i];
		const uint64_t count = run_network_count(n, i);

		if (count == 0)
			continue;
		all += r->kind != RECORD_CLOSED && !r->is_told;
		if (r->kind == RECORD_CLOSED || r->is_told || shown == RUN_NETWORK_SHOWN)
			continue;
		shown++;
		output_note(o);
		buffer_adds(&o->text, r->kind == RECORD_DENIED ? "denied: " : "");
		buffer_adds(&o->text, r->dns ? "the name " : "");
		output_foreign(o, r->target);
		buffer_adds(&o->text, *r->reason ? ": " : "");
		output_foreign(o, r->reason);
		/* One look at a name is several questions, so their number says nothing. */
		if (count > 1 && !r->dns)
			buffer_printf(&o->text, " (%llu times)", (unsigned long long)count);
		buffer_addc(&o->text, '\n');
		if (r->kind != RECORD_DENIED || !run_network_has_remedy(r))
			continue;
		buffer_adds(&o->text, "        to allow it: ");
		run_network_put_remedy(r->remedy, o);
		buffer_addc(&o->text, '\n');
	}
	if (all > shown) {
		output_note(o);
		buffer_printf(&o->text, "and %llu more that were denied or could not be reached\n",
			(unsigned long long)(all - shown));
	}
}

/* For programs */

static void run_network_put_text(struct json_writer *w, const char *key, const char *text)
{
	auto_buffer visible = { 0 };

	buffer_add_visible(&visible, text, strlen(text));
	json_put_buffer(w, key, &visible);
}

static void run_network_print_one(const struct record *r, struct json_writer *w)
{
	static const char *const kinds[] = { [RECORD_DENIED] = "denied",
		[RECORD_FAILED] = "unreachable",
		[RECORD_CLOSED] = "connection" };

	json_open_map(w, NULL);
	json_put_text(w, "event", kinds[r->kind]);
	run_network_put_text(w, "target", r->target);
	json_put_flag(w, "dns", r->dns);
	run_network_put_text(w, "program", r->program);
	run_network_put_text(w, "name", r->name);
	run_network_put_text(w, "address", r->address);
	json_put_count(w, "port", r->port);
	if (r->kind == RECORD_CLOSED) {
		json_put_count(w, "sent", r->sent);
		json_put_count(w, "received", r->received);
	} else {
		run_network_put_text(w, "rule", r->rule);
		run_network_put_text(w, "reason", r->reason);
		run_network_put_text(w, "remedy", r->remedy);
	}
	json_put_count(w, "count", r->count);
	json_close(w);
}

void run_network_print(const struct run_network *n, struct json_writer *w, const char *key)
{
	w->style = JSON_PRETTY;
	json_open_list(w, key);
	w->style = JSON_SPACED;
	for (size_t i = 0; i < n->n; i++)
		run_network_print_one(&n->items[i], w);
	json_close(w);
}
