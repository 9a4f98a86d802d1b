/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the files of this folder share. */
#include "mcp/remote/remote.h"

/* NULL: there is no memory, or there are too many. The body is copied. */
struct remote_exchange *remote_add(
	struct remote *b, enum remote_kind kind, const char *body, size_t len);
/* No more is wanted of it. */
void remote_drop(struct remote *b, struct remote_exchange *x);
/* The exchange of a request that has no answer yet; NULL: there is none. */
struct remote_exchange *remote_find(const struct remote *b, const struct node *id);
/* An answer to the client. id: as JSON; empty: null. */
void remote_put_error(struct remote *b, const struct buffer *id, int code, const char *text);
/* The same for a request that is open, which it ends. */
void remote_refuse(struct remote *b, struct remote_exchange *x, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A line for people; a server that is never quiet does not fill their screen. */
void remote_say(struct remote *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Lines that waited, up to the next one that others wait for. */
void remote_pass_queue(struct remote *b);
/* Once there is a handshake: asks for the server's own messages. */
void remote_listen(struct remote *b);
/* The server has forgotten the session: makes another. */
void remote_renew(struct remote *b);
/* An answer came, or none will: what waited for it goes on. */
void remote_open_gate(struct remote *b, const struct remote_exchange *x);
