/* SPDX-License-Identifier: Apache-2.0 */
/* What a host does to a process while it runs. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "base/fd.h"
#include "lib/process/process.h"

uint64_t corral_process_id(const struct corral_process *p)
{
	return p->id;
}

long corral_process_write(struct corral_process *p, const void *data, size_t len)
{
	long r = input_add(&p->input, data, len, INPUT_QUEUE_MAX);

	/* What was not taken at once is the matter of whoever waits. */
	if (r > 0 && input_wants(&p->input) >= 0)
		process_wake(p);
	return r;
}

int corral_process_close_stdin(struct corral_process *p)
{
	int r = input_close_later(&p->input);

	if (r == 0 && input_wants(&p->input) >= 0)
		process_wake(p);
	return r;
}

/* The link, as long as the command runs; the caller lets go of it. */
static struct warden_link *link_of(struct corral_process *p)
{
	struct warden_link *link = NULL;

	(void)pthread_mutex_lock(&p->sandbox->lock);
	if (p->link && p->state <= PROCESS_RUNNING)
		link = warden_link_ref(p->link);
	(void)pthread_mutex_unlock(&p->sandbox->lock);
	return link;
}

static int send_to(struct corral_process *p, enum frame_type type, const struct buffer *body)
{
	int r = sandbox_tell_channel(p, type, body->data, body->len);
	struct warden_link *link;

	if (r != -ENOTCONN)
		return r == -EPIPE ? -ESRCH : r;
	link = link_of(p);
	r = link ? sandbox_send(link, type, p->id, body, NULL, 0) : -ESRCH;

	warden_link_unref(link);
	return r == -EPIPE ? -ESRCH : r;
}

int corral_process_signal(struct corral_process *p, int signal)
{
	uint32_t number = (uint32_t)signal;
	const struct buffer body = { .data = (char *)&number, .len = sizeof(number) };

	if (signal <= 0 || signal >= NSIG)
		return -EINVAL;
	return send_to(p, FRAME_SIGNAL, &body);
}

int corral_process_kill(struct corral_process *p)
{
	uint32_t flags = REPORT_KILLED;
	const struct buffer body = { .data = (char *)&flags, .len = sizeof(flags) };

	return send_to(p, FRAME_KILL, &body);
}

static struct output *output_of(struct corral_process *p, enum corral_stream stream)
{
	return stream == CORRAL_STDERR ? &p->err : &p->out;
}

/* With the pump held. */
static int take_output(struct corral_process *p, enum corral_stream stream)
{
	struct output *o = output_of(p, stream);
	int fd = o->fd;

	if (fd < 0)
		return -EBADF;
	for (size_t i = 0; i < PROCESS_SLOTS; i++) {
		if (p->watched[i] == fd && p->epoll >= 0)
			(void)epoll_ctl(p->epoll, EPOLL_CTL_DEL, fd, NULL);
		if (p->watched[i] == fd)
			p->watched[i] = -1;
	}
	return fd_take(&o->fd);
}

static int process_io_take_terminal(struct corral_process *p)
{
	int copy;

	if (p->out.fd < 0)
		return p->finished || p->told_started ? -EBADF : -EAGAIN;
	/* What was written before is still handed on. */
	copy = input_take_fd(&p->input);
	fd_close(&copy);
	return take_output(p, CORRAL_STDOUT);
}

int corral_process_take_fd(struct corral_process *p, enum corral_stream stream)
{
	int r = -pthread_mutex_lock(&p->pump);

	if (r < 0)
		return r;
	if (p->out.is_tty) {
		r = process_io_take_terminal(p);
	} else if (stream == CORRAL_STDIN) {
		r = input_take_fd(&p->input);
		r = r < 0 ? -EBADF : r;
	} else {
		r = take_output(p, stream);
	}
	(void)pthread_mutex_unlock(&p->pump);
	return r;
}

int corral_process_resize(struct corral_process *p, unsigned short rows, unsigned short columns)
{
	const struct winsize size = { .ws_row = rows, .ws_col = columns };
	int r = -pthread_mutex_lock(&p->pump);

	if (r < 0)
		return r;
	if (!p->out.is_tty || p->out.fd < 0)
		r = -EBADF;
	else if (ioctl(p->out.fd, TIOCSWINSZ, &size) < 0)
		r = -errno;
	(void)pthread_mutex_unlock(&p->pump);
	return r;
}
