/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What is expected of the filters, written down apart from their data: test-seccomp.c makes the
 * calls, test/test-program.c asks the programs of both architectures.
 *
 * Arguments are chosen so that a call does no harm even as root and without a filter, and fails
 * there in another way (a bad pointer, no such descriptor) wherever it can.
 */
#include <stddef.h>
#include <stdint.h>

#include "jail/seccomp/table.h"

struct seccomp_case {
	const char *name;
	uint64_t args[6];
	int base;   /* the filter's errno; 0: the call goes through */
	int closed; /* the same with both filters */
};

extern const struct seccomp_case seccomp_cases[];
extern const size_t seccomp_n_cases;
/* With no_memfd_exec. */
extern const struct seccomp_case seccomp_noexec_cases[];
extern const size_t seccomp_n_noexec_cases;

/* The number of a call; SECCOMP_NONE if the architecture has none. -2: no such name. */
int seccomp_case_number(const char *name, const struct seccomp_arch *arch);
