/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the writers of the formats share. */
#include "audit/field.h"
#include "base/buffer.h"
#include "codec/json-writer.h"

typedef void export_writer(const struct audit_row *r, struct buffer *out);
export_writer export_ocsf, export_cef;

/* Where a connection goes, as its target has it: "host:443", "udp://[::1]:53", "unix:/run/x". */
struct export_host {
	const char *protocol; /* "tcp", "udp", "unix" */
	const char *name;     /* not NUL-terminated */
	size_t len;
	unsigned port; /* 0: none */
};
struct export_host export_host(const char *target);

/* A field under its own name. */
void export_put_field(
	struct json_writer *w, const struct audit_field *f, const struct audit_row *r);
