/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/network.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "codec/json.h"

const char *run_network_kind(enum record_kind kind)
{
	static const char *const names[] = {
		[RECORD_DENIED] = "denied",
		[RECORD_FAILED] = "unreachable",
		[RECORD_CLOSED] = "connection",
	};

	return names[kind];
}

/* Keeping */

static struct record *run_network_find(const struct run_network *n, const struct record *r)
{
	for (size_t i = 0; i < n->n; i++) {
		struct record *item = &n->items[i];

		if (item->kind == r->kind && item->dns == r->dns &&
			strcmp(item->target, r->target) == 0 &&
			strcmp(item->reason, r->reason) == 0)
			return item;
	}
	return NULL;
}

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

int run_network_add(struct run_network *n, struct arena *a, const struct record *r)
{
	struct record *known = run_network_find(n, r);
	int ret = 0;

	if (known) {
		known->count += r->count ? r->count : 1;
		known->sent += r->sent;
		known->received += r->received;
	} else {
		ret = run_network_append(n, a, r);
	}
	n->missed += ret < 0 && r->kind != RECORD_CLOSED;
	return ret == -ENOMEM ? ret : 0;
}

/* For people */

/* Where the layer that an option joins lacks a line, the option is the shorter way. */
static bool tell_option(const char *remedy, const char *profile, struct output *o)
{
	static const char begin[] = "add network: {allow: [\"", end[] = "\"]} to ";
	const char *pattern = remedy + strlen(begin), *quote;
	auto_buffer text = { 0 };

	if (!profile || strncmp(remedy, begin, strlen(begin)) != 0)
		return false;
	quote = strchr(pattern, '"');
	if (!quote || strncmp(quote, end, strlen(end)) != 0 ||
		strcmp(quote + strlen(end), profile) != 0)
		return false;
	buffer_add(&text, pattern, (size_t)(quote - pattern));
	buffer_adds(&o->text, "--net ");
	output_foreign(o, buffer_text(&text));
	return true;
}

static void tell_remedy(const char *remedy, const char *profile, struct output *o)
{
	/* The reason says it already. */
	if (!*remedy || strncmp(remedy, "none: ", 6) == 0)
		return;
	buffer_adds(&o->text, "        to allow it: ");
	if (!tell_option(remedy, profile, o))
		output_foreign(o, remedy);
	buffer_addc(&o->text, '\n');
}

static void run_network_tell_one(const struct record *r, const char *profile, struct output *o)
{
	bool denied = r->kind == RECORD_DENIED;

	output_note(o);
	buffer_adds(&o->text, denied ? "denied: " : "");
	buffer_adds(&o->text, r->dns ? "the name " : "");
	output_foreign(o, r->target);
	buffer_adds(&o->text, *r->reason ? ": " : "");
	output_foreign(o, r->reason);
	/* One look at a name is several questions, so their number says nothing. */
	if (r->count > 1 && !r->dns)
		buffer_printf(&o->text, " (%llu times)", (unsigned long long)r->count);
	buffer_addc(&o->text, '\n');
	if (denied)
		tell_remedy(r->remedy, profile, o);
}

void run_network_tell(const struct run_network *n, const char *profile, struct output *o)
{
	uint64_t all = n->missed, shown = 0;

	for (size_t i = 0; i < n->n; i++) {
		if (n->items[i].kind == RECORD_CLOSED)
			continue;
		all++;
		if (shown == RUN_NETWORK_SHOWN)
			continue;
		shown++;
		run_network_tell_one(&n->items[i], profile, o);
	}
	if (all > shown) {
		output_note(o);
		buffer_printf(&o->text, "and %llu more that were denied or not reached\n",
			(unsigned long long)(all - shown));
	}
}

/* For programs */

static void run_network_put_text(struct buffer *out, const char *key, const char *text)
{
	auto_buffer visible = { 0 };

	buffer_add_visible(&visible, text, strlen(text));
	buffer_printf(out, ", \"%s\": ", key);
	json_print_string(out, buffer_text(&visible), visible.len);
	out->failed = out->failed || visible.failed;
}

static void run_network_put_number(struct buffer *out, const char *key, uint64_t value)
{
	buffer_printf(out, ", \"%s\": %llu", key, (unsigned long long)value);
}

static void run_network_print_one(const struct record *r, struct buffer *out)
{
	buffer_printf(out, "{\"event\": \"%s\"", run_network_kind(r->kind));
	run_network_put_text(out, "target", r->target);
	buffer_printf(out, ", \"dns\": %s", r->dns ? "true" : "false");
	run_network_put_text(out, "name", r->name);
	run_network_put_text(out, "address", r->address);
	run_network_put_number(out, "port", r->port);
	if (r->kind == RECORD_CLOSED) {
		run_network_put_number(out, "sent", r->sent);
		run_network_put_number(out, "received", r->received);
	} else {
		run_network_put_text(out, "rule", r->rule);
		run_network_put_text(out, "reason", r->reason);
		run_network_put_text(out, "remedy", r->remedy);
	}
	run_network_put_number(out, "count", r->count);
	buffer_addc(out, '}');
}

void run_network_print(const struct run_network *n, struct buffer *out)
{
	buffer_addc(out, '[');
	for (size_t i = 0; i < n->n; i++) {
		buffer_adds(out, i ? ",\n    " : "\n    ");
		run_network_print_one(&n->items[i], out);
	}
	buffer_adds(out, n->n ? "\n  ]" : "]");
}
