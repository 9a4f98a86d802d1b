/* SPDX-License-Identifier: Apache-2.0 */
/* What renewal needs of a borrower: it asks the vault, keeps what it is given, and tells. */
#include <string.h>

#include "inject/borrower.h"
#include "wire/report.h"

struct borrower_host *borrower_find_host(struct borrower *b, const char *target)
{
	for (size_t k = 0; k < b->n_hosts; k++)
		if (strcmp(b->hosts[k].target, target) == 0)
			return &b->hosts[k];
	return NULL;
}

int borrower_send_ask(struct borrower *b, const struct lend_grant *g, uint32_t place,
	const char *field, const char *state, uint64_t *ret_id)
{
	const struct vault_message m = { .op = VAULT_GET,
		.name = g->name,
		.text = g->host,
		.places = place,
		.fields = field,
		.principal = state };

	*ret_id = ++b->asked;
	return vault_message_send(BORROWER_VAULT, FRAME_VAULT_GET, *ret_id, &m, &b->room);
}

void borrower_wipe(struct borrower *b)
{
	if (b->frame.len <= sizeof(b->frame.buffer))
		secret_wipe(b->frame.buffer, b->frame.len);
}

const struct placeholder *borrower_find(const struct borrower *b, const char *name)
{
	for (size_t k = 0; k < placeholders_count(b->placeholders); k++)
		if (strcmp(placeholders_at(b->placeholders, k)->name, name) == 0)
			return placeholders_at(b->placeholders, k);
	return NULL;
}

int borrower_keep(struct borrower *b, const char *name, const void *value, size_t len)
{
	const struct placeholder *p;

	return borrower_find(b, name) ? 0 : placeholders_add(b->placeholders, name, value, len, &p);
}

bool borrower_has(const struct borrower *b, const char *name, const struct vault_message *m)
{
	const struct placeholder *p = borrower_find(b, name);

	return p && p->value.len == m->secret_len &&
	       memcmp(p->value.data, m->secret, m->secret_len) == 0;
}

int borrower_renew(struct borrower *b, const char *name, const struct vault_message *m)
{
	return *m->fields ? placeholders_put(
				    b->placeholders, name, m->fields, m->secret, m->secret_len)
			  : placeholders_change(b->placeholders, name, m->secret, m->secret_len);
}

void borrower_forget(struct borrower *b)
{
	placeholders_forget(b->placeholders);
}

/* One that is not heard looks for nothing: connections are of no program then. */
void borrower_need_programs(struct borrower_host *h)
{
	const size_t len = strlen(h->target) + 1;

	if (!h->by_program &&
		frame_send_now(BORROWER_RELAY, FRAME_LEND_PROGRAM, 0, h->target, len, NULL, 0) == 0)
		h->by_program = true;
}

void borrower_note(const struct borrower_host *h, const char *text)
{
	auto_buffer body = { 0 };

	if (lend_note_encode(&(struct lend_note){ h->target, text }, &body) == 0)
		(void)frame_send_now(
			CHILD_SOCKET, FRAME_LEND_NOTE, 0, body.data, body.len, NULL, 0);
}
