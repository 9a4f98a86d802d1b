// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>

#include "project.h"

void greet(const char *name)
{
	printf("hello, %s\n", name);
}
