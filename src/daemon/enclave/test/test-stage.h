/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* An enclave of corrald with its folder, calls to it, and the events that it tells. */
#include "test/unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/enclave/bridge.h"
#include "daemon/enclave/policy.h"
#include "daemon/enclave/reply.h"
#include "test/scratch.h"

struct stage {
	struct bridge bridge; /* first: an event finds its stage by it */
	struct buffer told;   /* "TYPE JSON\n" for each */
	char root[4096], folder[4200], work[4200];
};

static inline bool stage_hear(struct bridge *b, const char *type, const struct buffer *json)
{
	struct stage *s = (struct stage *)b;

	buffer_printf(&s->told, "%s %s\n", type, buffer_text(json));
	return !s->told.failed;
}

static inline void stage_file(const char *folder, const char *name, const char *text)
{
	char path[9000];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

/* Folders alone: files may be put there before stage_open(). */
static inline void stage_make(struct stage *s)
{
	char template[] = "/tmp/corral-test-bridge-XXXXXX", state[4300];

	*s = (struct stage){ .bridge.tell = stage_hear };
	assert_int_equal(scratch_make(template, s->root), 0);
	(void)snprintf(s->folder, sizeof(s->folder), "%s/daemon", s->root);
	(void)snprintf(s->work, sizeof(s->work), "%s/work", s->root);
	(void)snprintf(state, sizeof(state), "%s/state", s->root);
	assert_int_equal(mkdir(s->folder, 0700), 0);
	assert_int_equal(mkdir(s->work, 0700), 0);
	/* No daemon but this one, and no log of the user's. */
	assert_int_equal(setenv("XDG_RUNTIME_DIR", state, 1), 0);
	assert_int_equal(setenv("XDG_STATE_HOME", state, 1), 0);
	assert_int_equal(setenv("HOME", s->root, 1), 0);
}

static inline void stage_open(struct stage *s)
{
	assert_int_equal(policy_open(&s->bridge, s->folder), 0);
	policy_refresh(&s->bridge);
}

/* enclave.yaml: reads, writes and runs in the folder "work", and what is in `more`. */
static inline void stage_begin(struct stage *s, const char *more)
{
	auto_buffer text = { 0 };

	stage_make(s);
	buffer_printf(&text, "fs: {read: [%s/**, /usr/**, /lib/**, /lib64/**, /bin/**, /etc/**]",
		s->work);
	buffer_printf(&text, ", write: [%s/**]}\n%s", s->work, more);
	stage_file(s->folder, "enclave.yaml", buffer_text(&text));
	stage_open(s);
}

static inline void stage_end(struct stage *s)
{
	policy_close(&s->bridge);
	buffer_deinit(&s->told);
	assert_int_equal(scratch_remove(s->root), 0);
}

/* A call with pairs of name and value, up to NULL. The answer is in *ret until reply_end(). */
static inline void stage_call(struct stage *s, struct reply *ret,
	void (*handle)(struct bridge *b, struct reply *c), const struct route *route, ...)
{
	const char *name;
	va_list values;

	*ret = (struct reply){ .call.route = route, .status = 200 };
	va_start(values, route);
	while ((name = va_arg(values, const char *))) {
		size_t i = 0;

		while (route->fields[i].name && strcmp(route->fields[i].name, name) != 0)
			i++;
		assert_non_null(route->fields[i].name);
		ret->call.values[i] = va_arg(values, const char *);
	}
	va_end(values);
	handle(&s->bridge, ret);
}

static inline void reply_end(struct reply *c)
{
	buffer_deinit(&c->json);
}

/* Answers with that status, and with that text in it. */
#define answers(s, status_, text_, ...)                                                        \
	do {                                                                                   \
		struct reply reply_;                                                           \
		stage_call((s), &reply_, __VA_ARGS__, (const char *)NULL);                     \
		if (reply_.status != (status_) || !strstr(buffer_text(&reply_.json), (text_))) \
			fail_msg("%u: %s", reply_.status, buffer_text(&reply_.json));          \
		reply_end(&reply_);                                                            \
	} while (0)
