/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a command gets beside its program: limits, and an environment (host/environment.h). */
#include "host/environment.h"
#include "policy/variable.h"
#include "wire/start.h"

/* The least of what the policy says and what is said beside it: nothing widens a policy. */
void launch_limits(const struct policy *p, const struct limits *more, struct limits *ret);
/* -EPERM: one of those that hold a whole command is 0, so nothing may run. */
int launch_limits_check(const struct limits *l, struct error *e);
/* As the frame that starts the command has them. */
void launch_limits_start(const struct limits *l, struct start *ret);
/* The same in a broker's setup (wire/broker.h), where 0 is none. */
void launch_limits_broker(const struct limits *l, struct limits *ret);

/*
 * environment_build(), with what the options leave out: HOME and the account's name, and for
 * temporary files the host's folder where that may be written, else one of the command's own.
 */
int launch_environment(struct environment_options o, const struct variables *v, struct arena *a,
	const char *const **ret, size_t *ret_n, struct error *e);
