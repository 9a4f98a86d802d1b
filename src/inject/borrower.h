/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the processes do alike that are lent the secrets of one sandbox (wire/lend.h). Each confines
 * itself, is told by its descriptor 3 which secrets may go where, asks the vault for the values by
 * 4, says what stands for them inside, and takes connections of the relay by 5, until its lender
 * hangs up. What became of placeholders, and why connections failed, it reports by 3.
 */
#include "event/loop.h"
#include "inject/authority.h"
#include "inject/placeholders.h"
#include "inject/renewal.h"
#include "process/child.h"
#include "process/confinement.h"
#include "vault/message.h"
#include "wire/lend.h"

enum {
	BORROWER_VAULT = CHILD_FDS,
	BORROWER_RELAY = CHILD_FDS + 1,
	BORROWER_NAME_MAX = 256,
};

struct borrower;
struct ssl_ctx_st;

/* One that connections go to. */
struct borrower_host {
	struct borrower *borrower;
	const char *target;           /* HOST:PORT, of a grant */
	char name[BORROWER_NAME_MAX]; /* without brackets */
	uint16_t port;
	uint32_t places; /* of all grants for it */
	bool by_program; /* the relay looks for the program of each connection */
	void *own;       /* of the process */
};

/* Placeholders of one secret on the way to one host, in one place. */
struct borrower_use {
	const struct placeholder *placeholder;
	const struct borrower_host *host;
	uint32_t place;
	bool is_sent;
	/* Not sent because of the program: as of struct lend_use. NULL: that is not why. */
	const char *program;
	bool is_known;  /* that there was one */
	uint64_t count; /* not reported yet */
};

/* A connection. */
struct borrower_opened {
	uint64_t id;
	int inner,
		outer; /* non-blocking stream sockets, the callee's: to the client, to the host */
	const char *program, *why; /* as of struct lend_open; they live until the callee returns */
};

typedef void borrower_open(struct borrower_host *h, const struct borrower_opened *o);
/* What the relay answers, by LEND_ANSWER. Negative: it breaks a rule. */
typedef int borrower_answered(struct borrower *b, uint64_t id, const void *body, size_t len);

/* The vault gives another value for a name than before. */
typedef int borrower_renewed(
	struct borrower *b, const struct lend_grant *g, const struct vault_message *m);
/* A frame of the lender, which lives in the borrower's. Negative: it breaks a rule. */
typedef int borrower_told(struct borrower *b, const struct frame *f);

/* Static and locked: values pass through its frame. */
struct borrower {
	struct loop *loop;
	struct ssl_ctx_st *client; /* how hosts are verified */
	struct authority *authority;
	struct placeholders *placeholders;
	struct lend_grant grants[LEND_MAX]; /* texts in `setup` */
	size_t n_grants;
	struct borrower_host hosts[LEND_MAX];
	size_t n_hosts;
	borrower_answered *answered; /* NULL: it asks nothing */
	borrower_told *told;         /* NULL: its lender says nothing */
	borrower_renewed *renewed;

	/* private */
	const char *program;
	borrower_open *open;
	struct watcher control, relay;
	int ended;
	struct frame frame;
	struct secret room; /* for a message to the vault */
	struct buffer setup;
	uint64_t asked; /* the vault, so often */
	struct renewal renewal;
	struct borrower_use *uses;
	size_t n_uses, cap_uses;
	struct timer report;
};

/*
 * Until it knows what it may do: confined, with a loop, grants and hosts. authorities: files with
 * those that hosts are verified by; NULL is behind the last.
 */
int borrower_begin(struct borrower *b, enum process_role role, const char *const *authorities,
	struct error *e);
/* NULL: no grant names it. */
struct borrower_host *borrower_find_host(struct borrower *b, const char *target);
/*
 * Asks the vault for a value for one place, and with VAULT_FIELD for one field: the vault judges it
 * once more, and records it. The answer lives in the frame, until borrower_wipe().
 */
int borrower_ask(struct borrower *b, const struct lend_grant *g, uint32_t place, const char *field,
	struct vault_message *ret, struct error *e);
void borrower_wipe(struct borrower *b);
/* Only the question: *ret_id is that of its answer. state: of the value that is here, as the vault
 * said it; NULL: there is none, or a new one is needed. */
int borrower_send_ask(struct borrower *b, const struct lend_grant *g, uint32_t place,
	const char *field, const char *state, uint64_t *ret_id);
/* Keeps a value by the secret's name, and makes what stands for it; once for each name. */
int borrower_keep(struct borrower *b, const char *name, const void *value, size_t len);
/* Whether the value of a name is the one that an answer of the vault has. */
bool borrower_has(const struct borrower *b, const char *name, const struct vault_message *m);
/* No value is here any more; what stands for them stays. */
void borrower_forget(struct borrower *b);
/* Programs matter for this host from now on: the relay is to look for them. */
void borrower_need_programs(struct borrower_host *h);
/* Another value for a name that was kept; what stands for it stays. */
int borrower_renew(struct borrower *b, const char *name, const struct vault_message *m);
/* NULL: it was not kept. */
const struct placeholder *borrower_find(const struct borrower *b, const char *name);
/* Says that it is ready, and serves until its lender hangs up. */
int borrower_serve(struct borrower *b, borrower_open *open, struct error *e);
/* If r is negative, says why in place of that it is ready. Returns r. */
int borrower_end(const struct borrower *b, int r, struct error *e);

/* What of a grant is left now, for one place. */
enum borrower_verdict {
	BORROWER_REFUSED, /* the vault grants it no more, or it has expired */
	BORROWER_LOCKED,  /* the vault is */
	BORROWER_OTHER,   /* it is granted to other programs; *ret_programs has them */
	BORROWER_GRANTED,
};
/* program: as of struct lend_open. */
enum borrower_verdict borrower_judge(const struct borrower *b, const struct lend_grant *g,
	uint32_t place, const char *program, const char **ret_programs);
/* To the client, and the user. */
#define BORROWER_LOCKED_TEXT "the vault is locked, and %s goes nowhere until `corral vault unlock`"
/* While it serves. The first use of a kind is reported at once, others are counted for a while.
 * True: it is the first. */
bool borrower_note_use(struct borrower *b, const struct borrower_use *use);
/* The same of one that is not sent because of the program, with a note on the first. granted: to
 * which programs. */
void borrower_note_program(struct borrower *b, const struct borrower_use *use, const char *granted,
	const char *program, const char *why);
/* Why a connection failed. If the lender does not read, notes are lost, and no connection waits. */
void borrower_note(const struct borrower_host *h, const char *text);
