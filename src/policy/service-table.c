/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/service-table.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "base/suggest.h"
#include "policy/format/field.h"
#include "codec/unit.h"
#include "policy/match/service.h"
#include "policy/network/host.h"
#include "policy/network/idna.h"

/* A name is what the service calls its own: a list, a calendar, a mail address. */
static int service_spell_name(enum operation op, const char *text, struct arena *a,
	const char **ret, const struct location *where, struct error *e)
{
	(void)op;
	if (*text == '\0')
		return error_set(e, -EINVAL, where, "a name is missing");
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return error_set(
				e, -EINVAL, where, "`%s` contains a control character", text);
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
	if (host.kind == HOST_PREFIX && strchr(text, '/'))
		return error_set(e, -EINVAL, where,
			"`%s` must be a domain or one address, not a range", text);
	host_pattern_print(&host, &out);
	/* The port that stands for all of them is no part of a domain. */
	if (host.kind != HOST_GLOB && out.len > 2 && memcmp(out.data + out.len - 2, ":*", 2) == 0)
		out.len -= 2;
	*ret = out.failed ? NULL : arena_strndup(a, buffer_text(&out), out.len);
	return *ret ? 0 : -ENOMEM;
}

/* The host of a URL or of "host:port". An address has no text here: it is compared as one. */
static int service_normal_domain(
	const char *value, char out[PATH_BYTES], struct host_request *ret_host, bool *ret_is_host)
{
	int r = host_request_parse(ret_host, value, NULL);

	if (r < 0)
		return r;
	if (ret_host->transport == TRANSPORT_UNIX)
		return -EINVAL;
	(void)stpcpy(out, ret_host->name);
	*ret_is_host = true;
	return 0;
}

/*
 * A mail address, or a pattern for some. Mail goes to the same place whatever the case, so all of
 * it is in lower case; the domain in the form that DNS has, where it is a name.
 */
static int service_normal_address(
	const char *value, char out[PATH_BYTES], struct host_request *ret_host, bool *ret_is_host)
{
	const char *domain = strchr(value, '@');
	char name[HOST_NAME_BYTES];
	size_t len = strlen(value);

	(void)ret_host;
	(void)ret_is_host;
	/* One address and nothing else: a list, a quoted part or a name beside it would be read in
	 * another way by whoever sends the mail. */
	if (len >= PATH_BYTES - HOST_NAME_BYTES || strpbrk(value, " ,;:<>()[]\\\"") ||
		(domain && strchr(domain + 1, '@')))
		return -EINVAL;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && ascii_is_control(value[i]))
			return -EINVAL;
		out[i] = ascii_lower(value[i]);
	}
	/* One with wildcards, or none at all, is compared as it is. */
	if (domain && !strpbrk(domain, "*?") &&
		idna_to_ascii(domain + 1, strlen(domain + 1), name, sizeof(name)) == 0)
		(void)stpcpy(out + (domain + 1 - value), name);
	len = strlen(out);
	if (domain && len > 0 && out[len - 1] == '.')
		out[len - 1] = '\0';
	return 0;
}

static int service_spell_address(enum operation op, const char *text, struct arena *a,
	const char **ret, const struct location *where, struct error *e)
{
	char normal[PATH_BYTES];
	int r = service_spell_name(op, text, a, ret, where, e);

	if (r == 0 && service_normal_address(text, normal, NULL, NULL) < 0)
		return error_set(e, -EINVAL, where,
			"`%s` must be one mail address, without name, quotes or comma", text);
	if (r == 0)
		*ret = arena_strdup(a, normal);
	return r < 0 ? r : *ret ? 0 : -ENOMEM;
}

/* Bounds */

static int service_read_range(const struct field *f, void *ret)
{
	uint64_t ms = 0;
	int r = field_duration(f, &ms);

	if (r < 0)
		return r;
	if (ms == 0 || ms % 1000 != 0)
		return field_fail(f, "must be at least one second; omit it for no limit");
	*(uint64_t *)ret = ms / 1000;
	return 0;
}

static void service_print_range(const void *seconds, struct buffer *out)
{
	unit_print_duration(*(const uint64_t *)seconds * 1000, out);
}

static int service_read_size(const struct field *f, void *ret)
{
	uint64_t bytes = 0;
	int r = field_size(f, &bytes);

	if (r == 0 && bytes == 0)
		return field_fail(f, "must be 1 or more; omit it for no limit");
	*(uint64_t *)ret = bytes;
	return r;
}

static void service_print_size(const void *bytes, struct buffer *out)
{
	unit_print_size(*(const uint64_t *)bytes, out);
}

static bool service_amount_within(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return y == 0 || (x != 0 && x <= y);
}

static void service_print_rate(const void *rate, struct buffer *out)
{
	unit_print_rate(rate, out);
}

/* Everything that rate a lets through in one of b's windows, b does. */
bool service_rate_within(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;
	__uint128_t windows;

	if (y->count == 0)
		return true;
	if (x->count == 0 || x->seconds == 0)
		return false;
	windows = ((__uint128_t)y->seconds + x->seconds - 1) / x->seconds;
	return windows * x->count <= y->count;
}

/* The fewer, in the longer time. */
static void service_rate_meet(const void *a, const void *b, void *ret)
{
	const struct rate *x = a, *y = b;

	*(struct rate *)ret = (struct rate){ .count = x->count < y->count ? x->count : y->count,
		.seconds = x->seconds > y->seconds ? x->seconds : y->seconds };
}

static const struct service_bound bound_range = { sizeof(uint64_t), service_read_range,
	service_print_range, service_amount_within, NULL, "at most ", " from now" };
static const struct service_bound bound_size = { sizeof(uint64_t), service_read_size,
	service_print_size, service_amount_within, NULL, "at most ", " at a time" };
static const struct service_bound bound_rate = { sizeof(struct rate), field_rate,
	service_print_rate, service_rate_within, service_rate_meet, "at most ", " requests" };

bool service_bound_is_set(const struct service *s, const struct service_scope_row *row)
{
	const char *at = service_bound_at(s, row);
	size_t i = 0;

	while (i < row->bound->size && !at[i])
		i++;
	return i < row->bound->size;
}

/* clang-format off */
#define WORDS(name, spelling, normalize) { .key = (name), .spell = (spelling), .normal = (normalize) }
#define BOUND(name, member, kind) \
	{ .key = (name), .bound = &(kind), .offset = offsetof(struct service_bounds, member) }
/* What every service has. */
#define BOUNDS BOUND("max_size", max_size, bound_size), BOUND("rate_limit", rate, bound_rate)
#define SERVICE(service, accesses, ...) \
	{ .name = (service), .access = (accesses), .scopes = { __VA_ARGS__ } }

const struct service_row service_rows[SERVICE_COUNT] = {
	SERVICE("browser", SERVICE_OPEN | SERVICE_NAVIGATE | SERVICE_SCREENSHOT | SERVICE_EVAL | SERVICE_LOGIN,
		WORDS("domains", service_spell_domain, service_normal_domain), BOUNDS),
	SERVICE("calendar", SERVICE_READ | SERVICE_WRITE, WORDS("calendars", service_spell_name, NULL),
		BOUND("range", range_seconds, bound_range), BOUNDS),
	SERVICE("clipboard", SERVICE_READ | SERVICE_WRITE, BOUNDS),
	SERVICE("email", SERVICE_SEND, WORDS("recipients", service_spell_address, service_normal_address),
		BOUNDS),
	SERVICE("notifications", SERVICE_SEND, BOUNDS),
	SERVICE("reminders", SERVICE_READ | SERVICE_WRITE, WORDS("lists", service_spell_name, NULL),
		BOUNDS),
	SERVICE("vault", SERVICE_READ, WORDS("secrets", service_spell_name, NULL), BOUNDS),
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

int service_value_normal(struct service_request *r, char out[PATH_BYTES], struct host_request *host)
{
	const struct service_row *row = service_row_find(r->name, r->name_len);
	bool is_host = false;
	int code;

	if (!r->value || !row || !row->scopes[0].normal)
		return 0;
	code = row->scopes[0].normal(r->value, out, host, &is_host);
	r->value = out;
	r->host = is_host ? host : NULL;
	return code;
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
		return error_set(e, -EINVAL, where, "%s does not support a pattern", row->name);
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
		r = error_set(e, -EINVAL, where, "`%s` is not a valid service pattern", text);
		if (near)
			error_hint(e, "did you mean `%s`?", near);
		else
			error_hint(e, "write SERVICE, SERVICE.ACCESS, SERVICE:SCOPE, or * for all");
	}
	if (r == 0 && ret)
		*ret = spelt;
	return r;
}
