/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What libpsl says of a name with a dot: 1, 0, or -ELIBACC if it is not there. suffix-library.c
 * loads it by the first name that needs it; suffix-library-carried.c is for programs that are
 * linked statically.
 */
int threat_suffix_library_ask(const char *name);
