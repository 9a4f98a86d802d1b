/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The host's end of a session: the control socket, and the warden process at its other end.
 *
 * The sandbox and every command that runs hold a reference; the socket is closed with the last one,
 * so that nobody polls a descriptor which has become another's. A session ends at once by
 * warden_link_end(), whoever still holds a reference.
 *
 * Nothing depends on waitpid(): the host may ignore SIGCHLD, or have a handler that reaps every
 * child. That the warden is there is seen by the socket, that it is gone by its pidfd; reaping
 * leaves no zombie if it finds one, and is content if somebody else did it.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "wire/configure.h"
#include "wire/frame.h"
#include "wire/report.h"

struct corral_process;
struct sandbox_lent;

struct warden_link {
	atomic_uint refs;
	atomic_bool ended;
	int socket; /* non-blocking */
	int pidfd;  /* -1: it could not be had, and the pid must not be trusted either */
	struct ready ready;
	struct frame frame; /* for whoever receives; guarded by the sandbox's lock */
	/* An init that was lent: commands go to it without the warden between. */
	int channel; /* non-blocking; -1: none */
	const struct corral_process
		*user; /* whose command it runs; guarded by the lock, as channel */
	/* The rest is guarded by the lock, too. */
	const struct corral_process *leader; /* who polls the socket for all that wait */
	bool lost;                           /* and its commands were told so */
	uint64_t number;                     /* for its holder; 0: it has none */
	/* Other permissions that its relay was given (sandbox/update.c). */
	uint64_t told;  /* the last id that it was, or need not be */
	uint64_t asked; /* the id; 0: nothing is asked */
	enum frame_type asked_by;
	int wake;         /* raised when the answer is there; -1: no caller waits */
	bool answered;    /* to be read only then: */
	int answer;       /* 0: they hold */
	struct error why; /* they do not */
};

struct warden_link_options {
	const char *program;
	const char *policy; /* text for the warden */
	size_t policy_len;
	const struct configure *configure;
	const struct buffer *broker;     /* with CONFIGURE_BROKER: its setup (wire/broker.h) */
	const struct sandbox_lent *lent; /* with CONFIGURE_LENT */
	int skill;                       /* the copy of a skill (CONFIGURE_SKILL); -1: none */
	int ledger;                      /* with CONFIGURE_LEDGER */
	int timeout_ms;                  /* until the session must stand */
};

/* Starts a warden and waits until its session stands. */
int warden_link_new(struct warden_link **ret, const struct warden_link_options *o, struct error *e);
struct warden_link *warden_link_ref(struct warden_link *l);
/* Ends the session with the last reference. Accepts NULL. */
void warden_link_unref(struct warden_link *l);
/* Ends the session and waits until the warden is gone. Only the first call does anything. */
void warden_link_end(struct warden_link *l);

/*
 * Starts the program with the other end of a socket pair, and a policy (a descriptor, which stays
 * the caller's) or -1. The caller owns both: the socket is non-blocking; the pidfd is -1 if it
 * could not be had.
 */
int warden_link_spawn(
	const char *program, int policy, int *ret_socket, int *ret_pidfd, struct error *e);
/* The program that is started unless another is named: CORRAL_WARDEN, or the installed one. */
const char *warden_link_program(void);
/* Waits until it is gone, which hangs up on the socket, and kills it if that takes too long. */
void warden_link_await_end(int socket, int pidfd);

/* What a REFUSED, FAILED or GONE frame says, as an error. Always negative. */
int warden_link_refusal(const struct frame *f, struct error *e);
