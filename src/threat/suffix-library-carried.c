/* SPDX-License-Identifier: Apache-2.0 */
/* libpsl as a part of the program, as idna-library-carried.c has libidn2. */
#include <errno.h>
#include <libpsl.h>
#include <stddef.h>

#include "threat/internal.h"

int threat_suffix_library_ask(const char *name)
{
	const psl_ctx_t *list = psl_builtin();

	return list ? psl_is_public_suffix(list, name) != 0 : -ELIBACC;
}
