/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The bodies of FRAME_EXITED, FRAME_READY, FRAME_REFUSED / FAILED / GONE: what came of it. */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "wire/frame.h"

/* How a limit was held. */
enum report_by {
	REPORT_BY_NOTHING = 0, /* not asked for */
	REPORT_BY_CGROUP,      /* the kernel, for the whole command */
	REPORT_BY_RLIMIT,      /* the kernel, per process (memory), or per sandbox (pids) */
	REPORT_BY_POLLING,     /* looked at several times a second */
};

enum {
	REPORT_TIMED_OUT = 1 << 0,
	REPORT_OUT_OF_MEMORY = 1 << 1,
	REPORT_TOO_MANY_PIDS = 1 << 2,
	REPORT_KILLED = 1 << 3, /* on request */
	/* It failed, and something was sent to where nothing is: without a network that is where
	 * other hosts and name servers are. Told of the only command of a session. */
	REPORT_UNHEARD = 1 << 4,
	REPORT_FLAGS = 31,
};

struct report {
	int32_t exit_code; /* if signal is 0 */
	int32_t signal;
	uint32_t flags;
	uint32_t memory_by, pids_by; /* enum report_by */
	uint32_t output_error;       /* why not all output could be written: errno, or 0 */
	uint64_t wall_us, user_us, system_us;
	uint64_t peak_bytes; /* of memory: of the largest process, or of all with a cgroup */
};

/* The last is none of the kernel: nothing is confined, as CONFIGURE_NONE asks for. */
enum { READY_TIER_MIN = 1, READY_TIER_NONE = 5, READY_TIER_MAX = READY_TIER_NONE };

struct ready {
	uint32_t tier;     /* what the kernel lets us hold: 1 is everything, 0 is not a tier */
	uint32_t reserved; /* 0 */
};

/* Why something was not done: an errno value (positive) and a sentence with a hint. */
struct refusal {
	int32_t error;
	const char *text; /* points into the body */
	const char *hint; /* "" if there is none */
};

/*
 * Reports and readiness are sent as they are. -EPROTO: another size, unknown flags, values out of
 * range, or something in what is reserved.
 */
int report_decode(struct report *ret, const void *body, size_t len);
int ready_decode(struct ready *ret, const void *body, size_t len);
/* NULL is "". -EINVAL: error is no errno value; -E2BIG; -ENOMEM. */
int refusal_encode(const struct refusal *r, struct buffer *out);
int refusal_decode(struct refusal *ret, const void *body, size_t len);
/* Sends a frame of one of these types with an error's sentence and hint. */
int refusal_send(int socket, enum frame_type type, int error, const struct error *e);
