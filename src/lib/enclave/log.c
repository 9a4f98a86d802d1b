/* SPDX-License-Identifier: Apache-2.0 */
/* What the enclave's audit has in memory, as text. Who may read it is the host's to say. */
#include <errno.h>

#include "audit/export/export.h"
#include "base/buffer.h"
#include "lib/api/audit-handle.h"
#include "lib/enclave/internal.h"
#include "lib/api/handles.h"

/* A line of JSON and its newline become an item of the array. */
static void enclave_log_add_item(struct buffer *out, const struct audit_row *row, bool first)
{
	if (!first)
		buffer_addc(out, ',');
	buffer_addc(out, '\n');
	audit_export_row(AUDIT_JSONL, row, out);
	if (out->len && out->data[out->len - 1] == '\n')
		out->data[--out->len] = '\0';
}

static uint64_t enclave_log_first_of(const struct audit_ring *ring, size_t limit)
{
	uint64_t count = audit_ring_count(ring);

	return limit && limit < count ? count - limit + 1 : 0;
}

int corral_enclave_get_audit_log(
	struct corral_enclave *enclave, size_t limit, char **ret, struct corral_error **e)
{
	struct audit_ring *ring = audit_trail_ring(enclave->trail);
	struct audit_reader reader = { .next = enclave_log_first_of(ring, limit) };
	uint64_t last = audit_ring_count(ring);
	auto_buffer out = { 0 };
	auto_arena scratch = { 0 };
	void *room = arena_alloc(&scratch, AUDIT_EVENT_MAX);
	struct error error = { 0 };
	struct audit_row row = { 0 };
	char *text;

	out.failed = !room;
	buffer_addc(&out, '[');
	/* Not what comes while it reads: writers could keep it here for good. */
	for (bool first = true; !out.failed && reader.next <= last; first = false) {
		if (audit_ring_read(ring, &reader, &row.event, room) != 1)
			break;
		row.number = reader.next - 1;
		enclave_log_add_item(&out, &row, first);
	}
	buffer_adds(&out, "\n]\n");
	text = buffer_take(&out);
	if (!text)
		return handles_error(e, &error, -ENOMEM);
	*ret = text;
	return 0;
}

int corral_enclave_export_audit_log(struct corral_enclave *enclave, const char *format,
	const char *path, struct corral_error **e)
{
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, NULL, AUDIT_STORE, path);
	if (!format || !path)
		return enclave_refuse(&c, -EINVAL, e, "an export has a format and a path");
	r = corral_audit_export(enclave->audit, format, path, e);
	enclave_tell(&c, r < 0 ? AUDIT_FAILED : AUDIT_NONE, NULL, "exported");
	return r;
}
