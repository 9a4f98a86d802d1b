/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/service-table.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/suggest.h"
#include "policy/format/field.h"
#include "policy/format/unit.h"
#include "policy/match/service.h"
#include "policy/network/host.h"

/* A name is what the service calls its own: a list, a calendar, a mail address. */
static int service_spell_name(enum operation op, const char *text, struct arena *a,
	const char **ret, const struct location *where, struct error *e)
{
	(void)op;
	if (*text == '\0')
		return error_set(e, -EINVAL, where, "a name is missing");
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return error_set(e, -EINVAL, where, "`%s` holds a control character", text);
	}
	*ret = arena_strdup(a, text);
	return *ret ? 0 : -ENOMEM;
}

/* A domain, `*.` in front of one for its subdomains, an address, or `*`; in normal form. */
static int service_spell_domain(enum operation op, const char *text, struct arena *a,
	const char **ret, const struct location *where, struct error *e)
{
	struct host_pattern host;
	auto_buffer out = { 0 };
	int r = host_pattern_parse(&host, a, text, where, e);

	(void)op;
	if (r < 0)
		return r;
	if (host.transport != TRANSPORT_TCP || strstr(text, "://") || host.port_lo != 1 ||
		host.port_hi != UINT16_MAX)
		return error_set(e, -EINVAL, where,
			"`%s` must be a domain, without scheme, port or path", text);
	host_pattern_print(&host, &out);
	/* The port that stands for all of them is no part of a domain. */
	if (out.len > 2 && memcmp(out.data + out.len - 2, ":*", 2) == 0)
		out.len -= 2;
	*ret = out.failed ? NULL : arena_strndup(a, buffer_text(&out), out.len);
	return *ret ? 0 : -ENOMEM;
}

static int service_read_range(const struct field *f, uint64_t *ret)
{
	uint64_t ms = 0;
	int r = field_duration(f, &ms);

	if (r < 0)
		return r;
	if (ms == 0 || ms % 1000 != 0)
		return field_fail(f, "must be whole seconds or more; leave it out for no bound");
	*ret = ms / 1000;
	return 0;
}

static void service_print_range(uint64_t seconds, struct buffer *out)
{
	unit_print_duration(seconds * 1000, out);
}

/* clang-format off */
#define WORDS(name, spelling) { .key = (name), .spell = (spelling) }
#define BOUND(name, member, reader, printer) \
	{ .key = (name), .bound = offsetof(struct service, member), .read = (reader), .print = (printer) }
#define SERVICE(service, accesses, ...) \
	{ .name = (service), .access = (accesses), .scopes = { __VA_ARGS__ } }

const struct service_row service_rows[SERVICE_COUNT] = {
	SERVICE("browser", SERVICE_OPEN, WORDS("domains", service_spell_domain)),
	SERVICE("calendar", SERVICE_READ | SERVICE_WRITE, WORDS("calendars", service_spell_name),
		BOUND("range", range_seconds, service_read_range, service_print_range)),
	SERVICE("clipboard", SERVICE_READ | SERVICE_WRITE, WORDS(NULL, NULL)),
	SERVICE("email", SERVICE_SEND, WORDS("recipients", service_spell_name)),
	SERVICE("notifications", SERVICE_SEND, WORDS(NULL, NULL)),
	SERVICE("reminders", SERVICE_READ | SERVICE_WRITE, WORDS("lists", service_spell_name)),
	SERVICE("vault", SERVICE_READ, WORDS("secrets", service_spell_name)),
};
/* clang-format on */

const struct service_row *service_row_find(const char *name, size_t len)
{
	for (size_t i = 0; i < SERVICE_COUNT; i++) {
		if (strlen(service_rows[i].name) == len &&
			memcmp(service_rows[i].name, name, len) == 0)
			return &service_rows[i];
	}
	return NULL;
}

/* A pattern for one service. An access that is all the service has is left out. */
static int service_spell_pattern(const struct service_row *row, const struct service_request *p,
	struct arena *a, const char **ret, const struct location *where, struct error *e)
{
	const char *access = p->name + p->name_len, *value = NULL;
	int len = *access == '.' ? (int)strcspn(access, ":") : 0, r = 0;

	if (p->access & ~row->access)
		return error_set(e, -EINVAL, where, "%s has no access `%.*s`", row->name, len - 1,
			access + 1);
	if (p->access == row->access)
		len = 0;
	if (p->value && !row->scopes[0].spell)
		return error_set(
			e, -EINVAL, where, "%s has nothing that a pattern could narrow", row->name);
	if (p->value)
		r = row->scopes[0].spell(OPERATION_SERVICE, p->value, a, &value, where, e);
	if (r < 0)
		return r;
	*ret = arena_printf(
		a, "%s%.*s%s%s", row->name, len, access, value ? ":" : "", value ? value : "");
	return *ret ? 0 : -ENOMEM;
}

int service_spell(enum operation op, const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e)
{
	const char *names[SERVICE_COUNT], *near, *spelt = NULL;
	const struct service_row *row = NULL;
	struct service_request pattern;
	int r = 0;

	(void)op;
	if (service_request_parse(&pattern, text) == 0)
		row = service_row_find(pattern.name, pattern.name_len);
	if (row) {
		r = service_spell_pattern(row, &pattern, a, &spelt, where, e);
	} else if (strcmp(text, "*") == 0) {
		spelt = arena_strdup(a, text);
		r = spelt ? 0 : -ENOMEM;
	} else {
		for (size_t i = 0; i < SERVICE_COUNT; i++)
			names[i] = service_rows[i].name;
		near = suggest(text, names, SERVICE_COUNT);
		r = error_set(
			e, -EINVAL, where, "`%s` is no pattern for a service that is known", text);
		if (near)
			error_hint(e, "did you mean `%s`?", near);
		else
			error_hint(e, "write SERVICE, SERVICE.ACCESS, SERVICE:SCOPE, or * for all");
	}
	if (r == 0 && ret)
		*ret = spelt;
	return r;
}
