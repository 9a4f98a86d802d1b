/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A mail as text, by RFC 5322 and MIME. All of its form is made here: a caller gives texts and
 * bytes, which stand encoded in it, so that none of them can end a line, a header or a part. Lines
 * end with CR LF and have at most 78 characters (998 where a name or address is long), all of
 * ASCII; none begins with a dot.
 *
 * Recipients who are not to be seen (Bcc) are no part of it. Pure.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/service/mailbox.h"

struct buffer;

enum {
	MESSAGE_SUBJECT_MAX = 512, /* bytes */
	MESSAGE_ID_MAX = 320,
	MESSAGE_BOUNDARY_BYTES = 33, /* with the NUL */
};

struct message_file {
	const char *name; /* without folders */
	const void *data;
	size_t len;
};

struct message {
	struct mailbox from;
	const struct mailbox *to, *cc;
	size_t n_to, n_cc;
	const char *subject, *body; /* UTF-8; message_text_fault() has nothing against them */
	const char *id;             /* "RANDOM@DOMAIN" */
	int64_t date;               /* seconds since 1970 */
	/* Letters and digits that cannot be guessed: what stands between parts. */
	char boundary[MESSAGE_BOUNDARY_BYTES];
	const struct message_file *files;
	size_t n_files;
};

/* Why this cannot be a subject; NULL: it can. One line, no control characters. */
const char *message_subject_fault(const char *subject, size_t len);
/* Appends it. -ENOMEM. */
int message_print(const struct message *m, struct buffer *out);
