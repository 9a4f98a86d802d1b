/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Frames: the messages between host, warden, zygote and init, one per packet of a SOCK_SEQPACKET
 * pair, with file descriptors beside them. docs/protocol.md is the specification.
 *
 * A frame has a header (type, id, length of the body) and a body of at most FRAME_BODY_MAX bytes. A
 * body that does not fit travels in a sealed memfd, which counts as the frame's last descriptor and
 * is never seen by the caller: frame_send() and frame_receive() make and read it. The receiver
 * checks seals and size before it maps anything. What breaks the rules is -EPROTO: hang up.
 *
 * Both ends are on one machine: numbers are in the machine's own order. Every packet has the
 * version of the protocol. A packet of another version is -EPROTONOSUPPORT and is answered by one
 * that says which version and build we are; frame_explain() makes a sentence of what the peer said.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
	FRAME_BODY_MAX = 32 << 10, /* inline */
	FRAME_MEMFD_MAX = 8 << 20, /* in a memfd */
	FRAME_FDS_MAX = 8,         /* without the memfd */
	FRAME_BUILD_MAX = 32,      /* bytes of the name of a build, with its NUL */
};

/* Changes with the meaning or the layout of any frame. The header, and the packet that answers
 * another version, stay as they are. Packets without a version have 0. */
#ifndef FRAME_PROTOCOL
#define FRAME_PROTOCOL 4
#endif

enum frame_type {
	FRAME_NONE = 0,
	/* host -> warden -> init */
	FRAME_CONFIGURE, /* host -> warden, first: wire/configure.h */
	FRAME_START,  /* id: of the command, chosen by the host; body: wire/start.h; fds: stdio (0,
			 1,  2), none with START_TTY */
	FRAME_SIGNAL, /* body: u32 number; to the command's foreground processes */
	FRAME_KILL,   /* end the command with all its processes; body: none, or u32 flags for its
			 report */
	FRAME_LEASE,  /* host -> warden: it was handed to the lent init; body: u64 timeout in ms */
	FRAME_RETURN, /* host -> warden: it is over; id 0: the lent init is gone */
	/* init -> warden -> host */
	FRAME_READY,   /* warden -> host: the session stands; body: wire/report.h */
	FRAME_FAILED,  /* warden -> host: there is no session; body: wire/report.h; then EOF */
	FRAME_STARTED, /* the program runs; fds: the master side of its terminal, if START_TTY */
	FRAME_REFUSED, /* it does not; body: wire/report.h */
	FRAME_EXITED,  /* it ended; body: wire/report.h */
	FRAME_STOPPED, /* init -> warden: it stopped, as by Ctrl-Z; body: u32 number of the signal.
			  Only of a session with a single command, on a terminal */
	FRAME_GONE, /* init, or zygote -> warden -> host: the session ended; body: wire/report.h */
	/* warden <-> zygote */
	FRAME_PLAN,  /* warden -> zygote, first: jail/plan/plan.h */
	FRAME_SPAWN, /* warden -> zygote: make an init ready */
	FRAME_INIT, /* zygote -> warden; fds: its socket, its pidfd. warden -> host; fds: the socket
		       of an init that the host may give commands itself */
	/* the network: net/relay.h */
	FRAME_SOCKETS, /* zygote -> warden -> relay; body: wire/sockets.h; fds */
	FRAME_RECORD,  /* relay, or init without a network -> warden -> host; body: wire/record.h */
	FRAME_POLICY,  /* host -> warden -> relay: other permissions; body: wire/configure.h. And
			  back,  with the same id: they hold; or body: wire/report.h, a refusal */
	/* `corral run --explain` */
	FRAME_WITNESS, /* init -> warden, before STARTED; fds: what tells of a command's calls
			  (jail/notify.h) */
	/* the front of a broker and its monitor: broker/call.h */
	FRAME_CALL,         /* front -> monitor; id: chosen by the front; body: broker/call.h */
	FRAME_CALL_CANCEL,  /* front -> monitor: its caller has gone */
	FRAME_CALL_ANSWER,  /* monitor -> front; body: the values of its results */
	FRAME_CALL_REFUSED, /* monitor -> front; body: broker/rpc.h, a refusal */
	FRAME_CALL_NOTE,    /* monitor -> front, before its answer; body: the row's notes. And back,
			       without a body: its caller has room for another */
	FRAME_CALL_GONE,    /* front -> monitor; id: a connection that has ended, of a caller who
			       opened something; no body */
	FRAME_BROKER,       /* holder -> broker, first; body: wire/broker.h; fds: its ledger.
			       Answered by READY (no body) or FAILED; FRAME_SOCKETS follows. broker
			       -> its front: the same, with less, and the listeners */
	/* a monitor and a back end of a service, beside FRAME_CALL…: broker/service/link.h */
	FRAME_SERVICE,       /* monitor -> back end, first; body: broker/service/setup.h. Answered
				by READY (no body) or FAILED (body: broker/rpc.h, a refusal) */
	FRAME_SERVICE_PROBE, /* monitor -> back end: try what you serve; answered as a call is */
	/* corrald and corrald-http: daemon/message.h */
	FRAME_API_SETUP,  /* corrald -> http, first */
	FRAME_API_CLIENT, /* corrald -> http; fds: a connection; id: 1 by TCP, 0 by the Unix socket;
			     body: why it is refused, or "" */
	FRAME_API_CALL,   /* http -> corrald; id: chosen by http; body: daemon/route.h */
	FRAME_API_ANSWER, /* corrald -> http; the same id; body: status, then JSON */
	FRAME_API_EVENT,  /* corrald -> http; id: of the event; body: type, then JSON */
	FRAME_API_NOTE,   /* http -> corrald: a request that became no call: refused, or answered by
			     http */
	FRAME_API_GONE,   /* http -> corrald; id: of a call whose client has gone; no body */
	FRAME_API_TAB,    /* corrald -> http: a tab of the page, and its key */
	/* who holds a session and corrald: wire/join.h */
	FRAME_JOIN,         /* holder -> corrald, first; body: who it is; id: wire/join.h */
	FRAME_JOINED,       /* corrald -> holder: it was looked at, and is known; id: a number of
			       the log; body: the folder of audit/missed.h with a NUL, or none;
			       fds: a file for it, prepared, if there is one */
	FRAME_JOIN_EVENT,   /* holder -> corrald; body: audit/event.h, encoded */
	FRAME_JOIN_STOP,    /* corrald -> holder: end the sandbox's command; no body */
	FRAME_JOIN_DETAILS, /* holder -> corrald, after JOINED; body: what it may do, wire/join.h */
	FRAME_JOIN_REPLY,   /* holder -> corrald: what came of an order; the same id */
	/* questions and grants, of a sandbox that runs: wire/question.h */
	FRAME_QUESTION,      /* broker, relay -> holder -> corrald; id: the sender's */
	FRAME_QUESTION_OVER, /* broker, relay -> holder -> corrald; the same id; body: u32, how */
	FRAME_ANSWER,  /* corrald -> holder: an order; id: of the order. holder -> broker, relay: no
			  more than was asked; id: of their question */
	FRAME_GRANT,   /* corrald -> holder: an order */
	FRAME_REVOKE,  /* corrald -> holder: an order; body: u64, the grant */
	FRAME_GRANTED, /* holder -> corrald; id: of the grant */
	FRAME_GRANT_OVER, /* holder -> corrald; id: of the grant; no body */
	FRAME_GRANTS, /* holder -> broker: all that are in force. And back, with the same id: they
			 are; or body: wire/report.h, a refusal */
	/* who holds a session and corrald, again */
	FRAME_JOIN_ACK,  /* corrald -> holder; id: how many events are committed; body: u64, a
			    number of the log (wire/join.h) */
	FRAME_JOIN_LEFT, /* holder -> corrald, last: all events without JOIN_ACK were sent, and are
			    in a file (audit/missed.h), too; id: the number in its name; no body */
	/* what a broker did */
	FRAME_EVENT, /* broker -> holder, warden -> host; body: audit/event.h, encoded, or none; id:
			how many before it could not be sent */
	/* the network, again */
	FRAME_SETTLE, /* holder -> relay: report all that was only counted; no body. And back, with
			 the same id, after the last of those records */
	/* a program that uses the library, and the process that holds what it joined: wire/hold.h
	 */
	FRAME_HOLD,         /* program -> holder, first; id: pid of the program; no body */
	FRAME_HOLD_DECLARE, /* program -> holder; body: wire/hold.h. And back: it is so */
	FRAME_HOLD_SESSION, /* program -> holder; id: of the session; fds: a socket to its warden.
			       And back: it has what is granted */
	FRAME_HOLD_CONNECTION, /* program -> holder; id: chosen by the program; fds: a connection to
				  corrald. And back: what follows is of it; or, with a body, it was
				  lost: wire/hold.h */
	FRAME_HOLD_NEWS,       /* holder -> program: there is something to pull; no body */
	FRAME_HOLD_PULL,       /* program -> holder. And back, after all that there is; no body */
	FRAME_HOLDER, /* host -> warden; fds: a socket to its holder, which sends GRANTS and
			 ANSWER there */
	/* corral-vault, those who start it and those who may ask it: vault/message.h */
	FRAME_VAULT_CALL,   /* starter -> vault; id: chosen by the starter */
	FRAME_VAULT_ANSWER, /* vault -> starter, client; the same id */
	FRAME_VAULT_CLIENT, /* starter -> vault; fds: a socket for one sandbox */
	FRAME_VAULT_GET,    /* client -> vault; id: chosen by the client */
	FRAME_VAULT_SOURCE, /* vault -> starter, by its second socket: what a source has */
	FRAME_VAULT_VALUE,  /* starter -> vault, by that socket; the same id: what it has; or, to
			       FRAME_EVENT, that it is in the log */
	/* holder, warden and init, again */
	FRAME_STOP, /* holder -> warden: end all commands; no body. warden -> lent init: end the one
		       that runs, which the host gave it, and numbered; body: u32 flags for its
		       report */
	/* the network, again */
	FRAME_OWNER, /* relay -> holder -> init, and back: which program has a socket; wire/owner.h
		      */
	FRAME_NAMES, /* zygote -> warden: commands without a network ask for names; fds: a link to
			the process that answers (warden/asked.h) */
	/* secrets that are lent to a sandbox: wire/lend.h */
	FRAME_LEND_SETUP, /* lender -> injector, holder; first */
	FRAME_LEND_READY, /* injector -> lender -> holder; fds, of the lender's: for the relay */
	FRAME_LEND_OPEN,  /* relay -> injector; fds: a stream to the client, one to the host */
	FRAME_LEND_NOTE,  /* injector -> lender -> holder: why a connection failed */
	FRAME_LEND_USE,   /* injector -> lender, which records it */
	/* the filter before the user's ssh agent: sshagent/ssh-setup.h */
	FRAME_SSH_SETUP, /* holder -> corral-ssh-agent, first. Answered by READY (no body) or
			    FAILED; then it sends EVENT */
	FRAME_SSH_PEER,  /* holder -> corral-ssh-agent: who may connect; body: u32, a pid */
	/* secrets that are lent, again */
	FRAME_LEND_FILE, /* lender -> holder, before LEND_READY: a file with placeholders */
	/* requests inside TLS that is opened for the policy (network.inspect) */
	FRAME_LEND_ASK,    /* injector -> relay; id: of LEND_OPEN: may this request pass? */
	FRAME_LEND_ANSWER, /* relay -> injector; the same id */
	/* logins inside: wire/lend.h */
	FRAME_LEND_TOKENS,  /* injector -> lender; id: of the login: what the vault is to keep */
	FRAME_LEND_STORED,  /* lender -> injector; the same id: the vault has it, or why not */
	FRAME_LEND_CONSENT, /* lender -> holder: whether the user agrees */
	FRAME_LEND_AGREED,  /* holder -> lender: yes, or why not */
	FRAME_LEND_CHANGED, /* lender -> injector: values and grants are to be asked for again */
	FRAME_LEND_PROGRAM, /* injector -> relay: programs matter for a host from now on */
	FRAME_LEND_TURN,    /* injector -> lender, and back; id: of the login: its request may go */
	FRAME_LEND_OVER,    /* injector -> lender; id: of the login: that request is over */
	/* the call-back of a login (cli/link/callback.h), which begins with READY */
	FRAME_CALLBACK_QUERY, /* server -> waiter; body: the query of a request, with its NUL */
	FRAME_CALLBACK_PAGE,  /* waiter -> server; id: which page answers it */
	FRAME_TYPE_COUNT,
};

/* A received frame. Zero it before the first use; frame_deinit() closes what was not taken. */
struct frame {
	enum frame_type type;
	uint64_t id;
	const void *body; /* aligned for any type; valid until the next receive or deinit */
	size_t len;
	int fds[FRAME_FDS_MAX]; /* close-on-exec; take with frame_take_fd() */
	size_t n_fds;
	/* After -EPROTONOSUPPORT: the peer's version, and the name of its build, or "". */
	uint16_t peer_protocol;
	char peer_build[FRAME_BUILD_MAX];
	/* private */
	void *map;
	size_t map_len;
	_Alignas(16) unsigned char buffer[FRAME_BODY_MAX];
};

/*
 * Sends one frame; never blocks longer than the socket does, but for a tenth of a second if too
 * many descriptors are under way; never raises SIGPIPE. The descriptors stay the caller's. -EAGAIN,
 * -EPIPE (the peer is gone), -EMSGSIZE (longer than FRAME_MEMFD_MAX), -ETOOMANYREFS …
 */
int frame_send(int socket, enum frame_type type, uint64_t id, const void *body, size_t len,
	const int *fds, size_t n_fds);
/* 1: a frame. 0: the other side hung up. -EAGAIN, -EPROTO, -EPROTONOSUPPORT (it is of another
 * version, and heard which one we are), … Frees what f held before. */
int frame_receive(int socket, struct frame *f);
/* The same, and they never block: for a socket whose flags others may change, who have it, too. */
int frame_send_now(int socket, enum frame_type type, uint64_t id, const void *body, size_t len,
	const int *fds, size_t n_fds);
int frame_receive_now(int socket, struct frame *f);
/* After -EPROTONOSUPPORT: which versions meet. peer: "the daemon (pid 7)". Returns
 * -EPROTONOSUPPORT. */
int frame_explain(const struct frame *f, const char *peer, struct error *e);
/* The i-th descriptor, now the caller's; -1 if there is none (or it was taken). */
int frame_take_fd(struct frame *f, size_t i);
void frame_deinit(struct frame *f);
#define auto_frame __attribute__((cleanup(frame_deinit))) struct frame

/* A close-on-exec SOCK_SEQPACKET pair. */
int frame_pair(int ret[2]);

/*
 * Bytes in a memfd that cannot be changed any more: how something long is handed to another
 * process. Whoever takes one checks the seals before looking, so that what was checked is what is
 * used: without them the sender could rewrite the bytes under the reader's feet, or shrink the
 * file so that reading raises SIGBUS.
 *
 * sealed_new() gives a close-on-exec descriptor of a memfd with a copy of the bytes.
 */
int sealed_new(const void *data, size_t len, int *ret);
/* The same piece by piece: a memfd to write to, and the end of it. */
int sealed_begin(int *ret);
int sealed_finish(int fd);
/*
 * Maps a descriptor of foreign origin, for reading. It must be a memfd that holds exactly len bytes
 * (more than none) and is sealed as above; anything else is -EPROTO. The caller unmaps.
 */
int sealed_map(int fd, size_t len, void **ret);
