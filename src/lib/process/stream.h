/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The library's ends of a command's stdin, stdout and stderr. */
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "corral/sandbox.h"

/*
 * What a command reads from stdin: a queue of bytes, handed on as the command takes them. Threads
 * may add to it while another one hands on.
 *
 * A pipe whose reader is gone raises SIGPIPE, which would end a host that does not expect it. It is
 * blocked for the thread while we write, and taken off if our write was what raised it.
 */
/* How much may wait in the queue before corral_process_write() takes no more. */
enum { INPUT_QUEUE_MAX = 1 << 20 };

struct stream_input {
	pthread_mutex_t lock;
	int fd;    /* non-blocking; -1: not there yet, or not any more */
	bool open; /* it will, or may still, be read */
	bool is_tty;
	bool closing; /* close when the queue is empty */
	struct buffer queue;
	size_t done;
	uint64_t bytes;
};

/* write() that raises no SIGPIPE. */
ssize_t input_write_quietly(int fd, const void *data, size_t len);

void input_init(struct stream_input *i);
void input_deinit(struct stream_input *i);

/* Bytes taken; -EAGAIN: the queue is full; -EPIPE; -ENOMEM. max: INPUT_QUEUE_MAX, or SIZE_MAX. */
long input_add(struct stream_input *i, const void *data, size_t len, size_t max);
int input_close_later(struct stream_input *i);
/* Hands on what the command takes now. */
void input_flush(struct stream_input *i);
/* The descriptor to wait for, or -1 if nothing is to be written. */
int input_wants(struct stream_input *i);
/* Gives it a descriptor, its own from now on. */
void input_set_fd(struct stream_input *i, int fd);
/* Gives the descriptor away; -1 if there is none, or bytes wait. */
int input_take_fd(struct stream_input *i);
/* It is not read any more. */
void input_end(struct stream_input *i);

/*
 * What a command prints: read as fast as it comes, kept up to a limit, or handed to a callback.
 * Beyond the limit it is still read, counted and dropped: a command never hangs because it says too
 * much.
 */
/* What became of it. */
struct printed {
	struct buffer kept;
	uint64_t bytes; /* in all */
	bool truncated;
};

struct stream_output {
	int fd; /* non-blocking; -1: at its end, taken, or not the library's */
	bool is_tty;
	enum corral_stream stream;
	uint64_t limit;
	corral_output_callback *callback;
	void *context;
	struct printed printed;
};

/*
 * Reads what is there, at most max bytes. 0: nothing more for now (fd is -1 at the end); 1: max was
 * reached; -ECANCELED: the callback wants no more.
 */
int output_pump(struct stream_output *o, size_t max);
/* Reads what was printed before now, and nothing that may be printed later; closes. */
int output_finish(struct stream_output *o);
