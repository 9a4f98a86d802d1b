/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One socket of a broker's: a corral-fetch in the fetcher's sandbox (broker/fetch/socket.h), its
 * two pipes, and the calls that wait for it. sockets.c has the methods.
 *
 * What was received and not read stays in the pipe and in the kernel: here is at most one piece of
 * it. Of a socket one call reads and one writes at a time.
 */
#include "broker/fetch/hop.h"
#include "broker/fetch/record.h"
#include "broker/monitor/monitor.h"

enum { SOCKET_LIFE_MS = 600 * 1000, SOCKET_BYTES_MAX = 256 << 20 /* in each direction */ };

struct broker_socket {
	struct broker_socket *next;
	struct monitor *monitor;
	uint64_t connection;
	uint32_t number, pid;
	char origin[HOP_ORIGIN_BYTES], host[HOP_ORIGIN_BYTES];
	unsigned port;
	uint64_t connect_ms;
	/* Calls that wait for it; NULL: none. An opening one owns the socket. */
	struct monitor_call *opening, *reading, *writing;
	bool is_answered;  /* the policy itself does not have its host */
	bool is_once;      /* nor has a grant: it was agreed to for this connection */
	bool is_gone;      /* its connection has ended while it was opened */
	bool is_leaving;   /* it was closed, and no call finds it */
	bool is_broken;    /* nothing goes through it; its process is waited for, which says why */
	bool is_explained; /* then it has, in `why` */
	bool has_ended;    /* the server sends no more */
	int code;          /* of starting it */
	struct corral_error *error;
	struct corral_process *process;
	int in, out; /* its pipes */
	struct watcher input, output, process_end;
	struct timer linger;
	struct record_reader reader;
	struct buffer received; /* and not read, from `taken` on */
	size_t taken;
	uint64_t n_received, n_sent;
	struct rpc_refusal why; /* message NULL: nothing is wrong so far */
	struct arena arena;     /* of those words */
};

/* What a call that waits has. */
struct socket_wait {
	struct monitor_call *call;
	struct broker_socket *socket;
	struct timer timer;
	size_t written;
};

/* Kills what runs. */
void socket_free(struct broker_socket *s);
/*
 * No call finds it any more, and those that wait are refused. corral-fetch sends what it was given,
 * and ends; or is ended after a while. Not of one that is being opened.
 */
void socket_close(struct broker_socket *s);
/* Its process runs: c, which opens it, is answered when it is connected. Negative: it is not. */
int socket_begin(struct broker_socket *s);
/* What went wrong, unless something was said before. */
void socket_say(struct broker_socket *s, enum rpc_class class, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The call that opens it is refused with that, and the socket is freed. */
void socket_fail_opening(struct broker_socket *s);

/* c waits for the socket, no longer than its timeout; its state is a struct socket_wait then. */
int socket_await(struct monitor_call *c, struct broker_socket *s);
/* It waits no longer, if it did, and is still to be answered. */
void socket_wake(struct monitor_call *c);

/* Answers with what is there, its end, or why it broke. False: there is none of it yet. */
bool socket_give(struct monitor_call *c, struct broker_socket *s);
/* Sends what `writing` gave, as far as the pipe takes it, and answers when that is all. */
void socket_go_on_writing(struct broker_socket *s);
/* There is room in the pipe; of the watcher `input`. */
void socket_on_input(struct watcher *w, uint32_t events);
