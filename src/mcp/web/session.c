/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "codec/encoding.h"
#include "mcp/web/internal.h"

bool web_session_is_idle(const struct web_session *s)
{
	return !s->listener && s->n_exchanges == 0 && s->server.n_calls == 0;
}

/* Room for one more of this principal: its own that is idle longest goes. */
static bool session_make_room(struct web *w, size_t principal)
{
	struct web_session *oldest = NULL;
	size_t n = 0;

	for (struct link *l = w->sessions.next; l != &w->sessions; l = l->next) {
		struct web_session *s = container_of(l, struct web_session, link);

		if (s->principal != principal || s->is_over)
			continue;
		n++;
		if (web_session_is_idle(s) && (!oldest || s->used_ms < oldest->used_ms))
			oldest = s;
	}
	if (n < WEB_SESSIONS_MAX)
		return true;
	if (oldest)
		oldest->is_over = true;
	return oldest;
}

int web_session_new(struct web *w, size_t principal, const struct mcp_message *m,
	struct web_session **ret, struct buffer *why)
{
	unsigned char bytes[WEB_ID / 2];
	struct web_session *s;
	int r;

	if (!session_make_room(w, principal))
		return -EBUSY;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	r = w->o.host->open(w->o.host->context, &s->server, principal, m, why);
	if (r < 0) {
		free(s);
		return r;
	}
	s->web = w;
	s->principal = principal;
	randombytes_buf(bytes, sizeof(bytes));
	encoding_hex(bytes, sizeof(bytes), s->id);
	link_init(&s->link);
	link_append(&w->sessions, &s->link);
	web_session_touch(s);
	*ret = s;
	return 0;
}

struct web_session *web_session_find(struct web *w, size_t principal, const char *id)
{
	struct web_session *found = NULL;

	if (strlen(id) != WEB_ID)
		return NULL;
	for (struct link *l = w->sessions.next; l != &w->sessions; l = l->next) {
		struct web_session *s = container_of(l, struct web_session, link);

		if (sodium_memcmp(s->id, id, WEB_ID) == 0 && s->principal == principal &&
			!s->is_over)
			found = s;
	}
	return found;
}

void web_session_touch(struct web_session *s)
{
	s->used_ms = loop_now(s->web->loop);
}
