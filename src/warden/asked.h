/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Names that a command without a network asks for. A socket stands where its resolv.conf leads, and
 * no more, until the first question: then a process answers each of them with "no such name", at
 * once, and reports the name before it answers, while whoever asked still waits.
 *
 * That process reads what commands send, so it has the walls of a command. For a single command the
 * init starts it and reads its reports: it is one of the sandbox, and the command may kill it; then
 * nothing answers any more, and that is reported. For several, which share a network, the zygote
 * starts it, where none of them sees it, and the session reads its reports (session/names.c).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ASKED_NAME_BYTES = 256,
	/* Different ones that are reported, for several commands in a second; one more stands for
	 * the rest. */
	ASKED_NAMES_MAX = 256,
};

struct asked_socket {
	int server;     /* the socket; -1: none */
	int link;       /* to the process that answers; -1: there is none yet */
	bool is_shared; /* by several commands: each socket that asks is reported */
};

/* A question. name: letters, digits, '-', '_' and '.', or "*" for all that are not reported. */
struct asked_name {
	char name[ASKED_NAME_BYTES];
	uint16_t port; /* of the socket that asked */
};

/* The socket, in the network of the caller; negative: an error. */
int asked_open(void);
/* There is a question: starts the process. rules: of Landlock; -1: the caller is behind them. On
 * failure the socket is closed, and programs are refused at once. */
void asked_begin(struct asked_socket *a, int rules);
/*
 * The process has something to report. 1: a name, and asked_done() is next. 0: nothing. -EPIPE: the
 * process has ended, which no command was asked to do; the socket is closed.
 */
int asked_hear(struct asked_socket *a, struct asked_name *ret);
/* The name is recorded: it may be answered. */
void asked_done(const struct asked_socket *a);
/* The command is over. */
void asked_end(struct asked_socket *a);
