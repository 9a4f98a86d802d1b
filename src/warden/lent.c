/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/lent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "event/wait.h"
#include "host/authorities.h"
#include "wire/frame.h"
#include "wire/lend.h"

enum { WARDEN_LENT_MS = 10000 };
_Static_assert((int)LEND_RELAYS_MAX == (int)PLAN_LENT_MAX, "each socket is of one process");

struct warden_lent {
	struct frame setup, ready; /* hold the texts, and the sockets */
	struct lend_grant grants[LEND_MAX];
	size_t n_grants;
	struct lend_ready said;
	const char *hosts[LEND_RELAYS_MAX][LEND_MAX];
	bool by_program[LEND_RELAYS_MAX][LEND_MAX];
	struct plan_lent lent[LEND_RELAYS_MAX];
	size_t n;
	char place[PATH_BYTES];
	struct buffer authorities;
	struct plan_text cover;
};

static int warden_lent_await(int control, enum frame_type type, struct frame *f)
{
	const uint64_t until = wait_until(WARDEN_LENT_MS);
	int r;

	do
		r = wait_for_one(control, POLLIN, until) > 0 ? frame_receive(control, f)
							     : -ETIMEDOUT;
	while (r == -EAGAIN || r == -EINTR);
	return r == 1 && f->type == type ? 0 : r < 0 ? r : -EPROTO;
}

/* Sockets come in this order: for HTTP, for databases. */
static int warden_lent_divide(struct warden_lent *l)
{
	for (size_t i = 0; i < LEND_RELAYS_MAX; i++) {
		const size_t n = lend_hosts(l->grants, l->n_grants, LEND_DATABASE, i == 0,
			l->hosts[i], l->by_program[i]);

		if (n == 0)
			continue;
		if (l->n == l->ready.n_fds)
			return -EPROTO;
		l->lent[l->n] =
			(struct plan_lent){ l->ready.fds[l->n], l->hosts[i], l->by_program[i], n };
		l->n++;
	}
	return l->n == l->ready.n_fds ? 0 : -EPROTO;
}

static int warden_lent_read(struct warden_lent *l, int control)
{
	int r = warden_lent_await(control, FRAME_LEND_SETUP, &l->setup);

	if (r == 0)
		r = lend_setup_decode(l->grants, &l->n_grants, l->setup.body, l->setup.len);
	if (r == 0)
		r = warden_lent_await(control, FRAME_LEND_READY, &l->ready);
	if (r == 0)
		r = lend_ready_decode(&l->said, l->ready.body, l->ready.len);
	return r == 0 ? warden_lent_divide(l) : r;
}

/* The list that commands see in place of the system's. */
static int warden_lent_trust(struct warden_lent *l)
{
	const char *place = authorities_system(l->place);
	int r = authorities_read(place, &l->authorities);

	buffer_adds(&l->authorities, l->said.certificate);
	if (r == 0 && l->authorities.failed)
		r = -ENOMEM;
	l->cover = (struct plan_text){ place, buffer_text(&l->authorities), false };
	return r;
}

int warden_lent_receive(struct warden_lent **ret, int control, struct error *e)
{
	struct warden_lent *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return error_no_memory(e);
	*ret = l;
	r = warden_lent_read(l, control);
	if (r < 0)
		return error_set(e, r, NULL, "the host did not say which secrets it lends");
	r = warden_lent_trust(l);
	return r < 0 ? error_set(e, r, NULL, "cannot read the system's list of authorities: %s",
			       strerror(-r))
		     : 0;
}

void warden_lent_prepare(const struct warden_lent *l, struct plan_options *o)
{
	o->lends = true;
	o->covers = &l->cover;
	o->n_covers = 1;
}

void warden_lent_hand_over(const struct warden_lent *l, struct plan *p)
{
	p->lent = l->lent;
	p->n_lent = l->n;
}

void warden_lent_close(struct warden_lent *l)
{
	for (size_t i = 0; i < l->ready.n_fds; i++)
		fd_close(&l->ready.fds[i]);
}
