/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * email.send before it goes to its back end: recipients become the one form that everybody reads
 * alike (broker/service/mailbox.h), and attachments are read with the caller's rights.
 */
#include "broker/monitor/services.h"

/*
 * Replaces the words of all targets by mailboxes as they are printed. -EINVAL: *ret_wrong (in the
 * call's arena) says which is none. -ENOMEM.
 */
int mail_read_recipients(struct monitor_call *c, const char **ret_wrong);
/* The address of such a word, in the arena; NULL: out of memory. */
const char *mail_address(struct arena *a, const char *word);
/* Attachments: each is a sealed memfd beside the call. */
services_preparation mail_prepare;
