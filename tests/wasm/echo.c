/* SPDX-License-Identifier: Apache-2.0 */
/* A skill that answers with its input, and how often it was called before in this memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls;

__attribute__((export_name("allocate"))) void *allocate(uint32_t size)
{
	return malloc(size);
}

__attribute__((export_name("handle"))) void *handle(const char *input, uint32_t len)
{
	char *out = malloc(len + 100);
	uint32_t n;

	printf("printed by the skill\n");
	(void)fflush(stdout);
	n = (uint32_t)sprintf(out + 4,
		"{\"success\": true, \"result\": {\"input\": %.*s, \"calls\": %d}}", (int)len,
		input, calls++);
	memcpy(out, &n, 4);
	return out;
}
