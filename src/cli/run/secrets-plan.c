/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked of the lender: of what the vault grants to this sandbox, no more than the policies
 * say.
 *
 *     (entries that all layers of the base have, or --secret, or a preset)
 *         and that all stored policies have
 *
 * A layer without `secrets` has none, so a stored policy that does not name a secret keeps it away.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/output.h"
#include "cli/preset/preset.h"
#include "cli/run/secrets.h"
#include "cli/vault/login-word.h"
#include "policy/match/secret.h"
#include "policy/match/service.h"
#include "vault/client.h"

bool run_secrets_has(const struct options_list *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

int run_secrets_add(struct run *r, struct options_list *to, const char *text)
{
	const struct options_row row = { .is = { .name = "secret" }, .target = to };

	return !text                       ? error_no_memory(r->call->error)
	       : run_secrets_has(to, text) ? 0
					   : options_list(r->call, &row, text);
}

void run_secrets_note(const struct run *r, const char *who, const char *text)
{
	auto_output o = output_for(STDERR_FILENO);

	if (r->options.json)
		return;
	output_note(&o);
	output_foreign(&o, who);
	buffer_printf(&o.text, ": %s\n", text);
	(void)output_write(&o, STDERR_FILENO, NULL);
}

static int secrets_leaves(struct run *r, const struct permissions *p,
	const struct permissions *to[SECRETS_LEAVES_MAX], size_t *n)
{
	const int more = permissions_layers(p, to + *n, SECRETS_LEAVES_MAX - *n);

	if (more < 0)
		return error_set(r->call->error, more, NULL, "the policy has too many layers");
	*n += (size_t)more;
	return 0;
}

static bool secrets_names(const struct permissions *p, const struct secret_request *entry)
{
	for (size_t i = 0; i < p->secrets.n; i++) {
		const struct grant *g = &p->secrets.items[i];
		size_t n = 0;

		while (n < g->n && secret_covers(g->all[n], entry))
			n++;
		if (n == g->n)
			return true;
	}
	return false;
}

/* How many have it before one that has not; n: all. */
static size_t secrets_before_missing(
	const struct permissions *const *layers, size_t n, const char *entry)
{
	struct secret_request request;
	size_t i = 0;

	while (i < n && secret_request_parse(&request, entry) == 0 &&
		secrets_names(layers[i], &request))
		i++;
	return i;
}

/* NULL: all have it; else the first that has not. */
static const struct permissions *secrets_missing(
	const struct permissions *const *layers, size_t n, const char *entry)
{
	const size_t i = secrets_before_missing(layers, n, entry);

	return i < n ? layers[i] : NULL;
}

static const char *secrets_origin(const struct permissions *p)
{
	return p->origin ? p->origin : "a stored policy";
}

/* services.vault names it: then it is for a program that the broker starts, and not for the
 * command. */
static bool secrets_is_injected(const struct secrets_plan *p, const char *name)
{
	const struct service_request asked = {
		.name = "vault", .name_len = strlen("vault"), .access = SERVICE_READ, .value = name
	};

	for (size_t i = 0; i < p->n_base; i++)
		for (size_t k = 0; k < p->base[i]->n_services; k++)
			if (service_covers(&p->base[i]->services[k], &asked))
				return true;
	return false;
}

static int secrets_add_of_base(
	struct run *r, struct secrets_plan *p, const char *entry, const struct secret_entry *s)
{
	const char *name = arena_strndup(r->call->arena, s->name, s->name_len);
	int ret = name ? run_secrets_add(r, &p->calls, entry) : -ENOMEM;

	if (ret < 0 || secrets_is_injected(p, name))
		return ret;
	ret = run_secrets_add(r, &p->within, entry);
	return ret == 0 ? run_secrets_add(r, &p->words, name) : ret;
}

/* What a list of layers has of one name, or of one name, host and place; NULL: all. */
typedef bool secrets_wanted(const struct secret_entry *s, const void *context);

/*
 * Adds those entries of any layer that the base, if it is asked, and all stored policies have. Of
 * two entries that overlap one lies within the other, so what all have is an entry of one of them.
 * Returns how many.
 */
static int secrets_add_common(struct run *r, struct secrets_plan *p, bool is_of_base,
	const struct permissions *const *layers, size_t n, secrets_wanted *wanted,
	const void *context)
{
	int count = 0, ret = 0;

	for (size_t i = 0; i < n; i++) {
		const struct grant_list list = layers[i]->secrets;

		for (size_t k = 0; ret == 0 && k < list.n; k++) {
			const char *entry = list.items[k].all[0];
			struct secret_entry s;

			secret_split(entry, &s);
			if ((wanted && !wanted(&s, context)) ||
				(is_of_base && secrets_before_missing(p->base, p->n_base, entry) <
						       p->n_base) ||
				secrets_before_missing(p->ceiling, p->n_ceiling, entry) <
					p->n_ceiling)
				continue;
			count++;
			if (is_of_base)
				ret = secrets_add_of_base(r, p, entry, &s);
			else
				ret = run_secrets_add(r, &p->within, entry);
		}
	}
	return ret < 0 ? ret : count;
}

static bool secrets_is_in_place(const struct secret_entry *s, const void *context)
{
	return secret_is_same_place(s, context);
}

static bool secrets_is_of_name(const struct secret_entry *s, const void *context)
{
	const char *name = context;

	return strlen(name) == s->name_len && strncmp(name, s->name, s->name_len) == 0;
}

/* Whether something is lent for the name, host and place of an entry. */
static bool secrets_has_place(const struct secrets_plan *p, const char *entry)
{
	struct secret_entry s, one;

	secret_split(entry, &s);
	for (size_t i = 0; i < p->within.n; i++) {
		secret_split(p->within.items[i], &one);
		if (secret_is_same_place(&s, &one))
			return true;
	}
	return false;
}

/* What the layers of the base name, each of them; where a stored policy does not, that is said. */
static int run_secrets_of_base(struct run *r, struct secrets_plan *p)
{
	const struct grant_list *list = p->n_base ? &p->base[0]->secrets : NULL;
	int ret = 0;

	if (list)
		ret = secrets_add_common(r, p, true, p->base, p->n_base, NULL, NULL);
	if (ret >= 0 && list)
		ret = secrets_add_common(r, p, true, p->ceiling, p->n_ceiling, NULL, NULL);
	for (size_t i = 0; list && ret >= 0 && i < list->n; i++) {
		const char *entry = list->items[i].all[0];
		const struct permissions *by = secrets_missing(p->ceiling, p->n_ceiling, entry);

		if (by && !secrets_missing(p->base, p->n_base, entry) &&
			!secrets_has_place(p, entry))
			run_secrets_note(r, entry,
				arena_printf(r->call->arena, "is not lent: %s does not grant it",
					secrets_origin(by)));
	}
	return ret < 0 ? ret : 0;
}

/* NAME at HOST:PORT, in all places that the stored policies leave; *ret_by: one that leaves none.
 */
static int run_secrets_add_host(struct run *r, struct secrets_plan *p, const char *name,
	const char *host, const struct permissions **ret_by)
{
	size_t n = 0;
	int ret = 0;

	for (unsigned i = 0; ret >= 0 && i < SECRET_PLACES; i++) {
		const char *entry =
			arena_printf(r->call->arena, "%s=%s,%s", name, host, secret_place_names[i]);
		const struct permissions *by = NULL;
		struct secret_entry s;

		if (!entry)
			return error_no_memory(r->call->error);
		ret = secret_spell(
			OPERATION_SECRET, entry, r->call->arena, &entry, NULL, r->call->error);
		if (ret < 0)
			return ret;
		by = secrets_missing(p->ceiling, p->n_ceiling, entry);
		*ret_by = n == 0 && by ? by : *ret_by;
		secret_split(entry, &s);
		/* To some programs, if not to all. */
		ret = by ? secrets_add_common(
				   r, p, false, p->ceiling, p->n_ceiling, secrets_is_in_place, &s)
			 : run_secrets_add(r, &p->within, entry);
		n += !by || ret > 0;
	}
	if (n)
		*ret_by = NULL;
	return ret < 0 ? ret : 0;
}

/* NAME wherever the stored policies let it go. */
static int run_secrets_add_name(
	struct run *r, struct secrets_plan *p, const char *name, const struct permissions **ret_by)
{
	int n = secrets_add_common(r, p, false, p->ceiling, p->n_ceiling, secrets_is_of_name, name);

	*ret_by = NULL;
	for (size_t i = 0; n == 0 && i < p->n_ceiling && !*ret_by; i++) {
		const struct grant_list *list = &p->ceiling[i]->secrets;
		bool has_name = false;

		for (size_t k = 0; k < list->n; k++) {
			struct secret_entry s;

			secret_split(list->items[k].all[0], &s);
			has_name = has_name || secrets_is_of_name(&s, name);
		}
		*ret_by = has_name && i + 1 < p->n_ceiling ? NULL : p->ceiling[i];
	}
	return n < 0 ? n : 0;
}

static int run_secrets_refuse(struct run *r, const char *word, const struct permissions *by)
{
	struct error *e = r->call->error;
	const size_t name = strcspn(word, "=");

	(void)error_set(
		e, -EACCES, NULL, "--secret %s: %s does not grant it", word, secrets_origin(by));
	error_hint(e, "add secrets: {%.*s: {hosts: [\"%s\"], in: [header]}} to that file",
		(int)name, word, word[name] ? word + name + 1 : "HOST:PORT");
	return RUN_FORBIDDEN;
}

static int run_secrets_of_options(struct run *r, struct secrets_plan *p)
{
	const struct options_list *wanted = &r->options.secrets;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < wanted->n; i++) {
		const char *word = wanted->items[i];
		const size_t len = strcspn(word, "=");
		const char *name = arena_strndup(r->call->arena, word, len);
		const struct permissions *by = NULL;

		if (!name)
			return error_no_memory(r->call->error);
		if (!secret_name_is_valid(word, len))
			return options_misused(
				r->call, "--secret: `%s` is not the name of a secret", name);
		ret = word[len] ? run_secrets_add_host(r, p, name, word + len + 1, &by)
				: run_secrets_add_name(r, p, name, &by);
		if (ret == 0 && by)
			ret = run_secrets_refuse(r, word, by);
		if (ret == 0)
			ret = run_secrets_add(r, &p->words, word);
	}
	return ret;
}

/* Without a vault they cost one look. */
static bool run_secrets_has_vault(void)
{
	auto_buffer path = { 0 };
	struct error ignored = { 0 };

	return vault_place(&path, &ignored) == 0 && access(buffer_text(&path), F_OK) == 0;
}

bool run_secrets_is_option(const struct run *r, const char *name)
{
	for (size_t i = 0; i < r->options.secrets.n; i++) {
		const char *word = r->options.secrets.items[i];
		const size_t len = strcspn(word, "=");

		if (strlen(name) == len && strncmp(word, name, len) == 0)
			return true;
	}
	return false;
}

bool run_secrets_is_login(const struct run *r, const char *name)
{
	for (size_t i = 0; i < r->options.logins.n; i++) {
		const char *word = r->options.logins.items[i];
		const char *login = arena_strndup(r->call->arena, word, strcspn(word, "="));

		for (int k = 0; login && k < LEND_TOKENS_MAX; k++)
			if (lend_token_is(login, (enum lend_token_kind)k, name))
				return true;
	}
	return false;
}

static int run_secrets_refuse_login(
	struct run *r, const struct login_word *w, const char *host, const struct permissions *by)
{
	struct error *e = r->call->error;

	(void)error_set(e, -EACCES, NULL, "--login %s: %s does not grant it for %s", w->name,
		secrets_origin(by), host);
	error_hint(e, "add secrets: {%s: {hosts: [\"%s\"], in: [header]}} to that file", w->name,
		host);
	return RUN_FORBIDDEN;
}

/* The tokens of a login go where the stored policies let its name go, all of them. */
static int run_secrets_of_login(struct run *r, struct secrets_plan *p, const char *word)
{
	const struct permissions *by = NULL;
	struct login_word w;
	int ret = login_word_read(r->call, word, &w);

	for (size_t i = 0; ret == 0 && p->n_ceiling > 0 && i < w.n_hosts; i++) {
		ret = run_secrets_add_host(r, p, w.name, w.hosts[i], &by);
		if (ret == 0 && by)
			return run_secrets_refuse_login(r, &w, w.hosts[i], by);
	}
	return ret < 0 ? ret : run_secrets_add(r, &p->logins, word);
}

static int run_secrets_of_presets(struct run *r, struct secrets_plan *p)
{
	const struct run_presets *all = &r->presets;
	int ret = 0;

	if (all->n_secrets == 0 || !run_secrets_has_vault())
		return 0;
	for (size_t i = 0; ret == 0 && i < all->n_secrets; i++) {
		const struct run_preset_secret *s = &all->secrets[i];
		const struct permissions *by = NULL;

		if (run_secrets_has(&p->words, s->name) || run_secrets_is_option(r, s->name))
			continue;
		ret = run_secrets_add_host(r, p, s->name, s->host, &by);
		if (ret == 0 && !by)
			ret = run_secrets_add(r, &p->tries, s->name);
	}
	return ret;
}

/* A bare --secret without a stored policy is limited by the vault alone. */
static void run_secrets_open(const struct run *r, struct secrets_plan *p)
{
	size_t n = 0;

	for (size_t i = 0; p->n_ceiling == 0 && i < p->within.n; i++) {
		const char *entry = p->within.items[i];
		bool is_open = false;

		for (size_t k = 0; k < r->options.secrets.n; k++) {
			const char *word = r->options.secrets.items[k];
			const size_t len = strlen(word);

			is_open = is_open || (strncmp(word, entry, len) == 0 && entry[len] == '=');
		}
		if (!is_open)
			p->within.items[n++] = entry;
	}
	p->within.n = p->n_ceiling == 0 ? n : p->within.n;
}

/* Of any layer: a stored policy has TLS opened, too, for what it denies there. */
static int run_secrets_inspected(struct run *r, struct secrets_plan *p)
{
	const struct permissions *layers[2 * SECRETS_LEAVES_MAX];
	const char *const *hosts = NULL;
	size_t n_layers = 0, n = 0;
	int ret;

	/* Tier 3 enforces nothing of the network. */
	if (r->options.tier && r->options.tier[0] == '3')
		return 0;

	for (size_t i = 0; i < p->n_base; i++)
		layers[n_layers++] = p->base[i];
	for (size_t i = 0; i < p->n_ceiling; i++)
		layers[n_layers++] = p->ceiling[i];
	ret = policy_inspected(layers, n_layers, r->call->arena, &hosts, &n);
	if (ret < 0)
		return error_no_memory(r->call->error);
	for (size_t i = 0; ret == 0 && i < n; i++)
		ret = run_secrets_add(r, &p->inspect, hosts[i]);
	return ret;
}

int run_secrets_plan(struct run *r, struct secrets_plan *p)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < r->n_base; i++)
		ret = secrets_leaves(r, r->base[i], p->base, &p->n_base);
	for (size_t i = 0; ret == 0 && i < r->ceiling.n; i++)
		ret = secrets_leaves(r, r->ceiling.files[i].permissions, p->ceiling, &p->n_ceiling);
	if (ret == 0)
		ret = run_secrets_of_base(r, p);
	if (ret == 0)
		ret = run_secrets_of_options(r, p);
	if (ret == 0)
		ret = run_secrets_of_presets(r, p);
	for (size_t i = 0; ret == 0 && i < r->options.logins.n; i++)
		ret = run_secrets_of_login(r, p, r->options.logins.items[i]);
	if (ret == 0)
		run_secrets_open(r, p);
	if (ret == 0)
		ret = run_secrets_inspected(r, p);
	if (ret == 0 && (p->words.n > LEND_MAX || p->tries.n > LEND_MAX))
		ret = error_set(r->call->error, -E2BIG, NULL,
			"at most %d secrets can be lent to one sandbox", LEND_MAX);
	return ret;
}
