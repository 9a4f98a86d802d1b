/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decodes one character from s (len bytes left); returns its length, 0 if s does not start one. */
size_t utf8_decode(const char *s, size_t len, uint32_t *ret);
/* Encodes c into out; returns the number of bytes, 0 if c is no scalar value. */
size_t utf8_encode(uint32_t c, char out[4]);
/* True if all of s is UTF-8; else *ret_at (may be NULL) is the offset of the first bad byte. */
bool utf8_valid(const char *s, size_t len, size_t *ret_at);
/* C1 controls, bidirectional overrides, zero-width characters: they make text lie on a screen. */
bool utf8_is_deceptive(uint32_t c);
/*
 * These, and what looks like a space or like nothing though it has its uses in texts: other spaces,
 * variation selectors. What a person decides by has them spelled out, in a terminal as on the page
 * (daemon/dashboard/format.js, which a test holds to these tables).
 */
bool utf8_is_unseen(uint32_t c);
