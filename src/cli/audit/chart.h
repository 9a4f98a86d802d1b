/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Bars on a terminal: of eighths of a block where the locale has them, of `#` elsewhere. */
#include <stdbool.h>
#include <stdint.h>

#include "cli/output.h"

struct audit_chart {
	unsigned columns; /* of a line; 80 where there is no terminal */
	bool has_blocks;
};

/* For what goes to fd. */
struct audit_chart audit_chart_for(int fd);
/* n of max as a bar of `width` cells at most; what is not 0 is seen. Not padded. */
void audit_chart_bar(const struct audit_chart *c, struct output *o, enum output_style style,
	uint64_t n, uint64_t max, unsigned width);
