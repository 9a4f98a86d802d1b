/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/lock.h"

/* Input. Functions with "locked" in their name are called with its lock held. */

/* The terminal's end-of-file character, as a new terminal has it: Ctrl-D. */
static const char end_of_file = 4;

void input_init(struct stream_input *i)
{
	*i = (struct stream_input){ .fd = -1 };
	(void)pthread_mutex_init(&i->lock, NULL);
}

void input_deinit(struct stream_input *i)
{
	fd_close(&i->fd);
	buffer_deinit(&i->queue);
	(void)pthread_mutex_destroy(&i->lock);
}

static void input_end_locked(struct stream_input *i)
{
	fd_close(&i->fd);
	i->open = false;
	i->done = 0;
	buffer_deinit(&i->queue);
}

/* A SIGPIPE that was pending before is the host's, and stays. */
ssize_t input_write_quietly(int fd, const void *data, size_t len)
{
	sigset_t pipe, before, pending;
	ssize_t n;
	int error;

	(void)sigemptyset(&pipe);
	(void)sigaddset(&pipe, SIGPIPE);
	(void)sigpending(&pending);
	(void)pthread_sigmask(SIG_BLOCK, &pipe, &before);
	n = write(fd, data, len);
	error = errno;
	if (n < 0 && error == EPIPE && !sigismember(&pending, SIGPIPE)) {
		while (sigtimedwait(&pipe, NULL, &(struct timespec){ 0 }) < 0 && errno == EINTR)
			;
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return n;
}

static void input_flush_locked(struct stream_input *i)
{
	while (i->fd >= 0 && i->done < i->queue.len) {
		ssize_t n =
			input_write_quietly(i->fd, i->queue.data + i->done, i->queue.len - i->done);

		if (n > 0) {
			i->done += (size_t)n;
			i->bytes += (uint64_t)n;
		} else if (n == 0 || errno == EAGAIN) {
			return;
		} else if (errno != EINTR) {
			input_end_locked(i);
		}
	}
	if (i->fd < 0)
		return;
	i->done = 0;
	/* A long input is not kept for the rest of the command's life. */
	buffer_deinit(&i->queue);
	if (i->closing && !i->is_tty)
		input_end_locked(i);
}

void input_flush(struct stream_input *i)
{
	auto_lock held = lock_take(&i->lock);

	input_flush_locked(i);
}

static long input_add_locked(struct stream_input *i, const void *data, size_t len, size_t max)
{
	size_t before = i->queue.len - i->done;

	if (!i->open || i->closing)
		return -EPIPE;
	if (len && before >= max)
		return -EAGAIN;
	if (len > max - before)
		len = max - before;
	if (i->done > 0) {
		i->queue.len = before;
		memmove(i->queue.data, i->queue.data + i->done, before);
		i->done = 0;
	}
	buffer_add(&i->queue, data, len);
	if (i->queue.failed) {
		i->queue.failed = false;
		return -ENOMEM;
	}
	input_flush_locked(i);
	return i->open ? (long)len : -EPIPE;
}

long input_add(struct stream_input *i, const void *data, size_t len, size_t max)
{
	auto_lock held = lock_take(&i->lock);

	return input_add_locked(i, data, len, max);
}

int input_close_later(struct stream_input *i)
{
	auto_lock held = lock_take(&i->lock);
	int r = 0;

	if (!i->open || i->closing)
		r = -EPIPE;
	else if (i->is_tty)
		r = (int)input_add_locked(i, &end_of_file, 1, SIZE_MAX);
	else
		i->closing = true;
	input_flush_locked(i);
	return r < 0 ? r : 0;
}

int input_wants(struct stream_input *i)
{
	auto_lock held = lock_take(&i->lock);

	return i->done < i->queue.len ? i->fd : -1;
}

void input_set_fd(struct stream_input *i, int fd)
{
	auto_lock held = lock_take(&i->lock);

	i->fd = fd;
	input_flush_locked(i);
}

int input_take_fd(struct stream_input *i)
{
	auto_lock held = lock_take(&i->lock);
	int fd = -1;

	if (i->done == i->queue.len) {
		fd = fd_take(&i->fd);
		input_end_locked(i);
	}
	return fd;
}

void input_end(struct stream_input *i)
{
	auto_lock held = lock_take(&i->lock);

	input_end_locked(i);
}

/* Output */

enum { CHUNK = 32 << 10, TTY_BYTES = 1 << 20 };

int output_pump(struct stream_output *o, size_t max)
{
	struct printed *p = &o->printed;
	char data[CHUNK];
	size_t done = 0;

	while (o->fd >= 0 && done < max) {
		uint64_t left = o->limit > p->bytes ? o->limit - p->bytes : 0;
		ssize_t n = read(o->fd, data, max - done < CHUNK ? max - done : CHUNK);
		size_t fits;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return 0;
		/* A terminal whose other side is closed says EIO. */
		if (n <= 0) {
			fd_close(&o->fd);
			return 0;
		}
		fits = (size_t)n < left ? (size_t)n : (size_t)left;
		p->bytes += (size_t)n;
		if (!o->callback)
			buffer_add(&p->kept, data, fits);
		p->truncated = p->truncated || fits < (size_t)n || p->kept.failed;
		if (o->callback && fits && o->callback(o->context, o->stream, data, fits) != 0)
			return -ECANCELED;
		done += (size_t)n;
	}
	return o->fd >= 0;
}

/* What was printed before cannot be more than a pipe holds. */
int output_finish(struct stream_output *o)
{
	int size = o->fd < 0 || o->is_tty ? -1 : fcntl(o->fd, F_GETPIPE_SZ);
	int r = output_pump(o, size > 0 ? (size_t)size : TTY_BYTES);

	fd_close(&o->fd);
	return r < 0 ? r : 0;
}
