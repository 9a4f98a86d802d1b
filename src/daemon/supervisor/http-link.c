/* SPDX-License-Identifier: Apache-2.0 */
/* What is sent to corrald-http. Who holds that process (http-process.c) acts on what comes of it.
 */
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/http-process.h"
#include "daemon/supervisor/supervisor.h"

bool http_link_has_room(const struct supervisor *s)
{
	return s->http.child.pid != 0 && outbox_is_empty(&s->http.out);
}

void http_link_flush(struct supervisor *s)
{
	struct http_process *p = &s->http;

	/* What it says lives in its frame, so it is not ended before all of that is heard. */
	if (p->child.pid == 0 || p->is_heard)
		return;
	if (!p->out.broken && loop_change(s->loop, &p->link,
				      EPOLLIN | (outbox_is_empty(&p->out) ? 0 : EPOLLOUT)) < 0)
		p->out.broken = true;
	p->flushed(s);
}

int http_link_send_tab(struct supervisor *s, const struct message_tab *t)
{
	auto_buffer body = { 0 };
	int r = message_tab_encode(t, &body);

	if (r == 0)
		outbox_add(&s->http.out, FRAME_API_TAB, 0, body.data, body.len, -1);
	return r;
}

int http_link_add_tab(struct supervisor *s, const struct message_tab *t)
{
	s->http.tabs.rows[s->http.tabs.n++ % PROOF_TABS_MAX] = *t;
	return http_link_send_tab(s, t);
}
