/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the daemon says in its journal goes to the test's journal_heard(), for a test that lists
 * journal_say under 'wrap' (meson.build). */
#include <stdarg.h>
#include <stdio.h>

#include "daemon/supervisor/journal.h"

static void journal_heard(const char *line);

void __wrap_journal_say(struct supervisor *s, enum config_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void __wrap_journal_say(struct supervisor *s, enum config_level level, const char *format, ...)
{
	char line[512];
	va_list arguments;

	(void)s;
	(void)level;
	va_start(arguments, format);
	(void)vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	journal_heard(line);
}
