/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "lib/process/denial.h"
#include "lib/api/handles.h"

const char *corral_error_message(const struct corral_error *e)
{
	if (!e)
		return "out of memory";
	return e->message ? e->message : e->e.text;
}

const char *corral_error_file(const struct corral_error *e)
{
	return e->e.file[0] ? e->e.file : NULL;
}

unsigned corral_error_line(const struct corral_error *e)
{
	return e->e.line;
}

unsigned corral_error_column(const struct corral_error *e)
{
	return e->e.column;
}

const struct corral_denial *corral_error_denial(const struct corral_error *e)
{
	return e ? e->denial : NULL;
}

void corral_error_free(struct corral_error *e)
{
	if (!e)
		return;
	free(e->message);
	denial_free(e->denial);
	free(e);
}

void corral_free(char *text)
{
	free(text);
}

const char *corral_version(void)
{
	return CORRAL_VERSION;
}
