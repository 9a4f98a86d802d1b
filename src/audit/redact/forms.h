/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Secrets that show by their form, without knowing them. Where it is in doubt how far one goes, it
 * goes further.
 */
#include <stddef.h>

/* Sets hidden[i] for each byte of the text that is part of one. */
void redact_forms_mark(const char *text, size_t len, char *hidden);
