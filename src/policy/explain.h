/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A decision in words: why, which rule, and what would change it. Foreign text is made visible. */
#include "policy/policy.h"

struct buffer;

/* One sentence without a full stop: "nothing grants it", "fs.deny denies /srv/secret/**" … */
void explain_reason(const struct request *r, const struct decision *d, struct buffer *out);
/* "policy.yaml:3: /srv/**", or nothing where no rule decided. */
void explain_rule(const struct decision *d, struct buffer *out);
/*
 * The smallest line of permissions that would allow it, ready to be merged into the layer that
 * denied it: fs: {read: ["/etc/hosts"]}. Nothing if no line can (a rule denies it, the baseline
 * forbids it for good).
 */
void explain_line(const struct request *r, const struct decision *d, struct buffer *out);
/* "add LINE to FILE": how a line gets into what a layer, which may be NULL, was read from. */
void explain_where(const struct layer *l, const char *line, struct buffer *out);
/* What to do, as a sentence; nothing if it is allowed. */
void explain_remedy(const struct request *r, const struct decision *d, struct buffer *out);
/*
 * A remedy of a layer that has no file, because it is built in, as the option of corral run that
 * joins it: "--read", and the text of its value in `value`. *rest is what follows in the remedy.
 * NULL, and outputs untouched: there is a file, or the value would have to be escaped.
 */
const char *explain_option(const char *remedy, struct buffer *value, const char **rest);
/* The lines of operation_rows. */
operation_line explain_line_file, explain_line_host, explain_line_command, explain_line_name,
	explain_line_service, explain_line_secret;
