/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A record as a line for a person:
 *
 *     11:29:22 denied  net.connect   evil.example.net:443                curl 1f2e3d4… #17
 *              nothing in network.allow grants it
 *
 * On a terminal it fits the width, and the day stands above the first line that is of it. Elsewhere
 * nothing is cut and each line has its date.
 */
#include <stdbool.h>

#include "audit/store/log.h"
#include "cli/output.h"

struct audit_line {
	unsigned columns; /* 0: no terminal */
	char day[20];     /* of the line before */
};

/* For lines that go to fd. */
struct audit_line audit_line_for(int fd);
void audit_line_add(struct audit_line *l, struct output *o, const struct audit_row *row);
/* "denied" in its colour. */
void audit_line_decision(struct output *o, enum audit_decision d);
/* All that a record has to say, a field in each line. */
void audit_line_add_record(struct output *o, const struct audit_row *row);
/* The beginning of such a line: the name of the field. */
void audit_line_field(struct output *o, const char *name);
