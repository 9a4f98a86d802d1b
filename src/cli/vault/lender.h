/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Lends secrets to one sandbox: a process between `corral run` (by descriptor 3), corral-vault and
 * corral-inject and corral-postgres. It is hidden from other processes of the user, which the
 * holder of a session cannot be before its sandbox is made. Values do not pass through it, but for
 * those of sources, and of tokens of a login (lender-oauth.c).
 */
#include "cli/vault/login-word.h"
#include "cli/vault/session.h"
#include "mask/mask.h"
#include "wire/lend.h"

enum { LENDER_LOGINS_MAX = 64, LENDER_OAUTH_MAX = 16 };

/* A secret of a file that is shown masked. */
struct lender_login {
	const char *name, *key;
	const struct mask_file *file;
};

/* A login inside, of --login, whose tokens are kept. */
struct lender_oauth {
	struct login_word word;
	int turn;                  /* a lock that other runs wait for; -1: there is none */
	bool is_waiting;           /* for that lock */
	uint64_t id, number;       /* of the injector's, whose turn it is */
	uint64_t until;            /* when it is over anyway, as of event/wait.h */
	int socket;                /* the injector's */
	bool has[LEND_TOKENS_MAX]; /* the vault has a token of this kind */
};

/* Tokens that wait until the user agrees. */
struct lender_tokens {
	struct lender_oauth *of; /* NULL: none wait */
	uint64_t id, number;     /* of the injector */
	int socket;              /* the injector's */
	struct secret body;      /* of LEND_TOKENS */
};

struct lender {
	struct vault_session *session; /* without a vault, if nothing of it is lent */
	const char *principal;         /* the sandbox, as grants name it */
	/* NAME=HOST:PORT,PLACE or with ,PROGRAM: of secrets that are named here, no more than this
	 * is lent. */
	struct options_list within;
	struct options_list tries; /* names that are lent if they can be */
	/* HOST:PORT, of network.inspect: needs no vault. */
	struct options_list inspect;
	struct options_list tokens; /* words of --login */
	struct lend_grant grants[LEND_MAX];
	size_t n;
	struct lender_login logins[LENDER_LOGINS_MAX];
	size_t n_logins;
	struct lender_oauth oauth[LENDER_OAUTH_MAX];
	size_t n_oauth;
	struct lender_tokens waiting;
	unsigned n_asked;
};

/* Adds what a word asks for: NAME, or NAME=HOST:PORT. secrets: of VAULT_LIST. */
int lender_add(struct lender *l, const struct node *secrets, const char *word);
/* The same, but what is not there, or may go nowhere, is left out. */
int lender_try(struct lender *l, const struct node *secrets, const char *name);
/* A host whose requests are judged, whether a secret goes there or not. */
int lender_inspect(struct lender *l, const char *host);
/* Of a secret that is lent: its file, if it is of one. source: as the vault has it. */
int lender_add_login(struct lender *l, const char *name, const char *source);
/* Files with the placeholders of LEND_READY in place of secrets, to the holder. */
int lender_send_files(const struct lender *l, const void *body, size_t len);
/* Of LEND_USE: records it. */
int lender_record_use(struct lender *l, const void *body, size_t len);
/* lender-oauth.c. A word of --login: what the vault has of it, and where its tokens may go. */
int lender_add_oauth(struct lender *l, const struct node *secrets, const char *word);
/* Of LEND_TOKENS, by the socket of the injector: keeps them, asks first, or says why not. */
int lender_take_tokens(struct lender *l, int socket, uint64_t id, const void *body, size_t len);
/* lender-turns.c. Of LEND_TURN and LEND_OVER: one request of a login at a time, in all runs. */
int lender_take_turn(struct lender *l, int socket, uint64_t id, const void *body, size_t len);
int lender_end_turn(struct lender *l, const void *body, size_t len);
/* Whose turn has come meanwhile, or has been too long. */
int lender_look_turns(struct lender *l);
/* How long until that is to be called, in ms; -1: not at all. */
int lender_turns_wait(const struct lender *l);
struct lender_oauth *lender_find_oauth(struct lender *l, const char *name);
/* Of LEND_AGREED. */
int lender_take_agreement(struct lender *l, const void *body, size_t len);
/* The secret of this name, of VAULT_LIST; NULL: there is none. */
const struct node *lender_find(const struct node *secrets, const char *name);
/* Of a grant of the vault, what the policies allow, too. 1: something is left, 0: nothing. */
int lender_put_narrowed(struct lender *l, const struct lend_grant *g);
/* Once, whatever asks for it. */
int lender_put(struct lender *l, const struct lend_grant *g);
/* Until the holder hangs up. */
int lender_serve(struct lender *l);
