// SPDX-License-Identifier: Apache-2.0
#include "project.h"

int sum(int n)
{
	return n ? n + sum(n - 1) : 0;
}
