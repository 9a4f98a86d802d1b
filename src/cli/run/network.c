/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/network.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "codec/json.h"

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

int run_network_add(struct run_network *n, struct arena *a, const struct record *r)
{
	int ret;

	for (size_t i = 0; i < n->n; i++) {
		struct record *known = &n->items[i];

		if (known->kind != r->kind || known->dns != r->dns ||
			strcmp(known->target, r->target) != 0 ||
			strcmp(known->reason, r->reason) != 0)
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

static void tell_remedy(const char *remedy, struct output *o)
{
	static const struct {
		const char *line, *option;
	} begins[] = {
		{ "add network: {allow: [\"", "--net " },
		{ "add network: {private: [\"", "--net-private " },
	};
	static const char end[] = "\"]}";
	const char *pattern = NULL, *quote = NULL, *option = NULL;
	auto_buffer text = { 0 };

	/* The reason says it already. */
	if (!*remedy || strncmp(remedy, "none: ", 6) == 0)
		return;
	buffer_adds(&o->text, "        to allow it: ");
	/* What is built in has no file to add it to, and an option joins it (explain_where()). */
	for (size_t i = 0; i < ROWS(begins); i++) {
		if (strncmp(remedy, begins[i].line, strlen(begins[i].line)) != 0)
			continue;
		pattern = remedy + strlen(begins[i].line);
		quote = strchr(pattern, '"');
		option = begins[i].option;
	}
	if (quote && strncmp(quote, end, strlen(end)) == 0 &&
		strncmp(quote + strlen(end), " to ", 4) != 0) {
		buffer_add(&text, pattern, (size_t)(quote - pattern));
		buffer_adds(&text, quote + strlen(end));
		buffer_adds(&o->text, option);
		remedy = buffer_text(&text);
	}
	output_foreign(o, remedy);
	buffer_addc(&o->text, '\n');
}

void run_network_tell(const struct run_network *n, struct output *o)
{
	uint64_t all = n->missed, shown = 0;

	for (size_t i = 0; i < n->n; i++) {
		const struct record *r = &n->items[i];

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
		if (r->count > 1 && !r->dns)
			buffer_printf(&o->text, " (%llu times)", (unsigned long long)r->count);
		buffer_addc(&o->text, '\n');
		if (r->kind == RECORD_DENIED)
			tell_remedy(r->remedy, o);
	}
	if (all > shown) {
		output_note(o);
		buffer_printf(&o->text, "and %llu more that were denied or could not be reached\n",
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
	static const char *const kinds[] = { [RECORD_DENIED] = "denied",
		[RECORD_FAILED] = "unreachable",
		[RECORD_CLOSED] = "connection" };

	buffer_printf(out, "{\"event\": \"%s\"", kinds[r->kind]);
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
