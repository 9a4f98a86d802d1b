/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that commands without a network ask for. The process that answers them (warden/asked.h)
 * reports each before it answers it: it becomes an event with the program that asked, which all
 * inits are asked for (owners.c), and then it may be answered. Why it is denied is the holder's to
 * say. The process reads what commands send, so what it reports is checked, and decides nothing.
 */
#include <errno.h>

#include "base/fd.h"
#include "warden/session/internal.h"

enum { NAMES_AT_ONCE = 64 };

static void names_report(struct session *s, struct record *record)
{
	record->kind = RECORD_DENIED;
	record->dns = true;
	record->name = record->target;
	record->address = record->rule = record->remedy = "";
	session_report(
		s, &(struct session_event){ .kind = SESSION_RECORD, .fd = -1, .record = record });
}

static void names_record(struct session *s, const char *program)
{
	struct session_names *n = &s->names;
	struct record record = { .target = n->name.name,
		.reason = "",
		.program = *program ? program : session_only_program(s) };

	if (n->owner == 0)
		return;
	n->owner = 0;
	names_report(s, &record);
	asked_done(&n->asked);
}

static void names_take(struct session *s)
{
	struct session_names *n = &s->names;
	struct owner_question q = { .port = n->name.port, .is_udp = true };

	q.id = n->owner = ++n->last_owner | SESSION_OWNER_OF_NAME;
	if (session_ask_owners(s, &q) == 0)
		names_record(s, "");
}

void session_hear_names(struct session *s)
{
	struct session_names *n = &s->names;
	struct asked_name name;

	for (int i = 0; n->asked.link >= 0 && i < NAMES_AT_ONCE; i++) {
		const int r = asked_hear(&n->asked, &name);

		if (r == 0)
			return;
		/* It does not wait for ever: the one before is recorded without its program. */
		names_record(s, "");
		if (r < 0) {
			loop_remove(s->loop, &s->names_watch);
			names_report(s, &(struct record){ .target = "*",
						.reason = "the process that records names ended",
						.program = "" });
			return;
		}
		n->name = name;
		names_take(s);
	}
}

void session_name_owner(struct session *s, uint64_t owner, const char *program)
{
	if (owner == s->names.owner)
		names_record(s, program);
}

void session_settle_names(struct session *s)
{
	session_hear_names(s);
	names_record(s, "");
}

int session_on_names(struct session *s)
{
	if (s->frame.n_fds != 1 || s->frame.len != 0 || s->names.asked.link >= 0)
		return -EPROTO;
	s->names.asked.link = frame_take_fd(&s->frame, 0);
	return 0;
}
