/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/join-missed.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "audit/missed.h"
#include "holder/join-kept.h"

int join_missed_place(struct buffer *out)
{
	int r = -ENOENT;

	if (geteuid() == 0 && !secure_getenv("XDG_RUNTIME_DIR"))
		r = audit_missed_place(true, out);
	if (r < 0 || access(buffer_text(out), F_OK) < 0) {
		buffer_clear(out);
		r = audit_missed_place(false, out);
		if (r == 0 && access(buffer_text(out), F_OK) < 0)
			r = -errno;
	}
	return r;
}

int join_missed_open(struct holder_join *j)
{
	int r = j->missed.len || j->folder >= 0 ? 0 : join_missed_place(&j->missed);

	if (r == 0 && j->folder < 0)
		r = audit_missed_open(buffer_text(&j->missed), &j->folder);
	return r;
}

bool join_is_unwanted(int error)
{
	return error == -ENOENT || error == -EPERM || error == -EACCES || error == -ELOOP ||
	       error == -ENOTDIR;
}

/* With its length. */
static size_t join_missed_bytes(const struct holder_join_frame *f)
{
	return f->type == FRAME_JOIN_EVENT ? sizeof(uint32_t) + f->body.len : 0;
}

bool join_collect_missed(const struct holder_join *j, struct buffer *bytes,
	struct holder_weights *lost, struct audit_event *ret_last)
{
	size_t need[HOLDER_WEIGHT_COUNT + 1] = { 0 }; /* of what is as heavy, or heavier, still */
	const struct holder_weights before = *lost;
	bool is_any = false;

	for (uint64_t i = j->first; i < j->next; i++)
		for (size_t w = 0; w <= join_kept(j, i)->weight; w++)
			need[w] += join_missed_bytes(join_kept(j, i));
	for (uint64_t i = j->first; i < j->next; i++) {
		const struct holder_join_frame *f = join_kept(j, i);

		for (size_t w = 0; w <= f->weight; w++)
			need[w] -= join_missed_bytes(f);
		if (f->type != FRAME_JOIN_EVENT ||
			audit_event_decode(ret_last, f->body.data, f->body.len) < 0)
			continue;
		is_any = true;
		/* Once one does not fit, those of its weight after it are left out, too. */
		if (lost->n[f->weight] > before.n[f->weight] ||
			!audit_missed_add(bytes, f->body.data, f->body.len,
				JOIN_LOST_BYTES + need[f->weight + 1]))
			lost->n[f->weight]++;
	}
	return is_any;
}

struct audit_event join_lost(
	const struct audit_event *like, const struct holder_weights *lost, struct buffer *reason)
{
	struct audit_event e = *like;

	buffer_adds(reason, "events were dropped while the daemon was away: ");
	holder_weights_print(lost, reason);
	e.action = AUDIT_STORE;
	e.decision = AUDIT_NONE;
	e.target = "daemon";
	e.reason = buffer_text(reason);
	e.rule = "";
	e.count = holder_weights_sum(lost);
	return e;
}
