/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Names in messages of the DNS: labels with their lengths, and pointers to names further in front.
 */
#include <stdbool.h>

#include "net/dns/cursor.h"
#include "net/dns/message.h"

/* The header, which no name lies in, and the most that a name takes on the wire. */
enum { DNS_HEADER_BYTES = 12, DNS_NAME_WIRE_MAX = 255 };

/*
 * Reads the name at the cursor, which goes behind it, in the form of dns_question.name
 * (dns/message.h). -EINVAL: it is none. The cursor is then anywhere.
 */
int dns_name_read(struct dns_cursor *c, char out[DNS_NAME_BYTES], bool *ret_odd);
/* Writes a name of that form, without pointers. -EINVAL: it is none; nothing was written. */
int dns_name_write(struct dns_writer *w, const char *name);
