/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/input.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

/* The terminal's end-of-file character, as a new terminal has it: Ctrl-D. */
static const char end_of_file = 4;

void input_init(struct input *i)
{
	*i = (struct input){ .fd = -1 };
	(void)pthread_mutex_init(&i->lock, NULL);
}

void input_deinit(struct input *i)
{
	fd_close(&i->fd);
	buffer_deinit(&i->queue);
	(void)pthread_mutex_destroy(&i->lock);
}

static void process_input_end(struct input *i)
{
	fd_close(&i->fd);
	i->fd = -1;
	i->open = false;
	i->done = 0;
	buffer_deinit(&i->queue);
}

/* A SIGPIPE that was pending before is the host's, and stays. */
static ssize_t quiet_write(int fd, const void *data, size_t len)
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

/* True if something was written. */
static bool write_some(struct input *i)
{
	ssize_t n = quiet_write(i->fd, i->queue.data + i->done, i->queue.len - i->done);

	if (n > 0) {
		i->done += (size_t)n;
		i->bytes += (uint64_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		process_input_end(i);
	}
	return n > 0 || (n < 0 && errno == EINTR);
}

static void process_input_flush(struct input *i)
{
	while (i->fd >= 0 && i->done < i->queue.len && write_some(i))
		;
	if (i->fd < 0 || i->done < i->queue.len)
		return;
	i->done = 0;
	/* A long input is not kept for the rest of the command's life. */
	buffer_deinit(&i->queue);
	if (i->closing && !i->is_tty)
		process_input_end(i);
}

void input_flush(struct input *i)
{
	(void)pthread_mutex_lock(&i->lock);
	process_input_flush(i);
	(void)pthread_mutex_unlock(&i->lock);
}

static void forget_done(struct input *i)
{
	if (i->done == 0)
		return;
	i->queue.len -= i->done;
	memmove(i->queue.data, i->queue.data + i->done, i->queue.len);
	i->done = 0;
}

static long process_input_add(struct input *i, const void *data, size_t len, size_t max)
{
	size_t before = i->queue.len - i->done;

	if (!i->open || i->closing)
		return -EPIPE;
	if (len && before >= max)
		return -EAGAIN;
	if (len > max - before)
		len = max - before;
	forget_done(i);
	buffer_add(&i->queue, data, len);
	if (i->queue.failed) {
		i->queue.failed = false;
		return -ENOMEM;
	}
	process_input_flush(i);
	return i->open ? (long)len : -EPIPE;
}

long input_add(struct input *i, const void *data, size_t len, size_t max)
{
	long r;

	(void)pthread_mutex_lock(&i->lock);
	r = process_input_add(i, data, len, max);
	(void)pthread_mutex_unlock(&i->lock);
	return r;
}

int input_close_later(struct input *i)
{
	int r = 0;

	(void)pthread_mutex_lock(&i->lock);
	if (!i->open || i->closing)
		r = -EPIPE;
	else if (i->is_tty)
		r = (int)process_input_add(i, &end_of_file, 1, SIZE_MAX);
	else
		i->closing = true;
	process_input_flush(i);
	(void)pthread_mutex_unlock(&i->lock);
	return r < 0 ? r : 0;
}

int input_wants(struct input *i)
{
	int fd;

	(void)pthread_mutex_lock(&i->lock);
	fd = i->done < i->queue.len ? i->fd : -1;
	(void)pthread_mutex_unlock(&i->lock);
	return fd;
}

void input_set_fd(struct input *i, int fd)
{
	(void)pthread_mutex_lock(&i->lock);
	i->fd = fd;
	process_input_flush(i);
	(void)pthread_mutex_unlock(&i->lock);
}

int input_take_fd(struct input *i)
{
	int fd = -1;

	(void)pthread_mutex_lock(&i->lock);
	if (i->done == i->queue.len) {
		fd = fd_take(&i->fd);
		process_input_end(i);
	}
	(void)pthread_mutex_unlock(&i->lock);
	return fd;
}

void input_end(struct input *i)
{
	(void)pthread_mutex_lock(&i->lock);
	process_input_end(i);
	(void)pthread_mutex_unlock(&i->lock);
}
