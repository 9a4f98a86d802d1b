/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Rows of a log for other programs, one line each: JSON Lines, OCSF 1.1, CEF, CSV. docs/audit.md
 * has their fields; what it names stays as it is.
 */
#include "audit/store/log.h"

enum audit_format { AUDIT_JSONL, AUDIT_OCSF, AUDIT_CEF, AUDIT_CSV, AUDIT_FORMAT_COUNT };

/* "jsonl", "ocsf", "cef", "csv"; NULL behind the last. */
extern const char *const audit_format_names[AUDIT_FORMAT_COUNT + 1];
/* What comes before the first row: "" but for CSV. */
const char *audit_export_head(enum audit_format f);
/* Adds a row with the end of its line. */
void audit_export_row(enum audit_format f, const struct audit_row *r, struct buffer *out);
