/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An undo changes files of the working folder, and a run that is forgotten cannot be taken back any
 * more, so both are in the log: that of CORRAL_AUDIT, as a run uses it, or else the user's own if
 * there is one. It is done when this is written, so a log that cannot be is said, and no more.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "audit/place.h"
#include "audit/trail.h"
#include "cli/output.h"
#include "cli/undo/internal.h"
#include "codec/encoding.h"
#include "host/account.h"

enum { SESSION_BYTES = 8, PATIENCE_MS = 10 * 1000 };

static int undo_audit_add(const char *path, const struct audit_event *event, struct error *e)
{
	const struct audit_store_options store = { .path = path, .patience_ms = PATIENCE_MS };
	char user[ACCOUNT_NAME_BYTES], session[2 * SESSION_BYTES + 1];
	const struct audit_trail_options o = {
		.store = &store, .session = session, .user = user, .sandbox = "corral undo"
	};
	struct audit_trail *trail = NULL;
	uint8_t bytes[SESSION_BYTES];
	int r;

	if (account_name("/etc/passwd", getuid(), user) < 0)
		return error_no_memory(e);
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_set(e, -errno, NULL, "getrandom: %s", strerror(errno));
	encoding_hex(bytes, sizeof(bytes), session);
	r = audit_trail_new(&trail, &o, e);
	if (r < 0)
		return r;
	(void)audit_trail_add(trail, event);
	return audit_trail_close(trail, e);
}

void undo_audit(uint32_t number, const char *folder, const char *what, bool is_done)
{
	auto_buffer path = { 0 }, reason = { 0 };
	auto_output o = output_for(STDERR_FILENO);
	struct audit_event event = { .action = AUDIT_FS_WRITE,
		.target = folder,
		.decision = is_done ? AUDIT_ALLOWED : AUDIT_FAILED,
		.program = "corral",
		.pid = (uint32_t)getpid(),
		.exact = true };
	struct error e = { 0 };
	int r = audit_place_named(&path, false, &e);

	if (r == 1)
		return;
	buffer_printf(&reason, "corral undo, run %u: %s", number, what);
	event.reason = buffer_text(&reason);
	if (r == 0)
		r = undo_audit_add(buffer_text(&path), &event, &e);
	if (r == 0)
		return;
	output_note(&o);
	buffer_adds(&o.text, "the undo is not in the audit log: ");
	output_foreign(&o, e.text[0] ? e.text : strerror(-r));
	buffer_addc(&o.text, '\n');
	(void)output_write(&o, STDERR_FILENO, NULL);
}
