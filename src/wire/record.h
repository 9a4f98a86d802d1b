/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * FRAME_RECORD: what became of an attempt to connect, from the relay to the warden
 * and on to the host.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

enum record_kind {
	RECORD_DENIED, /* the connection was denied */
	RECORD_FAILED, /* allowed, but it could not be reached: `reason` */
	RECORD_CLOSED, /* a connection or flow is over: the bytes */
};

/* By name or by address, as it was asked for. Texts are never NULL. */
struct record {
	enum record_kind kind;
	bool dns;            /* the name was asked for, nothing was connected */
	const char *target;  /* "api.example.com:443", "udp://1.2.3.4:123", "unix:/run/x", a name */
	const char *name;    /* "" for a literal address */
	const char *address; /* that was dialled, or was asked for; "" if it is not known */
	uint16_t port;
	const char *rule, *reason, *remedy;
	uint64_t sent, received; /* RECORD_CLOSED: bytes from and to the sandbox */
	uint64_t count;          /* how often: 0 counts as 1 */
	uint32_t pid;            /* as the sandbox's processes see it from outside; 0: not known */
	const char *program;     /* "" if it is not known */
	bool is_told;            /* not sent: the user has heard of it already */
};

enum { RECORD_TEXT_MAX = 4096 };
/*
 * NULL is "". -EMSGSIZE: the texts are longer than RECORD_TEXT_MAX together, their NULs included.
 * -EINVAL: there is no such kind. -ENOMEM.
 */
int record_encode(const struct record *r, struct buffer *out);
/* The texts point into body; the count is at least 1. -EPROTO: it makes no sense. */
int record_decode(struct record *ret, const void *body, size_t len);
