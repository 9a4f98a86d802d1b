/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A mailbox as mail has it: an address, and a name to show beside it. Only what every mail server
 * reads in one and the same way is taken:
 *
 *     bob@example.com        Bob Example <bob@example.com>        bob@bücher.example
 *
 * RFC 5322 and 5321 have more, and all of it is refused: lists, groups, comments, quoted parts,
 * source routes (@a,@b:c@d, and by % and !), addresses of hosts in brackets, folded lines. Each was
 * a way to have one program check another recipient than the next one sends to.
 *
 * A domain is kept as DNS has it (A-labels, small letters), by the function that policies use, so
 * that the address that is compared is the address that is sent to. Pure.
 */
#include <stddef.h>

struct buffer;

enum {
	MAILBOXES_MAX = 50,        /* recipients of one mail */
	MAILBOX_LOCAL_MAX = 64,    /* RFC 5321, 4.5.3.1.1 */
	MAILBOX_ADDRESS_MAX = 254, /* a path has 256 bytes with its brackets */
	MAILBOX_NAME_MAX = 128,    /* bytes of UTF-8 */
	MAILBOX_TEXT_MAX = 2048,   /* that is looked at; a domain in UTF-8 may be long */
};

struct mailbox {
	char name[MAILBOX_NAME_MAX + 1]; /* "": none */
	char address[MAILBOX_ADDRESS_MAX + 1];
};

/*
 * Reads one. -EINVAL: it is none, and *ret_why (a text for ever, to be put behind "the address") is
 * the reason. -ENOMEM; -ELIBACC: the library for international names is missing.
 */
int mailbox_parse(struct mailbox *ret, const char *text, size_t len, const char **ret_why);
/* Appends the form that mailbox_parse() reads as the same. */
void mailbox_print(const struct mailbox *m, struct buffer *out);
/* The part behind the @. */
const char *mailbox_domain(const struct mailbox *m);
