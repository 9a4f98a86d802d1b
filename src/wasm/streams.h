/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where the standard streams of a module lead during one call: to those of the worker, or, in a
 * worker that serves, into memory, from where they become the answer of the call.
 */
#include <stdbool.h>
#include <stddef.h>
#include <wasi.h>

#include "base/buffer.h"
#include "base/error.h"

struct streams {
	bool is_kept; /* the rest counts then */
	const char *const *args;
	size_t n_args; /* of a command, its name first */
	const void *input;
	size_t input_len;      /* of a command */
	struct buffer answer;  /* what a command prints; of a skill, its answer */
	struct buffer printed; /* what is for people */
	unsigned flags;        /* SKILL_ANSWER_… */
};

void streams_deinit(struct streams *s);
/* What is for people: of a skill all that it prints, of a command its standard error. */
void streams_print(struct streams *s, const void *bytes, size_t len);
/* Leads WASI's streams there. */
void streams_configure(struct streams *s, wasi_config_t *c, bool is_command);
