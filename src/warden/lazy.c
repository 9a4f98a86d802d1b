/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/lazy.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "net/enter/listeners.h"
#include "wire/frame.h"
#include "wire/sockets.h"

enum { LISTENERS = PLAN_LITERALS_MAX + 2 * PLAN_LISTENERS_MAX };

_Static_assert((int)LISTENERS <= (int)LISTENERS_MAX, "more than the relay takes");

/* *ret: -1 where there is no IPv6, and nobody who could mean such an address. */
static int open_literal(const struct plan_literal *l, int *ret, struct error *e)
{
	auto_fd fd = capture_listener(l->address.bits == 32 ? AF_INET : AF_INET6);
	int r = fd < 0 ? fd : capture_listen(fd, &l->address, l->port);
	auto_buffer address = { 0 };

	if (r == 0 || (r == -EAFNOSUPPORT && fd < 0)) {
		*ret = r == 0 ? fd_take(&fd) : -1;
		return 0;
	}
	address_print(&l->address, &address);
	return error_set(e, r, NULL, "cannot listen at %s port %u inside: %s",
		buffer_text(&address), l->port, strerror(-r));
}

/* In small portions: descriptors are scarce, and so is room for them on the way. */
struct portion {
	int socket;
	int fds[LISTENERS]; /* by number; -1: not in this portion */
	size_t n, next;
};

static int send_portion(struct portion *p)
{
	int r = sockets_send(p->socket, SOCKETS_LISTENER, p->fds, p->next);

	for (size_t i = 0; i < p->next; i++)
		fd_close(&p->fds[i]);
	p->n = 0;
	return r;
}

static int lazy_add(struct portion *p, int fd)
{
	p->fds[p->next++] = fd;
	p->n += fd >= 0;
	return p->n == FRAME_FDS_MAX ? send_portion(p) : 0;
}

static int send_listeners(int socket, const struct plan *plan, struct error *e)
{
	struct portion p = { .socket = socket };
	int r = 0, also;

	for (size_t i = 0; r == 0 && i < plan->n_literals; i++) {
		int fd = -1;

		r = open_literal(&plan->literals[i], &fd, e);
		if (r == 0)
			r = lazy_add(&p, fd);
	}
	/* Without IPv6 there are those of IPv4 alone. */
	for (size_t i = 0; r == 0 && i < 2 * plan->n_listeners; i++) {
		int fd = capture_listener(i % 2 ? AF_INET6 : AF_INET);

		r = fd < 0 && i % 2 == 0 ? fd : lazy_add(&p, fd);
	}
	also = send_portion(&p);
	return r < 0 ? r : also;
}

int lazy_capture(int socket, const struct plan *p, int ret[CAPTURE_COUNT], struct error *e)
{
	int fds[CAPTURE_COUNT];
	int r;

	if (p->unheld) {
		(void)error_set(e, -EOPNOTSUPP, NULL, "%s", p->unheld);
		error_hint(e, "grant single names and addresses with their ports, as in "
			      "api.example.com:443; corral doctor tells what the kernel lacks");
		return -EOPNOTSUPP;
	}
	*e = (struct error){ 0 };
	r = capture_open_lazy(fds, e);
	if (r < 0)
		return r;
	r = send_listeners(socket, p, e);
	if (r == 0)
		memcpy(ret, fds, sizeof(fds));
	for (size_t i = 0; r < 0 && i < CAPTURE_COUNT; i++)
		fd_close(&fds[i]);
	return r;
}
