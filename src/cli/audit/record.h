/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* One record with all that it has to say, a field in each line. */
#include "audit/store/log.h"
#include "cli/output.h"

void audit_record_add(struct output *o, const struct audit_row *row);
/* "3f2a…": bytes as hexadecimal digits. */
void audit_record_hex(struct buffer *out, const uint8_t *bytes, size_t len);
