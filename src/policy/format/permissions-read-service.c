/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section `services`, and patterns of services in rules.
 *
 * What can be asked of a service is data: its name, the accesses it has, and the keys that narrow
 * it. A key that a service does not have is an unknown key, and so is a service that we do not
 * know: a grant that nothing would ever check is worse than an error.
 *
 * A scope that is absent does not narrow. One that is empty narrows to nothing; it is kept and
 * printed, because dropping it would widen the grant.
 */
#include "policy/format/permissions-read.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/suggest.h"
#include "policy/network/host.h"
#include "policy/match/service.h"

struct service_kind {
	unsigned access; /* all that this service can do */
	struct field_table keys;
	permissions_spelling *spell; /* of what narrows it; NULL: nothing does */
};

/* One service while it is read. */
struct reading {
	struct permissions *p;
	const struct service_kind *kind;
	struct service service;
};

static field_reader read_service, read_access, permissions_read_service_read_scope, read_range;

/* A name is what the service calls its own: a list, a calendar, a mail address. */
static int spell_name(enum operation op, const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e)
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
static int spell_domain(enum operation op, const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e)
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

#define ACCESS FIELD("access", read_access, .required = true)

static const struct field_key plain_keys[] = { ACCESS };
static const struct field_key browser_keys[] = { ACCESS,
	FIELD("domains", permissions_read_service_read_scope) };
static const struct field_key calendar_keys[] = {
	ACCESS,
	FIELD("calendars", permissions_read_service_read_scope),
	FIELD("range", read_range),
};
static const struct field_key email_keys[] = { ACCESS,
	FIELD("recipients", permissions_read_service_read_scope) };
static const struct field_key reminders_keys[] = { ACCESS,
	FIELD("lists", permissions_read_service_read_scope) };
static const struct field_key vault_keys[] = { ACCESS,
	FIELD("secrets", permissions_read_service_read_scope) };

#define KIND(...) (&(const struct service_kind){ __VA_ARGS__ })

static const struct field_key service_keys[] = {
	FIELD("browser", read_service,
		.how = KIND(SERVICE_OPEN, FIELD_TABLE(browser_keys), spell_domain)),
	FIELD("calendar", read_service,
		.how = KIND(SERVICE_READ | SERVICE_WRITE, FIELD_TABLE(calendar_keys), spell_name)),
	FIELD("clipboard", read_service,
		.how = KIND(SERVICE_READ | SERVICE_WRITE, FIELD_TABLE(plain_keys), NULL)),
	FIELD("email", read_service,
		.how = KIND(SERVICE_SEND, FIELD_TABLE(email_keys), spell_name)),
	FIELD("notifications", read_service,
		.how = KIND(SERVICE_SEND, FIELD_TABLE(plain_keys), NULL)),
	FIELD("reminders", read_service,
		.how = KIND(SERVICE_READ | SERVICE_WRITE, FIELD_TABLE(reminders_keys), spell_name)),
	FIELD("vault", read_service,
		.how = KIND(SERVICE_READ, FIELD_TABLE(vault_keys), spell_name)),
};
static const struct field_table service_table = FIELD_TABLE(service_keys);

static int read_access_word(const struct field *f, void *into)
{
	struct reading *r = into;
	const char *word = NULL;
	unsigned access;
	int ret = field_text(f, &word);

	if (ret < 0)
		return ret;
	access = service_access_parse(word, strlen(word));
	if (access == SERVICE_NONE)
		return field_fail(f, "`%s` is not one of read, write, readwrite, send, open", word);
	if (access & ~r->kind->access)
		return field_fail(f, "%s has no access `%s`", r->service.name, word);
	r->service.access |= access;
	return 0;
}

/* A word, a list of words, or true for all that the service has. */
static int read_access(const struct field *f, void *into)
{
	struct reading *r = into;
	bool all = false;

	if (f->node->type == NODE_LIST)
		return field_read_list(f, read_access_word, into);
	if (node_boolean(f->node, &all) < 0)
		return read_access_word(f, into);
	r->service.access = all ? r->kind->access : SERVICE_NONE;
	return 0;
}

static int permissions_read_service_read_scope(const struct field *f, void *into)
{
	struct reading *r = into;

	return permissions_read_scope(f, r->p, &r->service, f->node->key);
}

static int read_range(const struct field *f, void *into)
{
	struct reading *r = into;
	uint64_t ms = 0;
	int ret = field_duration(f, &ms);

	if (ret < 0)
		return ret;
	if (ms == 0 || ms % 1000 != 0)
		return field_fail(f, "must be whole seconds or more; leave it out for no bound");
	r->service.range_seconds = ms / 1000;
	return 0;
}

static int read_service(const struct field *f, void *into)
{
	struct reading r = { .p = into, .kind = f->how };
	bool all = false;
	int ret = 0;

	r.service.name = f->node->key;
	r.service.where = field_location(f);
	if (node_boolean(f->node, &all) == 0)
		r.service.access = all ? r.kind->access : SERVICE_NONE;
	else
		ret = field_read_map(f, &r.kind->keys, &r);
	if (ret < 0 || r.service.access == SERVICE_NONE)
		return ret;
	return field_result(f, permissions_add_service(r.p, &r.service));
}

int permissions_read_services(const struct field *f, void *into)
{
	return field_read_map(f, &service_table, into);
}

/* The service whose name stands at the start of a pattern, or NULL. */
static const struct field_key *permissions_read_service_find_service(const char *name, size_t len)
{
	for (size_t i = 0; i < service_table.n; i++) {
		const struct field_key *key = &service_table.keys[i];

		if (strlen(key->name) == len && memcmp(key->name, name, len) == 0)
			return key;
	}
	return NULL;
}

int permissions_read_scope(
	const struct field *f, struct permissions *p, struct service *s, const char *key)
{
	const struct service_kind *kind =
		permissions_read_service_find_service(s->name, strlen(s->name))->how;
	struct service_scope *scope = permissions_scope(p, s, key);

	if (!scope)
		return field_result(f, -ENOMEM);
	return permissions_read_entries(f, p, &scope->values, kind->spell, OPERATION_SERVICE);
}

static int unknown_service(const char *text, const struct location *where, struct error *e)
{
	const char *names[ROWS(service_keys)], *near;

	for (size_t i = 0; i < ROWS(service_keys); i++)
		names[i] = service_keys[i].name;
	near = suggest(text, names, ROWS(names));
	(void)error_set(e, -EINVAL, where, "`%s` is no pattern for a service that is known", text);
	if (near)
		error_hint(e, "did you mean `%s`?", near);
	else
		error_hint(e, "write SERVICE, SERVICE.ACCESS, SERVICE:SCOPE, or * for all");
	return -EINVAL;
}

/* What a pattern says about the access; "" where that is all the service has. */
static int spell_access(const struct service_request *pattern, const struct field_key *service,
	struct arena *a, const char **ret, const struct location *where, struct error *e)
{
	const struct service_kind *kind = service->how;
	const char *word = pattern->name + pattern->name_len;
	size_t len = *word == '.' ? strcspn(word, ":") : 0;

	if (pattern->access & ~kind->access)
		return error_set(e, -EINVAL, where, "%s has no access `%.*s`", service->name,
			(int)len - 1, word + 1);
	*ret = arena_strndup(a, word, pattern->access == kind->access ? 0 : len);
	return *ret ? 0 : -ENOMEM;
}

static int spell_value(const struct service_request *pattern, const struct field_key *service,
	struct arena *a, const char **ret, const struct location *where, struct error *e)
{
	const struct service_kind *kind = service->how;

	if (!pattern->value) {
		*ret = NULL;
		return 0;
	}
	if (!kind->spell)
		return error_set(e, -EINVAL, where, "%s has nothing that a pattern could narrow",
			service->name);
	return kind->spell(OPERATION_SERVICE, pattern->value, a, ret, where, e);
}

/* A pattern for one service, in the arena. */
static int spell_pattern(const struct service_request *pattern, const struct field_key *service,
	struct arena *a, const char **ret, const struct location *where, struct error *e)
{
	const char *access = NULL, *value = NULL;
	int r = spell_access(pattern, service, a, &access, where, e);

	if (r == 0)
		r = spell_value(pattern, service, a, &value, where, e);
	if (r < 0)
		return r;
	*ret = arena_printf(
		a, "%s%s%s%s", service->name, access, value ? ":" : "", value ? value : "");
	return *ret ? 0 : -ENOMEM;
}

int permissions_read_service_pattern(const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e)
{
	const struct field_key *service = NULL;
	struct service_request pattern;
	const char *spelt = NULL;
	int r = 0;

	if (service_request_parse(&pattern, text) == 0)
		service = permissions_read_service_find_service(pattern.name, pattern.name_len);
	if (service)
		r = spell_pattern(&pattern, service, a, &spelt, where, e);
	else if (strcmp(text, "*") != 0)
		r = unknown_service(text, where, e);
	else if (!(spelt = arena_strdup(a, text)))
		r = -ENOMEM;
	if (r == 0 && ret)
		*ret = spelt;
	return r;
}
