/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Rows of a log for other programs, one line each: JSON Lines, OCSF, CEF, CSV. */
#include "audit/log.h"

enum audit_format { AUDIT_JSONL, AUDIT_OCSF, AUDIT_CEF, AUDIT_CSV, AUDIT_FORMAT_COUNT };

const char *audit_format_name(enum audit_format f);
int audit_format_parse(const char *word);
/* What comes before the first row: "" but for CSV. */
const char *audit_export_head(enum audit_format f);
void audit_export_row(enum audit_format f, const struct audit_row *r, struct buffer *out);
