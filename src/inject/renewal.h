/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Values change while they are lent: they expire, or the user changes the vault. Each is asked for
 * again shortly before its time is over, and all are when the lender says that the vault has
 * changed (LEND_CHANGED); then what is as it was is not given once more, so no source is asked for
 * it. The vault's answers come through the loop: connections go on meanwhile with what they have.
 * What the vault does not grant any more, or to another program, is not sent any more; a vault that
 * was locked takes all values away until it is unlocked. If it cannot answer for another reason,
 * the value stays and it is asked later.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/loop.h"
#include "vault/message.h"
#include "wire/lend.h"

struct borrower;

enum renewal_state { RENEWAL_GOOD, RENEWAL_REFUSED, RENEWAL_LOCKED };

enum renewal_due {
	RENEWAL_NOT_DUE,
	RENEWAL_CHECK, /* if it has changed */
	RENEWAL_ASK,
};

/* A value that was asked for, for one place. */
struct renewal_want {
	const struct lend_grant *grant;
	uint32_t place;
	char *field;          /* with VAULT_FIELD; else NULL */
	uint64_t expires_s;   /* 0: never */
	enum renewal_due due; /* in this round */
	bool is_refused, has_failed;
	char state[VAULT_STATE_MAX + 1]; /* of the value that is here; "": none is */
	char *programs;                  /* that the vault grants it to now; NULL: to any */
};

struct renewal {
	struct renewal_want *wants;
	size_t n, cap;
	uint32_t refused[LEND_MAX]; /* places, by the place of the grant */
	bool is_locked;
	struct watcher vault;
	struct timer timer;
	struct renewal_want *asked; /* NULL: none is */
	uint64_t id;                /* of that question */
	bool is_serving;
};

/* Zeroed before. */
void renewal_init(struct renewal *n);
/* A value was given by that answer: it is kept up to date from now on. -ENOMEM. */
int renewal_want(struct borrower *b, const struct lend_grant *g, uint32_t place, const char *field,
	const struct vault_message *m);
/* The loop turns from now on. */
int renewal_begin(struct borrower *b);
/* The vault has changed: all are asked for. */
void renewal_ask_all(struct borrower *b);
/* Asks for what is due next, if nothing is asked for. */
void renewal_next(struct borrower *b);
/* An answer of the vault is in the borrower's frame. 1: it was to a question of renewal. */
int renewal_hear(struct borrower *b);
/* What has become of it since. */
enum renewal_state renewal_look(
	const struct borrower *b, const struct lend_grant *g, uint32_t place);
/* NULL: the vault grants it to that program, too; else to which it does. */
const char *renewal_find_other(
	const struct borrower *b, const struct lend_grant *g, uint32_t place, const char *program);
