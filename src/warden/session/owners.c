/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each init sees the processes of its own command alone: all are asked, and the one that finds the
 * socket is right. The relay waits, but not for long: what is lost here needs no answer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warden/session/internal.h"
#include "wire/owner.h"
#include "wire/record.h"

void session_tell_owner(const struct session *s, uint64_t id, const char *name)
{
	if (s->relay.pid != 0)
		(void)frame_send(s->relay.socket, FRAME_OWNER, id, name, strlen(name), NULL, 0);
}

static void session_tell_program(const struct session *s, const struct owner_program *p)
{
	if (s->relay.pid != 0)
		(void)frame_send(s->relay.socket, FRAME_OWNER, p->id, p, sizeof(*p), NULL, 0);
}

/* The program was not found (wire/owner.h). If there is one command only, it was that, or a child
 * of it. */
const char *session_only_program(const struct session *s)
{
	const struct command *c = s->commands;
	const bool is_only = c && !c->next && c->program;

	return is_only && strlen(c->program) < RECORD_PROGRAM_MAX ? c->program : "";
}

size_t session_ask_owners(struct session *s, const struct owner_question *q)
{
	struct session_owner *o = &s->owners[q->id % SESSION_OWNERS_MAX];
	struct owner_program *program = NULL;
	size_t n = 0;

	if (q->wants_program) {
		program = calloc(1, sizeof(*program));
		if (!program)
			return 0;
		program->id = q->id;
	}
	for (const struct command *c = s->commands; c; c = c->next)
		if (c->started && !c->ended && c->socket >= 0)
			n += frame_send(c->socket, FRAME_OWNER, c->id, q, sizeof(*q), NULL, 0) == 0;
	free(o->program);
	*o = (struct session_owner){ q->id, n, program };
	return n;
}

int session_on_owner_question(struct session *s)
{
	struct owner_question q;
	int r = owner_question_decode(&q, s->frame.body, s->frame.len);

	if (r == 0 && q.id & SESSION_OWNER_OF_NAME)
		r = -EPROTO;
	if (r < 0 || session_ask_owners(s, &q) > 0)
		return r;
	if (q.wants_program)
		session_tell_program(s, &(struct owner_program){ .id = q.id });
	else
		session_tell_owner(s, q.id, "");
	return 0;
}

int session_on_owner_answer(struct session *s, struct owner_answer *ret)
{
	struct session_owner *o;
	int r = owner_answer_decode(ret, s->frame.body, s->frame.len);

	if (r < 0)
		return r;
	o = &s->owners[ret->id % SESSION_OWNERS_MAX];
	if (o->program)
		return -EPROTO;
	if (o->id != ret->id || (--o->n > 0 && !*ret->name))
		return 0;
	*o = (struct session_owner){ 0 };
	return 1;
}

/* Commands can hand descriptors to each other: what the processes of two have is of neither. */
static void session_join_program(struct owner_program *all, const struct owner_program *one)
{
	if (one->found == OWNER_NOT_FOUND || all->found == OWNER_UNSURE)
		return;
	if (all->found == OWNER_FOUND && one->found == OWNER_FOUND &&
		strcmp(all->text, one->text) != 0) {
		char text[OWNER_TEXT_BYTES] = "";

		(void)snprintf(text, sizeof(text),
			"two programs have the connection, %.400s and %.400s", all->text,
			one->text);
		all->found = OWNER_UNSURE;
		memcpy(all->text, text, sizeof(text));
		return;
	}
	*all = *one;
}

int session_on_owner_program(struct session *s)
{
	struct owner_program one;
	struct session_owner *o;
	int r = owner_program_decode(&one, s->frame.body, s->frame.len);

	if (r < 0)
		return r;
	o = &s->owners[one.id % SESSION_OWNERS_MAX];
	if (o->id != one.id)
		return 0;
	if (!o->program)
		return -EPROTO;
	session_join_program(o->program, &one);
	if (--o->n > 0)
		return 0;
	session_tell_program(s, o->program);
	free(o->program);
	*o = (struct session_owner){ 0 };
	return 0;
}

void session_forget_owners(struct session *s)
{
	for (size_t i = 0; i < SESSION_OWNERS_MAX; i++) {
		free(s->owners[i].program);
		s->owners[i] = (struct session_owner){ 0 };
	}
}
