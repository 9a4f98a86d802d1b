/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What libcorral and the worker of a WASM skill say to each other, by the worker's standard input
 * and output: a call, then its answer, one after the other. Before the first call the worker
 * answers once, that the module is loaded or why not.
 *
 * A head of fixed size, and then bytes, as many as the head says. Whoever reads trusts no number:
 * heads out of bounds are refused before anything is allocated. The worker may have been taken
 * over by its module, so an answer is foreign text.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SKILL_CALL_INPUT_MAX = 16 << 20,
	SKILL_CALL_ARGS_MAX = 1 << 20,
	SKILL_CALL_ANSWER_MAX = 16 << 20,
	SKILL_CALL_PRINTED_MAX = 64 << 10, /* what is more is counted and dropped */
};

struct skill_call {
	uint32_t args_len;  /* of a WASI command: its arguments, each with a NUL */
	uint32_t input_len; /* what `handle` gets, or the command's standard input */
	uint32_t time_ms;   /* after which the worker stops the module; 0: never */
};

struct skill_answer {
	int32_t status; /* 0 to 255: as corral-wasm exits (docs/wasm-abi.md) */
	uint32_t flags; /* SKILL_ANSWER_… */
	uint32_t answer_len;
	uint32_t printed_len; /* what the module printed for people, and why it was stopped */
};
enum {
	SKILL_ANSWER_CUT = 1 << 0, /* the answer was longer than SKILL_CALL_ANSWER_MAX */
	SKILL_ANSWER_PRINTED_CUT = 1 << 1,
	SKILL_ANSWER_TIMED_OUT = 1 << 2, /* its time was up; then the status is 124 */
	SKILL_ANSWER_FLAGS = 7,
};

/* False: no honest peer sends this. */
bool skill_call_is_valid(const struct skill_call *c);
bool skill_answer_is_valid(const struct skill_answer *a);

/* How many arguments there are; -EPROTO if the last has no end. */
int skill_call_count_args(const char *args, size_t len);
