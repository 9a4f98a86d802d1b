/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/relay.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "cli/run/terminal.h"

void relay_close(struct relay *r)
{
	if (r->close_from && r->from >= 0)
		(void)close(r->from);
	if (r->close_to && r->to >= 0)
		(void)close(r->to);
	r->from = r->to = -1;
	r->is_done = true;
}

bool relay_poll(struct relay *r, struct pollfd *p)
{
	if (r->is_done)
		return false;
	if (r->at < r->len)
		*p = (struct pollfd){ .fd = r->to, .events = POLLOUT };
	else if (r->is_paused)
		return false;
	else
		*p = (struct pollfd){ .fd = r->from, .events = POLLIN };
	return true;
}

/* What may pass of n bytes; the rest is dropped. */
static size_t run_relay_spend(struct relay_budget *b, size_t n)
{
	size_t fits = !b || n <= b->left ? n : (size_t)b->left;

	if (b) {
		b->left -= fits;
		b->dropped += n - fits;
	}
	return fits;
}

static void take_in(struct relay *r)
{
	ssize_t n;

	/* Somebody may have taken it since. */
	if (r->is_keyboard && !terminal_is_ours(r->from))
		return;
	n = read(r->from, r->bytes, sizeof(r->bytes));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	/* EIO: nobody holds the other side of a terminal any more. */
	if (n <= 0) {
		relay_close(r);
		return;
	}
	r->at = 0;
	r->len = run_relay_spend(r->budget, (size_t)n);
	if (r->kept) {
		buffer_add(r->kept, r->bytes, r->len);
		r->len = 0;
	}
}

static void give_out(struct relay *r)
{
	size_t left = r->len - r->at;
	ssize_t n = write(r->to, r->bytes + r->at, left < PIPE_BUF ? left : PIPE_BUF);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n < 0)
		relay_close(r); /* the writer will hear of it as we did */
	else
		r->at += (size_t)n;
}

void relay_run(struct relay *r, const struct pollfd *p)
{
	if (r->is_done || !p->revents)
		return;
	if (p->events & POLLOUT)
		give_out(r);
	else
		take_in(r);
}
