/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Secrets that are lent to one sandbox, between those who take part:
 *
 *     LEND_SETUP  lender -> injector, holder, first: which secrets may go where; then
 *     LEND_READY  injector -> lender -> holder: what stands for each secret inside, and the
 *                 certificate to trust there; fds, of the lender's: the relay's socket
 *     LEND_FILE   lender -> holder, before LEND_READY: a file as it is shown inside
 *     LEND_OPEN   relay -> injector; body: the host and the program; fds: a stream to the
 *                 client, a connection; id: of the connection, if its requests are to be judged
 *     LEND_ASK    injector -> relay; id: of the connection: may this request pass?
 *     LEND_ANSWER relay -> injector; the same id, and the request's number
 *     LEND_NOTE   injector -> lender -> holder: why a connection failed
 *     LEND_USE    injector -> lender: where a placeholder was, and whether its value went in
 *     LEND_TOKENS injector -> lender: values of a login, with what stands for them; id: the login
 *     LEND_STORED lender -> injector: a lend_answer: the vault has them, or why not
 *     LEND_CHANGED lender -> injector: no body; the vault has changed
 *     LEND_PROGRAM injector -> relay: a HOST:PORT, and a zero byte; a secret is granted to
 *                 programs there from now on, so LEND_OPEN is to have them
 *     LEND_TURN   injector -> lender: a lend_answer, whose text is the login's name: a request of
 *                 that login is to go, when none of another run is under way
 *     LEND_TURN   lender -> injector: a lend_answer: it may go, or why not
 *     LEND_OVER   injector -> lender: as LEND_TURN: it has gone, or will not
 *     LEND_CONSENT lender -> holder: a question to the user
 *     LEND_AGREED holder -> lender: a lend_answer
 *
 * Values are in LEND_TOKENS alone, which fits into a packet: the injector has all others from
 * corral-vault (vault/message.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum {
	LEND_MAX = 1024,
	LEND_TEXT_MAX = 1024,
	LEND_PROGRAMS_MAX = 4096,
	LEND_FILE_MAX = 64 << 10,
	LEND_RELAYS_MAX = 2, /* sockets beside LEND_READY: for HTTP, for databases */
};

/* In `places`: the host's requests are judged one by one (network.inspect). It has no name. */
#define LEND_INSPECT (1U << 31)
/* In `places`: the host answers with the tokens of a login of this name, at the path in `fields`.
 * Alone. */
#define LEND_LOGIN (1U << 30)
/* In `places`: the vault has no such grant yet; it comes with the tokens of a login. */
#define LEND_LATER (1U << 29)

/* In `places`, alone: a login to a database (VAULT_POSTGRESQL). */
#define LEND_DATABASE 32U

/* A secret, and one host that it may go to. */
struct lend_grant {
	const char *name, *host; /* HOST:PORT, as vault/format.h has it */
	uint32_t places;         /* VAULT_HEADER … */
	const char *fields;      /* with VAULT_FIELD: as vault/format.h has them; else "" or NULL */
	const char *programs;    /* alone may use it: as vault/format.h has them; "", NULL: any */
};

/* A secret, and what stands for it. */
struct lend_item {
	const char *name, *text;
};

struct lend_ready {
	const char *certificate; /* PEM */
	size_t n;
	struct lend_item items[LEND_MAX];
};

struct lend_note {
	const char *host, *text;
};

/* A file with placeholders in place of its secrets. */
struct lend_file {
	const char *path; /* absolute */
	const char *text;
};

/* Placeholders of one secret, on the way to one host, in one place. */
struct lend_use {
	const char *name, *host;
	uint32_t place; /* VAULT_HEADER …; 0: where no value goes, such as the path */
	uint32_t is_sent;
	uint64_t count;
	/* Not sent because of the program: its path, or why it is not known, in brackets. "" or
	 * NULL: that is not why. */
	const char *program;
};

/* A connection to a host with secrets. */
struct lend_open {
	const char *host;    /* HOST:PORT */
	const char *program; /* its absolute path; "" or NULL: not known, or not asked for */
	const char *why;     /* it is not known: a sentence behind "because"; "" or NULL */
};

enum {
	LEND_PATH_MAX = 4095,
	LEND_QUERY_MAX = 2048, /* one that is cut off is longer than any that is shown */
	LEND_METHOD_MAX = 64,
	LEND_ANSWER_MAX = 4 << 10,
};

/* A request inside TLS, as net/gate/http-requests.h reads it. */
struct lend_request {
	uint64_t number; /* chosen by the injector, for the answer */
	uint32_t port;   /* 0: not said */
	bool has_query, upgrades;
	const char *method, *host, *path, *query, *upgrade_to;
};

struct lend_answer {
	uint64_t number;
	bool is_allowed;
	const char *text; /* why not; "" if it is allowed */
};

/* The tokens of a login, and what is added to its name for theirs: "", "_REFRESH", "_ID". */
enum lend_token_kind {
	LEND_TOKEN_ACCESS,
	LEND_TOKEN_REFRESH,
	LEND_TOKEN_ID,
	LEND_TOKENS_MAX,
};
extern const char *const lend_token_suffixes[LEND_TOKENS_MAX];
/* Whether a name is that of a token of this login. */
bool lend_token_is(const char *login, enum lend_token_kind kind, const char *name);

enum { LEND_STAND_IN_MAX = 9 << 10, LEND_VALUE_MAX = 8 << 10 };

/* Texts of visible ASCII; "" both: there is none. */
struct lend_token {
	const char *stand_in, *value;
};

struct lend_tokens {
	uint64_t number;   /* chosen by the injector, for the answer */
	const char *login; /* its name */
	bool is_refresh;   /* of what the vault has by that name */
	struct lend_token items[LEND_TOKENS_MAX];
};

/* What the user is asked: may the vault keep the tokens of a login? */
struct lend_consent {
	uint64_t number;
	bool replaces;         /* values that the vault has */
	const char *login;     /* the name */
	const char *place;     /* HOST:PORT/PATH, that answered with them */
	const char *hosts;     /* that they may go to, with blanks between them */
	const char *principal; /* the sandbox, as grants name it */
};

/* They append. -E2BIG, -EINVAL: more, or longer, than the bounds; -ENOMEM. */
int lend_setup_encode(const struct lend_grant *grants, size_t n, struct buffer *out);
int lend_ready_encode(const struct lend_ready *r, struct buffer *out);
int lend_note_encode(const struct lend_note *n, struct buffer *out);
int lend_file_encode(const struct lend_file *file, struct buffer *out);
int lend_use_encode(const struct lend_use *u, struct buffer *out);
int lend_open_encode(const struct lend_open *o, struct buffer *out);
int lend_request_encode(const struct lend_request *q, struct buffer *out);
int lend_answer_encode(const struct lend_answer *a, struct buffer *out);
int lend_tokens_encode(const struct lend_tokens *t, struct buffer *out);
int lend_consent_encode(const struct lend_consent *c, struct buffer *out);
/* Texts point into the body. -EPROTO: they break a rule. */
int lend_setup_decode(struct lend_grant ret[LEND_MAX], size_t *ret_n, const void *body, size_t len);
int lend_ready_decode(struct lend_ready *ret, const void *body, size_t len);
int lend_note_decode(struct lend_note *ret, const void *body, size_t len);
int lend_file_decode(struct lend_file *ret, const void *body, size_t len);
int lend_use_decode(struct lend_use *ret, const void *body, size_t len);
int lend_request_decode(struct lend_request *ret, const void *body, size_t len);
int lend_answer_decode(struct lend_answer *ret, const void *body, size_t len);
int lend_open_decode(struct lend_open *ret, const void *body, size_t len);
/*
 * Hosts, each once, of grants whose places are just these; or, if is_others, of all others. ret and
 * ret_by_program have room for n; the latter says where a grant for the host names programs. How
 * many.
 */
size_t lend_hosts(const struct lend_grant *grants, size_t n, uint32_t places, bool is_others,
	const char **ret, bool *ret_by_program);
int lend_tokens_decode(struct lend_tokens *ret, const void *body, size_t len);
int lend_consent_decode(struct lend_consent *ret, const void *body, size_t len);
