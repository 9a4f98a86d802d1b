/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns of logins (--login) in all runs of a user: a refresh token is good for once, so of two runs
 * that refresh it the second one has to wait for what the first one gets. Whose turn it is has a
 * lock on a byte of the file `logins` beside the vault; the byte is the login's, by its name. The
 * kernel ends the lock with the process that has it, whatever that dies of.
 *
 * Who waits looks every LENDER_TURN_LOOK_MS: locks of files tell nobody that they end. A turn ends
 * after LENDER_TURN_MS at the latest; the injector has ended the request before.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "cli/vault/lender.h"
#include "event/wait.h"
#include "vault/client.h"
#include "wire/frame.h"

enum {
	LENDER_TURN_LOOK_MS = 50,
	LENDER_TURN_MS = 75 * 1000, /* longer than LOGIN_TURN_MS of inject/login.h */
	LENDER_TURN_BYTES = 1 << 30,
};

static int lender_turn_left(const struct lender_oauth *o)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);

	return o->until > now ? (int)(o->until - now) : 0;
}

static int lender_turn_open(int *ret)
{
	auto_buffer path = { 0 };
	struct error e = { 0 };
	int r = vault_place(&path, &e);

	if (r < 0)
		return r;
	buffer_adds(&path, "/logins");
	if (path.failed)
		return -ENOMEM;
	*ret = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	return *ret < 0 ? -errno : 0;
}

static int lender_turn_answer(const struct lender_oauth *o, const char *why)
{
	auto_buffer body = { 0 };
	int r = lend_answer_encode(
		&(struct lend_answer){ .number = o->number, .is_allowed = !*why, .text = why },
		&body);

	return r < 0 ? r
		     : frame_send(o->socket, FRAME_LEND_TURN, o->id, body.data, body.len, NULL, 0);
}

/* Its lock ends with the descriptor. */
static void lender_turn_drop(struct lender_oauth *o)
{
	fd_close(&o->turn);
	o->is_waiting = false;
}

/* Takes the lock, if no other run has it, and says so. */
static int lender_turn_try(struct lender_oauth *o)
{
	struct flock lock = { .l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)(hash_bytes(HASH_START, o->word.name, strlen(o->word.name)) %
				   LENDER_TURN_BYTES),
		.l_len = 1 };

	if (fcntl(o->turn, F_OFD_SETLK, &lock) < 0) {
		if (errno == EAGAIN || errno == EACCES || errno == EINTR)
			return 0;
		lender_turn_drop(o);
		return lender_turn_answer(o, "logins of several runs cannot be put in order: the "
					     "file `logins` beside the vault takes no lock");
	}
	o->is_waiting = false;
	o->until = wait_until(LENDER_TURN_MS);
	return lender_turn_answer(o, "");
}

int lender_take_turn(struct lender *l, int socket, uint64_t id, const void *body, size_t len)
{
	struct lend_answer a;
	struct lender_oauth *o;
	int r = lend_answer_decode(&a, body, len);

	o = r == 0 && !a.is_allowed ? lender_find_oauth(l, a.text) : NULL;
	if (!o || o->is_waiting)
		return -EPROTO;
	lender_turn_drop(o);
	o->id = id;
	o->number = a.number;
	o->socket = socket;
	r = lender_turn_open(&o->turn);
	if (r < 0)
		return lender_turn_answer(o, "logins of several runs cannot be put in order: the "
					     "file `logins` beside the vault cannot be opened");
	o->is_waiting = true;
	return lender_turn_try(o);
}

int lender_end_turn(struct lender *l, const void *body, size_t len)
{
	struct lend_answer a;
	struct lender_oauth *o;
	int r = lend_answer_decode(&a, body, len);

	o = r == 0 && !a.is_allowed ? lender_find_oauth(l, a.text) : NULL;
	if (!o)
		return -EPROTO;
	if (a.number == o->number)
		lender_turn_drop(o);
	return 0;
}

int lender_look_turns(struct lender *l)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n_oauth; i++) {
		struct lender_oauth *o = &l->oauth[i];

		if (o->is_waiting)
			r = lender_turn_try(o);
		else if (o->turn >= 0 && lender_turn_left(o) == 0)
			lender_turn_drop(o);
	}
	return r;
}

int lender_turns_wait(const struct lender *l)
{
	int least = -1;

	for (size_t i = 0; i < l->n_oauth; i++) {
		const struct lender_oauth *o = &l->oauth[i];
		const int own = o->is_waiting  ? LENDER_TURN_LOOK_MS
				: o->turn >= 0 ? lender_turn_left(o)
					       : -1;

		least = own >= 0 && (least < 0 || own < least) ? own : least;
	}
	return least;
}
