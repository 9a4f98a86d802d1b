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

#include "base/buffer.h"
#include "event/loop.h"
#include "warden/asked.h"
#include "warden/session/broker-process.h"
#include "warden/session/copier.h"
#include "warden/session/relay-process.h"
#include "warden/session/session.h"
#include "wire/owner.h"

enum { SESSION_SPARES_MAX = 8 }; /* inits that wait: more commands than that at once are rare */

/* A longer path would leave no room for the rest of the record. */
enum { RECORD_PROGRAM_MAX = 512 };

struct cgroup;
struct cgroup_home;

/* One command of a session, as the side outside the jail knows it. */
struct command {
	struct command *next;
	struct session *session;
	struct watcher watch; /* of its init's socket */
	uint64_t id;
	char *program;     /* for records; NULL: there was no memory for it */
	int socket, pidfd; /* of its init; -1 while it waits for one */
	bool started;
	bool quiet;        /* its start is not reported */
	uint32_t flags;    /* of the report: what we did to it */
	uint64_t deadline; /* on the clock of clock_ms(); 0: none */
	bool doomed;       /* it was told to end; at the deadline its init is killed */
	bool init_killed;  /* that was done: its init is of no use to another command */
	/* Until an init takes it: what is sent then. */
	struct buffer body;
	int stdio[3];
	struct copier copiers[3]; /* of those that are not handed over as they are */
	bool ended;               /* it is no more; what it wrote is still being copied */
	struct report report;     /* then */
	uint64_t timeout_ms, memory, pids;
	uint64_t signals; /* one bit for each that is to follow */
	unsigned n_lost;  /* inits that died before they took it */
	struct cgroup *cgroup;
};

/* An init that waits for a command. */
struct spare {
	int socket, pidfd;
};

/* The relay counts what repeats itself, and reports that when it is asked to. */
struct settling {
	uint64_t asked, answered; /* the last ids */
	bool has_records;         /* it reported something since the last answer */
	bool is_deaf; /* it did not answer in time: it is not asked again before it does */
};

/* Questions of the relay for the program of a socket, by their number: a new one takes the place of
 * one that was lost. The relay has no more than so many that wait. */
enum { SESSION_OWNERS_MAX = 64 };

struct session_owner {
	uint64_t id;
	size_t n;                      /* inits that have not answered */
	struct owner_program *program; /* what those say that have; NULL: only a name is wanted */
};

/* Names that commands without a network ask for (warden/asked.h). */
struct session_names {
	struct asked_socket asked; /* its link alone */
	struct asked_name name;    /* that is not recorded yet: whose socket is it? */
	uint64_t owner;            /* the number of that question; 0: there is none */
	uint64_t last_owner;
};
/* In numbers of questions for a socket's program: it is asked for a name, not for the relay. */
#define SESSION_OWNER_OF_NAME (UINT64_C(1) << 63)

struct session {
	struct session_options o;
	struct session_handler handler;
	const struct plan *plan;
	pid_t pid; /* of the zygote */
	int pidfd, socket;
	struct relay_process relay;
	struct settling settling;
	struct session_owner owners[SESSION_OWNERS_MAX];
	struct session_names names;
	struct broker_process *broker; /* NULL: none */
	struct buffer granted;         /* the last body of FRAME_GRANTS */
	struct ledger *ledger;         /* what counts together with others'; NULL: nothing does */
	int ledger_fd;
	bool ledger_is_given; /* by session_share() */
	int own;              /* single: the folder of its private folders; -1: not there */
	int timer;
	struct loop *loop;
	struct watcher zygote_watch, death_watch, timer_watch, relay_watch, broker_watch,
		broker_frames_watch, names_watch;
	struct cgroup_home *cgroups; /* looked for when a command first asks for such a limit */
	bool looked;                 /* NULL then: there is none to be had */
	struct command *commands;    /* newest first */
	struct spare spares[SESSION_SPARES_MAX];
	size_t n_spares, n_asked;
	bool lent;     /* an init is with the holder of the session */
	bool starved;  /* the last attempt at an init failed: none is made ahead of time */
	bool building; /* the plan is under way, the zygote is not READY */
	bool used;     /* single: its command was started */
	bool emptied;  /* single: its init has reported that no process of the command is left */
	bool gone;
	struct frame frame; /* last: its buffer is not zeroed */
};

/* session.c: these add the descriptors that there are to the loop. */
int session_watch_zygote(struct session *s);
int session_watch_timer(struct session *s);
int session_watch_relay(struct session *s);
int session_watch_broker(struct session *s);
void session_unwatch_broker(struct session *s);
int session_watch_command(struct session *s, struct command *c);
static inline void session_report(struct session *s, const struct session_event *event)
{
	s->handler.event(s->handler.context, event);
}
/* session/broker-frames.c */
void session_on_broker(struct session *s);
/* All that it has said so far becomes events. */
void session_catch_up_broker(struct session *s);
/* It ends; all that it says until then becomes events. */
void session_finish_broker(struct session *s);
/* The zygote is no more, and nothing in it. */
void session_lose_zygote(struct session *s);

/* All that the commands did so far becomes events: records, also those that were only counted, and
 * calls. Negative: the relay has ended or broke the protocol; session_lose_relay() is next. */
int session_settle(struct session *s);
/* Ends the session for want of a relay. */
void session_lose_relay(struct session *s);
/* All that the relay has sent so far becomes events. Negative as in session_settle(). */
int session_hear_relay(struct session *s);

/* session/commands.c: the commands, their deadlines and their ends. */
void session_set_timer(struct session *s);
void session_pass_deadlines(struct session *s);
/* The session stands: the time of commands that were sent ahead begins. */
void session_begin_commands(struct session *s);
void session_forget(struct session *s, struct command *c);
void session_refuse_as(struct session *s, struct command *c, const struct refusal *refusal);
void session_refuse(struct session *s, struct command *c, int error, const char *text);
/* Once all that it wrote has been copied, which may be later. */
void session_end(struct session *s, struct command *c, struct report *report);
/* Reports those that ended already, with what could be copied. */
void session_hurry(struct session *s);
/* Something can be copied. `command`: a struct command, which may be no more then. */
void session_copy(void *command);
/* Its init is no more, and did not say why (r: what receiving gave). */
void session_lose(struct session *s, struct command *c, int r);
/* Moves the command's init into its cgroup, if it has one. */
int session_charge(const struct command *c);

/* session/owners.c: which program has a socket (wire/owner.h). Negative: the frame makes no sense.
 */
int session_on_owner_question(struct session *s);
/* Asks all inits; how many. */
size_t session_ask_owners(struct session *s, const struct owner_question *q);
/* 1: that is the answer; 0: another is waited for. */
int session_on_owner_answer(struct session *s, struct owner_answer *ret);
/* The same of a program: the relay gets the answer when all have answered. */
int session_on_owner_program(struct session *s);
void session_forget_owners(struct session *s);
/* Tells the relay. */
void session_tell_owner(const struct session *s, uint64_t id, const char *name);
/* The program of the only command, for what was done by one that is not known; else "". */
const char *session_only_program(const struct session *s);

/* session/names.c: the zygote's FRAME_NAMES; -EPROTO: it makes no sense. */
int session_on_names(struct session *s);
/* All names that were asked for so far become events; the last may wait for its program. */
void session_hear_names(struct session *s);
void session_name_owner(struct session *s, uint64_t owner, const char *program);
/* The same, and nothing waits any more. */
void session_settle_names(struct session *s);

/* session/inits.c: inits that wait, and commands that wait for one. */
void session_ask_for_inits(struct session *s);
struct command *session_next_waiting(const struct session *s);
void session_use_spares(struct session *s);
/* Takes over both descriptors. */
void session_keep_spare(struct session *s, int socket, int pidfd);
/* An init whose command is over waits for the next one, unless it was put into a cgroup. */
void session_give_back(struct session *s, struct command *c);
void session_spare_deinit(struct spare *init);
