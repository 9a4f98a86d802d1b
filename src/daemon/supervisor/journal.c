/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines for people go to standard error, or to a file; under systemd with the level in front, which
 * the journal takes away again. Records go to the user's audit log (audit/trail.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/place.h"
#include "audit/store/store.h"
#include "base/fd.h"
#include "base/file.h"
#include "codec/encoding.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"
#include "host/account.h"

enum { JOURNAL_SESSION = 8, JOURNAL_LINE = 1024 };

void journal_say(struct supervisor *s, enum config_level level, const char *format, ...)
{
	static const int priorities[] = { 3, 4, 6, 7 };
	char text[JOURNAL_LINE];
	auto_buffer line = { 0 };
	va_list arguments;

	if (level > s->config.level)
		return;
	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (s->journal.fd == STDERR_FILENO && getenv("JOURNAL_STREAM"))
		buffer_printf(&line, "<%d>", priorities[level]);
	if (s->journal.fd != STDERR_FILENO) {
		const time_t now = time(NULL);
		struct tm tm;
		char stamp[32];

		(void)strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ ", gmtime_r(&now, &tm));
		buffer_adds(&line, stamp);
	}
	buffer_adds(&line, "corrald: ");
	buffer_add_visible(&line, text, strlen(text));
	buffer_addc(&line, '\n');
	(void)file_write_all(s->journal.fd, line.data, line.len);
}

static int journal_place(struct supervisor *s, struct error *e)
{
	int r = 0;

	if (s->is_system)
		buffer_adds(&s->journal.path, "/var/lib/corral/audit.db");
	else
		r = audit_place(&s->journal.path, e);
	return r < 0 ? r : audit_place_make(buffer_text(&s->journal.path), e);
}

/* A pipe would make this wait for its reader. */
static int journal_open_file(struct supervisor *s, struct error *e)
{
	struct stat st;
	auto_fd fd = open(s->config.log_file,
		O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		0600);

	/* A pipe without a reader is ENXIO. */
	if (fd < 0 && errno != ENXIO)
		return error_set(e, -errno, NULL, "cannot open the log file %s: %s",
			s->config.log_file, strerror(errno));
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(e, -EINVAL, NULL,
			"cannot open the log file %s: it is not a regular file",
			s->config.log_file);
	s->journal.fd = fd_take(&fd);
	return 0;
}

int journal_open(struct supervisor *s, struct error *e)
{
	struct audit_store_options store = { 0 };
	uint8_t bytes[JOURNAL_SESSION];
	char user[ACCOUNT_NAME_BYTES], session[2 * JOURNAL_SESSION + 1];
	const struct audit_trail_options o = {
		.store = &store, .session = session, .user = user, .sandbox = "corrald"
	};
	int r = 0;

	if (s->config.log_file[0])
		r = journal_open_file(s, e);
	if (r == 0)
		r = journal_place(s, e);
	if (r < 0)
		return r;
	store.path = buffer_text(&s->journal.path);
	if (account_name("/etc/passwd", geteuid(), user) < 0)
		return error_no_memory(e);
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_set(e, -errno, NULL, "getrandom: %s", strerror(errno));
	encoding_hex(bytes, sizeof(bytes), session);
	return audit_trail_new(&s->journal.trail, &o, e);
}

uint64_t journal_record(struct supervisor *s, const struct audit_event *event)
{
	return s->journal.trail ? audit_trail_add(s->journal.trail, event) : 0;
}

void journal_tell_failure(struct supervisor *s)
{
	const int failure = audit_trail_failure(s->journal.trail);

	if (failure == s->journal.failure)
		return;
	if (failure < 0)
		journal_say(s, CONFIG_ERROR,
			"the audit log %s cannot be written: %s; records wait in memory, and are "
			"lost if the daemon is killed before they are written",
			buffer_text(&s->journal.path), strerror(-failure));
	else
		journal_say(s, CONFIG_WARN,
			"the audit log is written again; %" PRIu64 " records were lost",
			audit_trail_lost(s->journal.trail));
	s->journal.failure = failure;
}

int journal_commit(struct supervisor *s, struct error *e)
{
	int r = s->journal.trail ? audit_trail_try_flush(s->journal.trail, e) : 0;

	/* Other programs were at it, and there was no failure before. */
	if (r == -EBUSY && audit_trail_failure(s->journal.trail) == 0)
		r = audit_trail_flush(s->journal.trail, e);
	/* Those that were lost before are counted elsewhere. */
	if (r == -EOVERFLOW)
		r = 0;
	if (r == -EBUSY && audit_trail_failure(s->journal.trail) < 0)
		r = audit_trail_failure(s->journal.trail);
	return r < 0 ? error_set(e, r, NULL, "the log %s cannot be written: %s",
			       buffer_text(&s->journal.path), strerror(-r))
		     : 0;
}

void journal_close(struct supervisor *s)
{
	struct error e = { 0 };

	if (s->journal.trail && audit_trail_close(s->journal.trail, &e) < 0)
		journal_say(s, CONFIG_ERROR, "the audit log is incomplete: %s", e.text);
	s->journal.trail = NULL;
	buffer_deinit(&s->journal.path);
	if (s->journal.fd > STDERR_FILENO)
		(void)close(s->journal.fd);
}
