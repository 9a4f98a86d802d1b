/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* cmocka with the headers that must stand before it. A unit test includes this first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
