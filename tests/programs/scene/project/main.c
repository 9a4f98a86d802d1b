// SPDX-License-Identifier: Apache-2.0
#include <math.h>
#include <stdio.h>

#include "project.h"

int main(void)
{
	greet("project");
	printf("sum %d root %.1f\n", sum(5), sqrt(sum(5) + 1.0));
	return 0;
}
