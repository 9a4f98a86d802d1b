// SPDX-License-Identifier: Apache-2.0
#pragma once

void greet(const char *name);
int sum(int n);
