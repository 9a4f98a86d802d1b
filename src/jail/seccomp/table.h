/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the filters say, as data: which rule each call falls under, and what the rules ask of the
 * arguments; and a table as a program of classic BPF, in memory of the caller's, without allocation
 * and in microseconds.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/filter.h>

#include "jail/seccomp/seccomp.h"

enum {
	SECCOMP_NUMBERS = 512, /* call numbers from here on get the filter's last word */
	SECCOMP_CONDITIONS = 3,
	SECCOMP_VALUES = 7, /* of a condition */
	SECCOMP_NONE = -1,  /* this architecture has no such call */
	SECCOMP_PROGRAM_MAX = 768,
	SECCOMP_VERDICTS = 16,
};

/* The zero rule denies: a call that is forgotten is a call that is missing. */
enum seccomp_rule {
	RULE_ENOSYS,
	RULE_EPERM,
	RULE_EOPNOTSUPP,
	RULE_KILL,
	RULE_ALLOW,
	/* From here on arguments count. */
	RULE_CLONE,
	RULE_CLONE_CLOSED,
	RULE_CLONE_WATCHED, /* the base filter's, where notify_install() may follow */
	RULE_FCNTL,
	RULE_IOCTL,
	RULE_KEYCTL,
	RULE_MEMFD_NOEXEC,
	RULE_MODE_1,
	RULE_MODE_2,
	RULE_OPEN,
	RULE_OPENAT,
	RULE_MKNOD,
	RULE_MKNODAT,
	RULE_MOVE_PAGES,
	RULE_NOTIFY, /* notify.h */
	RULE_NOTIFY_FSTATAT,
	RULE_NOTIFY_STATX,
	RULE_NOTIFY_CLONE,
	RULE_NOTIFY_UNSHARE,
	RULE_PERSONALITY,
	RULE_PRCTL,
	RULE_PRLIMIT64,
	RULE_SETRLIMIT,
	RULE_PRIORITY,
	RULE_SCHEDULE,
	RULE_SECCOMP,
	RULE_SENDMMSG,
	RULE_SENDMSG,
	RULE_SENDTO,
	RULE_SETSOCKOPT,
	RULE_SOCKET,
	RULE_SOCKET_INET,
	RULE_SOCKET_UNIX,
	RULE_SOCKET_NO_UNIX,
	RULE_SOCKETPAIR,
	RULE_SOCKETPAIR_FIXED,
	RULE_UNSHARE,
	RULE_UNSHARE_CLOSED,
	RULE_UNSHARE_WATCHED,
	RULES,
};

/*
 * Holds if one half of an argument, masked, is one of the values; with `below`, if it is less than
 * the only one. No values: always holds.
 */
struct seccomp_condition {
	uint8_t arg;
	bool high; /* the upper 32 bits, for the few arguments that the kernel reads as 64 */
	bool below;
	uint8_t n;
	uint32_t mask; /* 0: all bits */
	uint32_t values[SECCOMP_VALUES];
};

/* The first clause whose conditions all hold gives the verdict (a SECCOMP_RET_* value). */
struct seccomp_clause {
	uint32_t verdict;
	struct seccomp_condition when[SECCOMP_CONDITIONS];
};

struct seccomp_rule_text {
	uint32_t otherwise;
	size_t n;
	const struct seccomp_clause *clauses;
};

struct seccomp_arch {
	uint32_t audit; /* AUDIT_ARCH_* */
	bool x32;       /* numbers with bit 30 are a second architecture in disguise */
	size_t column;  /* of the calls' numbers */
};
extern const struct seccomp_arch seccomp_x86_64, seccomp_aarch64;
extern const struct seccomp_arch *const seccomp_native; /* of this build */

/* The name is no pointer, so that the table needs no relocation at each start. */
struct seccomp_call {
	char name[24];
	int16_t numbers[2];
	uint8_t rule;
};
extern const struct seccomp_call seccomp_calls[];
extern const size_t seccomp_n_calls;

/* A whole filter: the rule of each number, and of all numbers above. */
struct seccomp_table {
	const struct seccomp_arch *arch;
	uint8_t rest;
	uint8_t rules[SECCOMP_NUMBERS];
};

const struct seccomp_rule_text *seccomp_rule_text(enum seccomp_rule rule);
void seccomp_table_base(struct seccomp_table *ret, const struct seccomp_arch *arch,
	const struct seccomp_options *o);
void seccomp_table_close(struct seccomp_table *ret, const struct seccomp_arch *arch, bool watched);

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

/* Makes the program and installs it; flags as seccomp() has them. Needs no_new_privs or
 * CAP_SYS_ADMIN; async-signal-safe. A negative errno, or what the kernel returned. */
int seccomp_install(const struct seccomp_table *t, unsigned long flags);
