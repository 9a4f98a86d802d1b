/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of placeholders on the way to hosts with secrets, in the log of the vault. The
 * injector says names and numbers; the words are made here, and only names that were lent count.
 */
#include <stdio.h>
#include <string.h>

#include "audit/event.h"
#include "cli/vault/lender.h"
#include "vault/client.h"
#include "vault/format.h"

static bool lender_has(const struct lender *l, const struct lend_use *u, uint32_t *ret_places)
{
	bool has_name = false, has_host = false;

	*ret_places = 0;
	for (size_t i = 0; i < l->n; i++) {
		const bool is_name = strcmp(l->grants[i].name, u->name) == 0;
		const bool is_host = strcmp(l->grants[i].host, u->host) == 0;

		has_name = has_name || is_name;
		has_host = has_host || is_host;
		if (is_name && is_host)
			*ret_places |= l->grants[i].places;
	}
	return has_name && has_host;
}

int lender_record_use(struct lender *l, const void *body, size_t len)
{
	char target[sizeof("vault.misplaced:") + VAULT_NAME_MAX + 1];
	auto_buffer reason = { 0 };
	struct audit_event event = {
		.action = AUDIT_SERVICE, .target = target, .sandbox = l->principal, .exact = true
	};
	struct lend_use u;
	uint32_t places;
	int r = lend_use_decode(&u, body, len);

	if (r < 0 || !lender_has(l, &u, &places) || (u.is_sent && !(places & u.place)))
		return -EPROTO;
	(void)snprintf(
		target, sizeof(target), "vault.%s:%s", u.is_sent ? "sent" : "misplaced", u.name);
	buffer_printf(&reason, "%s in ", u.host);
	if (u.place == 0)
		buffer_adds(&reason, "path");
	else if (u.place == VAULT_FIELD)
		buffer_adds(&reason, "another field of the head");
	else
		vault_places_print(u.place, NULL, &reason);
	if (*u.program)
		buffer_printf(&reason, " by %s", u.program);
	event.program = u.place == VAULT_POSTGRESQL ? "corral-postgres" : "corral-inject";
	event.reason = buffer_text(&reason);
	event.decision = u.is_sent ? AUDIT_ALLOWED : AUDIT_DENIED;
	event.count = u.count;
	return reason.failed
		       ? -ENOMEM
		       : vault_client_record(l->session->vault, &event, l->session->call->error);
}
