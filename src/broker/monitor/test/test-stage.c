/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/test/test-stage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "test/scratch.h"
#include "test/unit.h"

enum { TURNS_MAX = 3000, TURN_MS = 20 };

static void stage_on_lost(void *context, int code)
{
	struct stage *s = context;

	s->is_lost = true;
	s->lost_code = code;
}

void stage_reconnect(struct stage *s)
{
	int pair[2];

	fd_close(&s->front);
	if (s->theirs >= 0)
		assert_int_equal(monitor_connect(s->monitor, -1), 0);
	fd_close(&s->theirs);
	assert_int_equal(frame_pair(pair), 0);
	s->front = pair[0];
	s->theirs = pair[1];
	assert_int_equal(fcntl(s->front, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(s->theirs, F_SETFL, O_NONBLOCK), 0);
	s->is_lost = false;
	assert_int_equal(monitor_connect(s->monitor, s->theirs), 0);
}

void stage_start(struct stage *s, const char *permissions)
{
	struct corral_error *e = NULL;
	int r;

	s->front = s->theirs = -1;
	(void)snprintf(s->folder, sizeof(s->folder), "/tmp/corral-monitor-XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	s->layers[0] = strdup(permissions);
	s->setup.layers = (const char *const *)s->layers;
	s->setup.n_layers = 1;
	s->setup.variables.values[VARIABLE_WORK_DIR] = s->folder;
	s->setup.variables.values[VARIABLE_HOME] = "/nonexistent";
	s->setup.folder = s->folder;
	if (!s->setup.log)
		s->setup.log = "";
	s->setup.session = s->setup.sandbox = s->setup.token = "";
	s->setup.warden = getenv("CORRAL_WARDEN") ? getenv("CORRAL_WARDEN") : "";
	assert_int_equal(loop_new(&s->loop), 0);
	r = monitor_new(
		&s->monitor, &(struct monitor_options){ .setup = &s->setup, .loop = s->loop }, &e);
	if (r == 0)
		r = monitor_enter(s->monitor, -1, &e);
	if (r < 0)
		fail_msg("no monitor: %s", corral_error_message(e));
	monitor_on_lost(s->monitor, stage_on_lost, s);
	stage_reconnect(s);
}

void stage_make(struct stage *s, const char *permissions)
{
	*s = (struct stage){ 0 };
	stage_start(s, permissions);
}

void stage_remove(struct stage *s)
{
	monitor_free(s->monitor);
	loop_free(s->loop);
	frame_deinit(&s->frame);
	fd_close(&s->front);
	fd_close(&s->theirs);
	arena_deinit(&s->arena);
	free(s->layers[0]);
	scratch_remove(s->folder);
}

void stage_send(struct stage *s, enum frame_type type, uint64_t id, const void *body, size_t len)
{
	assert_int_equal(frame_send(s->front, type, id, body, len, NULL, 0), 0);
}

void stage_call(
	struct stage *s, uint64_t id, enum method_id m, uint32_t flags, const struct values *params)
{
	const struct broker_call call = { .method = &method_rows[m],
		.flags = flags,
		.pid = (uint32_t)getpid(),
		.uid = getuid(),
		.params = *params };
	auto_buffer body = { 0 };

	assert_int_equal(call_encode(&call, &body), 0);
	stage_send(s, FRAME_CALL, id, body.data, body.len);
}

bool stage_hear(struct stage *s)
{
	for (int i = 0; i < TURNS_MAX && !s->is_lost; i++) {
		int r = frame_receive(s->front, &s->frame);

		if (r == 1)
			return true;
		assert_true(r == -EAGAIN || r == 0);
		assert_int_equal(loop_turn(s->loop, TURN_MS), 0);
	}
	if (!s->is_lost)
		fail_msg("the monitor did not answer");
	return false;
}

static void stage_decode(struct stage *s, const struct schema_field *fields)
{
	/* The frame's memory is good until the next one. */
	arena_deinit(&s->arena);
	assert_int_equal(
		values_decode(fields, s->frame.body, s->frame.len, &s->arena, &s->answer), 0);
}

void stage_answer(struct stage *s, uint64_t id, enum method_id m)
{
	if (!stage_hear(s))
		fail_msg("the front was given up: %d", s->lost_code);
	assert_int_equal(s->frame.id, id);
	if (s->frame.type == FRAME_CALL_REFUSED) {
		stage_decode(s, rpc_refusal_fields);
		assert_int_equal(rpc_refusal_read(&s->answer, &s->why), 0);
		fail_msg("refused: %s", s->why.message);
	}
	assert_int_equal(s->frame.type, FRAME_CALL_ANSWER);
	stage_decode(s, method_rows[m].results);
}

void stage_refused(struct stage *s, uint64_t id, enum rpc_class class)
{
	if (!stage_hear(s))
		fail_msg("the front was given up: %d", s->lost_code);
	assert_int_equal(s->frame.id, id);
	assert_int_equal(s->frame.type, FRAME_CALL_REFUSED);
	stage_decode(s, rpc_refusal_fields);
	assert_int_equal(rpc_refusal_read(&s->answer, &s->why), 0);
	if (s->why.class != class)
		fail_msg("class %d, not %d: %s", s->why.class, class, s->why.message);
}

void stage_lost(struct stage *s, int code)
{
	for (int i = 0; i < TURNS_MAX && !s->is_lost; i++)
		assert_int_equal(loop_turn(s->loop, TURN_MS), 0);
	assert_true(s->is_lost);
	assert_int_equal(s->lost_code, code);
}

struct value stage_text(enum schema_type type, const char *text)
{
	return (struct value){ .type = type, .text = text, .len = strlen(text) };
}

const char *stage_path(const struct stage *s, const char *name)
{
	static char paths[4][256];
	static unsigned n;
	char *path = paths[n++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", s->folder, name);
	return path;
}

void stage_write(const struct stage *s, const char *name, const char *text)
{
	FILE *f = fopen(stage_path(s, name), "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}
