/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Permissions as a macOS Seatbelt profile: the text that sandbox-exec -p takes. Pure text, made and
 * tested on any system; nothing here needs macOS.
 *
 * Only what Seatbelt holds exactly is written. The rest is refused with -EOPNOTSUPP and a sentence
 * that says what and why, never widened. It knows two hosts, any and localhost: names and addresses
 * are refused, and `*` is written with a comment, as it reaches private networks too. Of a command
 * only the program counts (`git push:*` is refused), and a bare name is looked for in the folders
 * that macOS protects (/usr/bin …). HTTP methods, URL paths, rates and sizes are refused. Rules
 * become the same order in reverse; `ask` cannot ask and denies.
 *
 * Environment, services and limits are no matter of the profile: whoever starts the program holds
 * them.
 */
#include "base/error.h"

struct buffer;
struct permissions;
struct variables;

/*
 * Appends a profile that denies everything but p (and what every program on macOS needs to start).
 * On failure *out holds no part of it. -ENOENT if a variable has no value.
 */
int seatbelt_print(const struct permissions *p, const struct variables *vars, struct buffer *out,
	struct error *e);
/*
 * The other shape, for a whole agent whose permissions (agent_mode_permissions) leave reading,
 * programs and the network open: everything is allowed, but writes only where p grants them.
 * -EINVAL if p is not as open as that.
 */
int seatbelt_print_agent(const struct permissions *p, const struct variables *vars,
	struct buffer *out, struct error *e);
