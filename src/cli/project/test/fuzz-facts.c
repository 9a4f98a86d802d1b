/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a project, as foreign bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "cli/project/facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct facts f = { 0 };

	if (!data)
		return 0;
	facts_read_package(text, size, &f);
	if ((f.package_needs || f.package_test) && !f.package)
		abort();
	if (facts_read_make(text, size) > FACTS_TEST)
		abort();
	(void)facts_has_word(text, size, "pytest");
	(void)facts_has_remote(text, size, "github.com");
	return 0;
}
