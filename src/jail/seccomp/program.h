/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A table as a program of classic BPF, in memory of the caller's, without allocation and in
 * microseconds.
 */
#include <stddef.h>
#include <stdint.h>

#include <linux/filter.h>

#include "jail/seccomp/table.h"

enum {
	SECCOMP_PROGRAM_MAX = 768,
	SECCOMP_VERDICTS = 16,
};

/* Code is written from the end of the array towards its start: see seccomp/program.c. */
struct seccomp_program {
	size_t first; /* the program is code[first] to the end */
	struct {
		uint32_t value;
		size_t at; /* 0: not written yet */
	} verdicts[SECCOMP_VERDICTS];
	size_t rules[RULES]; /* where each begins; 0: not written yet */
	struct sock_filter code[SECCOMP_PROGRAM_MAX];
};

/* -E2BIG if it does not fit; there is no program then. */
int seccomp_program_make(struct seccomp_program *p, const struct seccomp_table *t);

static inline struct sock_filter *seccomp_program_code(struct seccomp_program *p)
{
	return p->code + p->first;
}

static inline size_t seccomp_program_length(const struct seccomp_program *p)
{
	return SECCOMP_PROGRAM_MAX - p->first;
}
