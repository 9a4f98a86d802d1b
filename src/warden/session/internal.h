/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the files of a session share. Functions are named after what they do to it; session.h is for
 * everybody else.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "warden/session/command.h"
#include "warden/session/relay-process.h"
#include "warden/session/session.h"

enum { SESSION_SPARES_MAX = 8 }; /* inits that wait: more commands than that at once are rare */

struct charge;

/* An init that waits for a command. */
struct spare {
	int socket, pidfd;
};

struct session {
	struct session_options o;
	struct session_handler handler;
	const struct plan *plan;
	pid_t pid; /* of the zygote */
	int pidfd, socket;
	struct relay_process relay;
	int epoll, timer;
	struct charge *charge;
	struct command *commands; /* newest first */
	struct spare spares[SESSION_SPARES_MAX];
	size_t n_spares, n_asked;
	bool lent;    /* an init is with the holder of the session */
	bool starved; /* the last attempt at an init failed: none is made ahead of time */
	bool gone;
	struct frame frame;
};

/* What an event of epoll belongs to: the address of one of these, or of a command. */
#define SOURCE_ZYGOTE(s) ((void *)&(s)->socket)
#define SOURCE_DEATH(s) ((void *)&(s)->pidfd)
#define SOURCE_TIMER(s) ((void *)&(s)->timer)
#define SOURCE_RELAY(s) ((void *)&(s)->relay)

/* session.c */
int session_add_source(struct session *s, int fd, void *source);
void session_report(struct session *s, const struct session_event *event);
/* The zygote is no more, and nothing in it. */
void session_lose_zygote(struct session *s);

/* session/network.c: the relay, and what it tells. */
int session_start_relay(struct session *s, struct error *e);
/* The frame that the session holds goes on to the relay. */
int session_pass_sockets(struct session *s);
/* All that the relay has told so far becomes events. Negative: it is no more. */
int session_hear_relay(struct session *s);

/* session/commands.c: the commands, their deadlines and their ends. */
void session_set_timer(struct session *s);
void session_pass_deadlines(struct session *s);
void session_forget(struct session *s, struct command *c);
void session_refuse_as(struct session *s, struct command *c, const struct refusal *refusal);
void session_refuse(struct session *s, struct command *c, int error, const char *text);
void session_end(struct session *s, struct command *c, struct report *report);
/* Its init is no more, and did not say why (r: what receiving gave). */
void session_lose(struct session *s, struct command *c, int r);

/* session/inits.c: inits that wait, and commands that wait for one. */
void session_ask_for_inits(struct session *s);
struct command *session_next_waiting(const struct session *s);
void session_use_spares(struct session *s);
/* Takes over both descriptors. */
void session_keep_spare(struct session *s, int socket, int pidfd);
/* An init whose command is over waits for the next one, unless it was put into a cgroup. */
void session_give_back(struct session *s, struct command *c);
void session_spare_deinit(struct spare *init);
