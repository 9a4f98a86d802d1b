/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate of the injector's authority joins the list of those that programs trust inside,
 * and the variables that name a list name this one. The lists of Java and of p11-kit, which have
 * forms of their own, are in secrets-stores.c.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "cli/run/secrets.h"
#include "host/authorities.h"

enum { SECRETS_AUTHORITIES_MAX = 4 << 20 };

/* Certificates, and nothing else that may stand in the file. */
static void secrets_add_certificates(const char *text, struct buffer *out)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----",
			  end[] = "-----END CERTIFICATE-----";

	while ((text = strstr(text, begin))) {
		const char *last = strstr(text, end);

		if (!last)
			return;
		last += strlen(end);
		buffer_printf(out, "%.*s\n", (int)(last - text), text);
		text = last;
	}
}

/*
 * The variables will name one list, so what they named before must be in it: of those that the
 * policy passes on. Hosts with secrets are verified by the injector, which does not look there.
 */
static void run_secrets_keep_authorities(struct run *r, const char *place, struct buffer *out)
{
	for (size_t i = 0; i < authorities_n_variables; i++) {
		const struct request asked = { .op = OPERATION_ENV,
			.target = authorities_variables[i] };
		const char *path = getenv(authorities_variables[i]);
		auto_buffer text = { 0 };
		bool is_known = !path || !*path || strcmp(path, place) == 0 ||
				!policy_allows(r->policy, &asked);

		for (size_t k = 0; !is_known && k < i; k++) {
			const char *other = getenv(authorities_variables[k]);

			is_known = other && strcmp(other, path) == 0 &&
				   policy_allows(
					   r->policy, &(struct request){ .op = OPERATION_ENV,
							      .target = authorities_variables[k] });
		}
		if (is_known)
			continue;
		if (file_read_regular(path, SECRETS_AUTHORITIES_MAX, &text) < 0)
			run_secrets_note(r, authorities_variables[i],
				"its file cannot be read, so its authorities are not trusted "
				"inside");
		else
			secrets_add_certificates(buffer_text(&text), out);
	}
}

int run_secrets_trust(struct run *r)
{
	char here[PATH_BYTES];
	const char *place = r->secrets.is_on ? authorities_system(here) : NULL;
	auto_buffer all = { 0 };
	int ret = place ? authorities_read(place, &all) : 0;

	if (!place)
		return 0;
	if (ret < 0)
		return error_set(r->call->error, ret, NULL, "%s: %s: %s", run_secrets_who(r), place,
			strerror(-ret));
	run_secrets_keep_authorities(r, place, &all);
	buffer_adds(&all, r->secrets.certificate);
	if (all.failed)
		return error_no_memory(r->call->error);
	ret = run_secrets_cover(r, place, buffer_text(&all), false);
	if (ret == 0)
		ret = run_secrets_stores(r, buffer_text(&all));
	for (size_t i = 0; ret == 0 && i < authorities_n_variables; i++)
		ret = run_secrets_add(r, &r->secrets.env,
			arena_printf(r->call->arena, "%s=%s", authorities_variables[i], place));
	/* A client that only encrypts verifies from then on: not where it has no reason to. */
	if (ret == 0 && r->secrets.has_database)
		ret = run_secrets_add(r, &r->secrets.env,
			arena_printf(r->call->arena, "PGSSLROOTCERT=%s", place));
	return ret;
}

const char *run_secrets_variable(const struct run *r, const char *item)
{
	const size_t len = strcspn(item, "=");

	for (size_t i = 0; i < r->secrets.env.n; i++)
		if (strncmp(r->secrets.env.items[i], item, len) == 0 &&
			r->secrets.env.items[i][len] == '=')
			return r->secrets.env.items[i];
	return NULL;
}

int run_secrets_variables(struct run *r)
{
	const struct options_list *own = &r->secrets.env;
	const char **all;
	size_t n = 0;

	if (own->n == 0)
		return 0;
	all = arena_calloc(r->call->arena, r->n_env + own->n + 1, sizeof(*all));
	if (!all)
		return error_no_memory(r->call->error);
	for (size_t i = 0; i < r->n_env; i++)
		if (!run_secrets_variable(r, r->env[i]))
			all[n++] = r->env[i];
	for (size_t i = 0; i < own->n; i++)
		all[n++] = own->items[i];
	r->env = all;
	r->n_env = n;
	return 0;
}
