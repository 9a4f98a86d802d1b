/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a program on macOS needs whatever it does, as lines of a profile. Data: a line that turns
 * out to be missing is added here, and nowhere else. Each table ends with NULL.
 */

/* To start at all: the loader's files and services, null devices, itself. */
extern const char *const seatbelt_basics[];
/* To find hosts by name and to check their certificates. */
extern const char *const seatbelt_basics_network[];
/* Filters, not rules: where any program of an agent writes. Devices, and macOS' temporary folders.
 */
extern const char *const seatbelt_basics_writes[];
