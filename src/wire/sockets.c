/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/sockets.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	UNREAD_MAX = 1536, /* bytes, as the kernel counts them: two frames */
	PAUSE_US = 50,
	PAUSES_MAX = 200000, /* ten seconds */
	TRIES_MAX = 100,     /* the same: each waits in frame_send() */
};

/* While a session is built there is no other peer to serve, and time to wait. */
static int send_patiently(int socket, const void *body, size_t len, const int *fds, size_t n_fds)
{
	int r = -ETOOMANYREFS, unread = 0;

	/* Sessions that start at the same time share what may be under way (frame.c): few at once.
	 */
	for (int i = 0; i < PAUSES_MAX; i++) {
		if (ioctl(socket, SIOCOUTQ, &unread) < 0 || unread <= UNREAD_MAX)
			break;
		(void)usleep(PAUSE_US);
	}
	for (int i = 0; r == -ETOOMANYREFS && i < TRIES_MAX; i++)
		r = frame_send(socket, FRAME_SOCKETS, 0, body, len, fds, n_fds);
	return r;
}

static int sockets_send_some(int socket, const struct sockets *s, const int *fds)
{
	size_t len = offsetof(struct sockets, numbers) + s->n * sizeof(s->numbers[0]);

	return send_patiently(socket, s, len, fds, s->n);
}

int sockets_pass(int socket, const struct frame *f)
{
	return send_patiently(socket, f->body, f->len, f->fds, f->n_fds);
}

int sockets_send(int socket, enum sockets_kind kind, const int *fds, size_t n)
{
	struct sockets s = { .kind = kind };
	int some[FRAME_FDS_MAX];

	for (size_t i = 0; i < n; i++) {
		int r;

		if (fds[i] < 0)
			continue;
		some[s.n] = fds[i];
		s.numbers[s.n++] = (uint32_t)i;
		if (s.n < FRAME_FDS_MAX)
			continue;
		r = sockets_send_some(socket, &s, some);
		if (r < 0)
			return r;
		s.n = 0;
	}
	return s.n > 0 ? sockets_send_some(socket, &s, some) : 0;
}

int sockets_send_now(int socket, enum sockets_kind kind, const int *fds, size_t n)
{
	struct sockets s = { .kind = kind, .n = (uint32_t)n };

	if (n == 0 || n > FRAME_FDS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		s.numbers[i] = (uint32_t)i;
	return frame_send(socket, FRAME_SOCKETS, 0, &s,
		offsetof(struct sockets, numbers) + n * sizeof(s.numbers[0]), fds, n);
}

int sockets_decode(struct sockets *ret, const struct frame *f)
{
	const size_t head = offsetof(struct sockets, numbers);
	struct sockets s = { 0 };

	if (f->type != FRAME_SOCKETS || f->len < head || f->len > sizeof(s))
		return -EPROTO;
	memcpy(&s, f->body, f->len);
	if (s.kind >= SOCKETS_KIND_COUNT || s.n == 0 || s.n != f->n_fds ||
		f->len != head + s.n * sizeof(s.numbers[0]))
		return -EPROTO;
	for (size_t i = 0; i < s.n; i++)
		if (s.numbers[i] >= SOCKETS_NUMBER_MAX)
			return -EPROTO;
	*ret = s;
	return 0;
}
