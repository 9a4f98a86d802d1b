/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/session/putting.h"

#include "base/buffer.h"

void session_putting_begin(struct session_putting *p, uint64_t id)
{
	*p = (struct session_putting){ .id = id };
}

int session_putting_grants(
	struct session_putting *p, struct session *s, const struct live_grant *grants, size_t n)
{
	int r = session_grant(s, p->id, grants, n);

	p->broker_waits = r == 0;
	return r;
}

int session_putting_network(struct session_putting *p, struct session *s, struct change *c,
	const struct live_grant *grants, size_t n)
{
	auto_buffer body = { 0 };
	int r;

	c->n_grants = 0;
	change_add_grants(c, grants, n);
	r = change_encode(c, &body);
	if (r == 0)
		r = session_change(s, p->id, body.data, body.len);
	p->relay_waits = r == 0;
	return r;
}

void session_putting_refuse(struct session_putting *p, int code, const char *text)
{
	if (p->code == 0)
		p->code = error_set(&p->why, code, NULL, "%s", text);
}

bool session_putting_waits(const struct session_putting *p)
{
	return p->relay_waits || p->broker_waits;
}

bool session_putting_heard(struct session_putting *p, const struct session_event *e)
{
	bool *waits = e->kind == SESSION_POLICY ? &p->relay_waits : &p->broker_waits;

	if (e->kind != SESSION_POLICY && e->kind != SESSION_GRANTS && e->kind != SESSION_BROKER)
		return false;
	if (!*waits || (e->kind != SESSION_BROKER && e->id != p->id))
		return false;
	*waits = false;
	if (e->kind != SESSION_BROKER && e->refusal.error)
		session_putting_refuse(p, -e->refusal.error, e->refusal.text);
	return !session_putting_waits(p);
}
