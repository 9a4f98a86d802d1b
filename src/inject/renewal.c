/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/renewal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "inject/borrower.h"

enum {
	RENEWAL_LEAST_S = 10, /* between two questions for a value that lives shorter */
	RENEWAL_AGAIN_S = 60, /* after one that the vault could not answer */
};

/* When */

static uint64_t renewal_wait_s(const struct renewal_want *w, uint64_t now_s)
{
	/* The vault gives a value that lives for so long as it is. */
	const uint64_t due_s =
		w->expires_s - (w->expires_s > VAULT_FRESH_S ? VAULT_FRESH_S - 1 : 0);
	uint64_t wait_s;

	/* An unlocked vault says so. */
	if (w->is_refused || (w->state[0] == '\0' && !w->has_failed) ||
		(w->expires_s == 0 && !w->has_failed))
		return UINT64_MAX;
	if (w->has_failed)
		return RENEWAL_AGAIN_S;
	wait_s = due_s > now_s ? due_s - now_s : 0;
	return wait_s > RENEWAL_LEAST_S ? wait_s : RENEWAL_LEAST_S;
}

static void renewal_plan(struct borrower *b)
{
	struct renewal *n = &b->renewal;
	const uint64_t now_s = clock_ms(CLOCK_REALTIME) / 1000;
	uint64_t wait_s = UINT64_MAX;

	for (size_t i = 0; i < n->n; i++) {
		const uint64_t own_s = renewal_wait_s(&n->wants[i], now_s);

		wait_s = own_s < wait_s ? own_s : wait_s;
	}
	loop_stop(b->loop, &n->timer);
	/* The machine may sleep meanwhile. */
	if (wait_s < UINT64_MAX)
		(void)loop_start_at(b->loop, &n->timer, loop_boot_now(b->loop) + wait_s * 1000);
}

/* Questions */

/* One at a time; those that were due when it began. */
void renewal_next(struct borrower *b)
{
	struct renewal *n = &b->renewal;

	for (size_t i = 0; !n->asked && i < n->n; i++) {
		struct renewal_want *w = &n->wants[i];

		const char *state = w->due == RENEWAL_CHECK ? w->state : NULL;

		if (w->due == RENEWAL_NOT_DUE)
			continue;
		w->due = RENEWAL_NOT_DUE;
		if (borrower_send_ask(b, w->grant, w->place, w->field, state, &n->id) == 0)
			n->asked = w;
		else
			w->has_failed = true;
	}
	if (!n->asked)
		renewal_plan(b);
}

void renewal_ask_all(struct borrower *b)
{
	for (size_t i = 0; i < b->renewal.n; i++)
		if (b->renewal.wants[i].due == RENEWAL_NOT_DUE)
			b->renewal.wants[i].due = RENEWAL_CHECK;
	renewal_next(b);
}

static void renewal_on_timer(struct timer *t)
{
	struct borrower *b = container_of(t, struct borrower, renewal.timer);
	const uint64_t now_s = clock_ms(CLOCK_REALTIME) / 1000;

	for (size_t i = 0; i < b->renewal.n; i++) {
		struct renewal_want *w = &b->renewal.wants[i];

		if (renewal_wait_s(w, now_s) <= RENEWAL_LEAST_S || w->has_failed)
			w->due = RENEWAL_ASK;
	}
	renewal_next(b);
}

/* Answers */

static void renewal_tell(
	struct borrower *b, const struct renewal_want *w, const char *what, const char *why)
{
	const struct borrower_host *h = borrower_find_host(b, w->grant->host);
	char text[LEND_TEXT_MAX + 1];

	(void)snprintf(text, sizeof(text), "%.128s %s%.600s", w->grant->name, what, why);
	if (h)
		borrower_note(h, text);
}

static void renewal_remember(struct renewal_want *w, const struct vault_message *m)
{
	w->expires_s = m->number;
	if (strlen(m->principal) <= VAULT_STATE_MAX)
		memcpy(w->state, m->principal, strlen(m->principal) + 1);
}

static void renewal_refuse(struct borrower *b, struct renewal_want *w, bool is_refused)
{
	struct renewal *n = &b->renewal;
	uint32_t *places = &n->refused[w->grant - b->grants];

	if (is_refused && !w->is_refused)
		renewal_tell(b, w, "is not granted there any more, or has expired", "");
	w->is_refused = is_refused;
	*places &= ~w->place;
	/* Of several fields one may be refused: then none of them is sent. */
	for (size_t i = 0; i < n->n; i++)
		if (n->wants[i].grant == w->grant && n->wants[i].is_refused)
			*places |= n->wants[i].place;
}

/* The programs of the vault's answer. */
static int renewal_take_programs(
	struct borrower *b, struct renewal_want *w, const struct vault_message *m)
{
	struct borrower_host *h = borrower_find_host(b, w->grant->host);
	char *programs = NULL;

	if (strcmp(w->programs ? w->programs : "", m->programs) == 0)
		return 0;
	if (*m->programs) {
		programs = strdup(m->programs);
		if (!programs)
			return -ENOMEM;
	}
	free(w->programs);
	w->programs = programs;
	if (programs && h)
		borrower_need_programs(h);
	return 0;
}

/* All values go at once: each other question would have the same answer. */
static void renewal_lock(struct borrower *b, const struct renewal_want *w)
{
	struct renewal *n = &b->renewal;

	if (!n->is_locked)
		renewal_tell(b, w, "and all other secrets are taken away: ",
			"the vault is locked (corral vault unlock)");
	n->is_locked = true;
	borrower_forget(b);
	for (size_t i = 0; i < n->n; i++) {
		n->wants[i].due = RENEWAL_NOT_DUE;
		n->wants[i].state[0] = '\0';
		n->wants[i].has_failed = false;
	}
}

static void renewal_unlock(struct borrower *b)
{
	b->renewal.is_locked = false;
	for (size_t i = 0; i < b->renewal.n; i++)
		if (b->renewal.wants[i].state[0] == '\0')
			b->renewal.wants[i].due = RENEWAL_CHECK;
}

static void renewal_take(struct borrower *b, struct renewal_want *w)
{
	struct vault_message m = { 0 };
	int r = b->frame.type == FRAME_VAULT_ANSWER
			? vault_message_decode(&m, b->frame.body, b->frame.len)
			: -EPROTO;

	r = r == 0 && m.error < 0 ? m.error : r;
	if (r == -ENOKEY) {
		renewal_lock(b, w);
		borrower_wipe(b);
		return;
	}
	if (b->renewal.is_locked && m.text)
		renewal_unlock(b);
	if (r == 0)
		r = renewal_take_programs(b, w, &m);
	if (r == 0 && !(m.flags & VAULT_FLAG_SAME) && !borrower_has(b, w->grant->name, &m))
		r = b->renewed(b, w->grant, &m);
	if (r == 0)
		renewal_remember(w, &m);
	if (r == 0 || r == -EACCES || r == -EKEYEXPIRED)
		renewal_refuse(b, w, r < 0);
	else if (!w->has_failed)
		renewal_tell(b, w, "could not be renewed, and stays as it was: ",
			m.text && *m.text ? m.text : strerror(-r));
	w->has_failed = r < 0 && r != -EACCES && r != -EKEYEXPIRED;
	borrower_wipe(b);
}

int renewal_hear(struct borrower *b)
{
	struct renewal *n = &b->renewal;
	struct renewal_want *w = n->asked;

	if (!w || b->frame.id != n->id)
		return 0;
	n->asked = NULL;
	renewal_take(b, w);
	return 1;
}

static void renewal_on_vault(struct watcher *watcher, uint32_t events)
{
	struct borrower *b = container_of(watcher, struct borrower, renewal.vault);
	int r = frame_receive_now(watcher->fd, &b->frame);

	(void)events;
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r == 1 && renewal_hear(b) == 1) {
		renewal_next(b);
		return;
	}
	/* Without a vault values stay what they are. */
	loop_remove(b->loop, watcher);
	loop_stop(b->loop, &b->renewal.timer);
}

/* The beginning */

static int renewal_watch(struct borrower *b)
{
	struct renewal *n = &b->renewal;

	return n->n == 0 || n->vault.fd >= 0
		       ? 0
		       : loop_add(b->loop, &n->vault, BORROWER_VAULT, EPOLLIN);
}

static struct renewal_want *renewal_find(
	struct renewal *n, const struct lend_grant *g, uint32_t place, const char *field)
{
	for (size_t i = 0; i < n->n; i++) {
		struct renewal_want *w = &n->wants[i];

		if (w->grant == g && w->place == place &&
			(!field || (w->field && strcmp(w->field, field) == 0)))
			return w;
	}
	return NULL;
}

int renewal_want(struct borrower *b, const struct lend_grant *g, uint32_t place, const char *field,
	const struct vault_message *m)
{
	struct renewal *n = &b->renewal;
	struct renewal_want *w = renewal_find(n, g, place, field);
	struct renewal_want added = { .grant = g, .place = place };
	const size_t at = n->asked ? (size_t)(n->asked - n->wants) : 0;

	if (!w) {
		added.field = field ? strdup(field) : NULL;
		if ((field && !added.field) || ARRAY_PUSH(n->wants, n->n, n->cap, added) < 0) {
			free(added.field);
			return -ENOMEM;
		}
		n->asked = n->asked ? &n->wants[at] : NULL;
		w = &n->wants[n->n - 1];
	}
	renewal_remember(w, m);
	if (renewal_take_programs(b, w, m) < 0)
		return -ENOMEM;
	if (!n->is_serving)
		return 0;
	renewal_plan(b);
	return renewal_watch(b);
}

void renewal_init(struct renewal *n)
{
	n->vault = (struct watcher){ .ready = renewal_on_vault, .fd = -1 };
	n->timer.expired = renewal_on_timer;
}

int renewal_begin(struct borrower *b)
{
	b->renewal.is_serving = true;
	renewal_plan(b);
	return renewal_watch(b);
}

enum renewal_state renewal_look(
	const struct borrower *b, const struct lend_grant *g, uint32_t place)
{
	return b->renewal.refused[g - b->grants] & place ? RENEWAL_REFUSED
	       : b->renewal.is_locked                    ? RENEWAL_LOCKED
							 : RENEWAL_GOOD;
}

const char *renewal_find_other(
	const struct borrower *b, const struct lend_grant *g, uint32_t place, const char *program)
{
	const struct renewal *n = &b->renewal;

	for (size_t i = 0; i < n->n; i++) {
		const struct renewal_want *w = &n->wants[i];

		if (w->grant == g && w->place == place && w->programs &&
			!vault_programs_have(w->programs, program))
			return w->programs;
	}
	return NULL;
}
