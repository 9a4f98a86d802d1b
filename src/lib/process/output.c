/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/output.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"

enum { CHUNK = 32 << 10, TTY_BYTES = 1 << 20 };

void output_close(struct output *o)
{
	fd_close(&o->fd);
	o->fd = -1;
}

static void output_keep(struct printed *p, const char *data, size_t n)
{
	buffer_add(&p->kept, data, n);
	if (p->kept.failed)
		p->truncated = true;
}

static int output_take(struct output *o, const char *data, size_t n)
{
	uint64_t left = o->limit > o->printed.bytes ? o->limit - o->printed.bytes : 0;
	size_t fits = n < left ? n : (size_t)left;

	o->printed.bytes += n;
	o->printed.truncated = o->printed.truncated || fits < n;
	if (!o->callback)
		output_keep(&o->printed, data, fits);
	else if (fits && o->callback(o->context, o->stream, data, fits) != 0)
		return -ECANCELED;
	return 0;
}

/* How many bytes; 0 at the end; -EAGAIN. A terminal that nobody has open any more says EIO. */
static ssize_t read_chunk(struct output *o, char *data, size_t size)
{
	ssize_t n;

	do {
		n = read(o->fd, data, size);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -EAGAIN : 0;
	return n;
}

int output_pump(struct output *o, size_t max)
{
	char data[CHUNK];
	size_t done = 0;

	while (o->fd >= 0 && done < max) {
		ssize_t n = read_chunk(o, data, max - done < CHUNK ? max - done : CHUNK);

		if (n == -EAGAIN)
			return 0;
		if (n == 0)
			output_close(o);
		else if (output_take(o, data, (size_t)n) < 0)
			return -ECANCELED;
		done += (size_t)n;
	}
	return o->fd >= 0;
}

/* What was printed before cannot be more than a pipe holds. */
int output_finish(struct output *o)
{
	int size = o->fd < 0 || o->is_tty ? -1 : fcntl(o->fd, F_GETPIPE_SZ);
	int r = output_pump(o, size > 0 ? (size_t)size : TTY_BYTES);

	output_close(o);
	return r < 0 ? r : 0;
}
