/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the table of methods says of itself: for people, for programs and for shells. */
#include "base/buffer.h"
#include "broker/method.h"

/* All methods, a line each. */
void help_list(struct buffer *out);
/* All of the table, as JSON: what documents, dictionaries and other clients are made of. */
void help_list_json(struct buffer *out);
/* One method with its parameters and results. */
void help_method(struct buffer *out, const struct method *m, bool by_shield);
/* What can follow, one word a line: names of methods, or of the parameters of one. */
void help_complete(struct buffer *out, const char *method);
