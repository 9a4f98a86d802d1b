/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A monitor between a loop and a front that is this test: it sends frames, and hears answers. */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "broker/call.h"
#include "broker/monitor/monitor.h"
#include "broker/rpc.h"
#include "wire/broker.h"
#include "wire/frame.h"

struct stage {
	struct loop *loop;
	struct monitor *monitor;
	int front, theirs; /* ours, the monitor's */
	struct broker_setup setup;
	bool is_lost;
	int lost_code;
	struct frame frame;
	struct arena arena;   /* of the last answer */
	struct values answer; /* results, refusal or notes */
	struct rpc_refusal why;
	char folder[64]; /* a scratch folder, granted as $WORK_DIR */
	const char *layer;
	char *layers[2];
};

/* Permissions as JSON, with $WORK_DIR for the folder. */
void stage_make(struct stage *s, const char *permissions);
/* The same with a setup that the test has filled further (s->setup). */
void stage_start(struct stage *s, const char *permissions);
void stage_remove(struct stage *s);

/* Sends a call; parameters by their places. */
void stage_call(struct stage *s, uint64_t id, enum method_id m, uint32_t flags,
	const struct values *params);
void stage_send(struct stage *s, enum frame_type type, uint64_t id, const void *body, size_t len);
/* Turns until a frame comes; false: the monitor has given the front up. */
bool stage_hear(struct stage *s);
/* Until its answer comes, which is decoded by the method's row. */
void stage_answer(struct stage *s, uint64_t id, enum method_id m);
void stage_refused(struct stage *s, uint64_t id, enum rpc_class class);
/* The monitor has given the front up, for that reason. */
void stage_lost(struct stage *s, int code);
/* A new front. */
void stage_reconnect(struct stage *s);

/* Parameters */
struct value stage_text(enum schema_type type, const char *text);
/* A file in the folder. */
void stage_write(const struct stage *s, const char *name, const char *text);
const char *stage_path(const struct stage *s, const char *name);
