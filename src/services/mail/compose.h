/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From the parameters of email.send to a mail: its text, and to whom it goes. Every address is read
 * (broker/service/mailbox.h) and bounded in number; nothing of the parameters becomes a header but
 * To, Cc and Subject.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "broker/service/mailbox.h"
#include "broker/value.h"
#include "services/mail/message.h"

/* Places of the parameters in the row of email.send. */
enum compose_parameter {
	COMPOSE_TO,
	COMPOSE_CC,
	COMPOSE_BCC,
	COMPOSE_SUBJECT,
	COMPOSE_BODY,
	COMPOSE_ATTACHMENTS,
};

struct composed {
	struct buffer text;    /* of the mail; the caller's */
	const char *const *to; /* addresses: each recipient once, in the arena */
	size_t n_to;
	const char *id; /* Message-ID, without < > */
};

/*
 * files: as many as there are attachments, in their order; their names are taken from the
 * parameters. -EINVAL: a parameter is wrong, and *ret_why (in the arena) says which. -ENOMEM,
 * -ELIBACC.
 */
int compose_mail(const struct values *params, const struct mailbox *from,
	struct message_file *files, size_t n_files, struct arena *a, struct composed *ret,
	const char **ret_why);
