/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A back end for tests: it stands where corral-desktop would, and does to the monitor what the
 * title of the notification says. "tell" writes what it was given to the file that the body names.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "broker/call.h"
#include "broker/rpc.h"
#include "broker/service/setup.h"
#include "wire/frame.h"

enum { SOCKET = 3 };

static struct service_setup setup;

static void send_values(enum frame_type type, uint64_t id, const struct schema_field *fields,
	const struct values *v)
{
	auto_buffer body = { 0 };

	if (values_encode(fields, v, &body) < 0 ||
		frame_send(SOCKET, type, id, body.data, body.len, NULL, 0) < 0)
		_exit(3);
}

static void answer(uint64_t id)
{
	struct values v = { 0 };

	v.v[0] = value_number(SCHEMA_FLAG, 1);
	send_values(FRAME_CALL_ANSWER, id, method_rows[METHOD_NOTIFICATIONS_SEND].results, &v);
}

static void refuse(enum frame_type type, uint64_t id, const char *message, const char *hint)
{
	const struct rpc_refusal why = { .class = RPC_SERVICE, .message = message, .hint = hint };
	const struct values v = rpc_refusal_values(&why);

	send_values(type, id, rpc_refusal_fields, &v);
}

static void say_pid(uint64_t id)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%d", (int)getpid());
	refuse(FRAME_CALL_REFUSED, id, text, NULL);
}

static void tell(uint64_t id, const char *path)
{
	FILE *f = fopen(path, "we");

	if (!f)
		_exit(4);
	(void)fprintf(f, "backend=%s\nsandbox=%s\nlayers=%zu\n", setup.backend, setup.sandbox,
		setup.n_layers);
	for (size_t i = 0; i < setup.n_config; i++)
		(void)fprintf(f, "%s=%s\n", setup.config[i].key, setup.config[i].text);
	for (char **v = environ; *v; v++)
		(void)fprintf(f, "env %s\n", *v);
	(void)fclose(f);
	answer(id);
}

static void garbage(uint64_t id)
{
	static const char bytes[] = "\377\377\377\377garbage that is no value";

	(void)frame_send(SOCKET, FRAME_CALL_ANSWER, id, bytes, sizeof(bytes), NULL, 0);
}

static void forge_id(uint64_t id)
{
	answer(id + 1000);
}

static void answer_twice(uint64_t id)
{
	answer(id);
	answer(id);
}

static void send_call(uint64_t id)
{
	(void)frame_send(SOCKET, FRAME_CALL, id, NULL, 0, NULL, 0);
}

static void send_descriptor(uint64_t id)
{
	const int fd = 0;

	(void)frame_send(SOCKET, FRAME_CALL_ANSWER, id, NULL, 0, &fd, 1);
}

static void send_note(uint64_t id)
{
	(void)frame_send(SOCKET, FRAME_CALL_NOTE, id, NULL, 0, NULL, 0);
}

static void send_ready(uint64_t id)
{
	(void)id;
	(void)frame_send(SOCKET, FRAME_READY, 0, NULL, 0, NULL, 0);
}

static void die(uint64_t id)
{
	(void)id;
	(void)raise(SIGKILL);
}

static void hang(uint64_t id)
{
	(void)id;
	for (;;)
		(void)pause();
}

/* Waits for the cancel, and goes on. */
static void ignore(uint64_t id)
{
	(void)id;
}

static const struct {
	const char *title;
	void (*act)(uint64_t id);
} acts[] = {
	{ "answer", answer },
	{ "pid", say_pid },
	{ "garbage", garbage },
	{ "forge", forge_id },
	{ "twice", answer_twice },
	{ "call", send_call },
	{ "descriptor", send_descriptor },
	{ "note", send_note },
	{ "ready", send_ready },
	{ "die", die },
	{ "hang", hang },
	{ "ignore", ignore },
};

static void take_call(const struct frame *f)
{
	auto_arena a = { 0 };
	struct broker_call c;
	const char *title;

	if (call_decode(&c, f->body, f->len, &a) < 0)
		_exit(5);
	title = c.params.v[0].text;
	if (strcmp(title, "tell") == 0)
		tell(f->id, c.params.v[1].text);
	for (size_t i = 0; i < ROWS(acts); i++)
		if (strcmp(title, acts[i].title) == 0)
			acts[i].act(f->id);
}

int main(void)
{
	static struct frame first, f;
	struct arena a = { 0 };

	if (frame_receive(SOCKET, &first) != 1 || first.type != FRAME_SERVICE ||
		service_setup_decode(&setup, first.body, first.len, &a) < 0)
		return 2;
	/* By the name of the sandbox: it fails, or dies, before it serves. */
	if (strcmp(setup.sandbox, "fails") == 0) {
		refuse(FRAME_FAILED, 0, "there is no bus", "start one");
		return 0;
	}
	if (strcmp(setup.sandbox, "dies") == 0)
		return 1;
	if (frame_send(SOCKET, FRAME_READY, 0, NULL, 0, NULL, 0) < 0)
		return 2;
	while (frame_receive(SOCKET, &f) == 1) {
		if (f.type == FRAME_CALL)
			take_call(&f);
		else if (f.type == FRAME_CALL_CANCEL)
			refuse(FRAME_CALL_REFUSED, f.id, "cancelled", NULL);
	}
	return 0;
}
