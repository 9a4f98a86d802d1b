/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/waiting.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "policy/match/secret.h"

struct waiting_secret {
	struct waiting_secret *next;
	uint64_t connection;
	char name[SECRET_NAME_MAX + 1], variable[WAITING_VARIABLE_MAX + 1];
};

static void waiting_remove(struct waiting_secret **at)
{
	struct waiting_secret *s = *at;

	*at = s->next;
	free(s);
}

void waiting_end_of(struct waiting_secrets *w, uint64_t connection)
{
	for (struct waiting_secret **at = &w->first; *at;)
		if (connection == UINT64_MAX || (*at)->connection == connection)
			waiting_remove(at);
		else
			at = &(*at)->next;
}

int waiting_add(struct waiting_secrets *w, uint64_t connection, const struct lending_secret *secret)
{
	struct waiting_secret **at = &w->first, *s;
	size_t all = 0, own = 0;

	while (*at) {
		const bool is_own = (*at)->connection == connection;

		if (is_own && strcmp((*at)->variable, secret->variable) == 0) {
			waiting_remove(at);
			continue;
		}
		all++;
		own += is_own;
		at = &(*at)->next;
	}
	if (all >= WAITING_ALL_MAX || own >= WAITING_CONNECTION_MAX)
		return -EBUSY;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->connection = connection;
	(void)stpcpy(s->name, secret->name);
	(void)stpcpy(s->variable, secret->variable);
	*at = s;
	return 0;
}

int waiting_take(struct waiting_secrets *w, uint64_t connection, struct arena *a,
	const struct lending_secret **ret, size_t *ret_n)
{
	struct lending_secret *taken = arena_calloc(a, WAITING_CONNECTION_MAX, sizeof(*taken));
	size_t n = 0;

	for (struct waiting_secret *s = w->first; taken && s; s = s->next) {
		if (s->connection != connection)
			continue;
		taken[n].name = arena_strdup(a, s->name);
		taken[n].variable = arena_strdup(a, s->variable);
		if (!taken[n].name || !taken[n].variable)
			taken = NULL;
		n++;
	}
	/* Also if they cannot be used. */
	waiting_end_of(w, connection);
	if (!taken)
		return -ENOMEM;
	*ret = taken;
	*ret_n = n;
	return 0;
}
