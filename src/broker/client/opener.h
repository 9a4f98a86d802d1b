/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * sandbox-call under the name xdg-open: hands the address of a login to the user's browser, by
 * browser.login. It is inside, like who calls it: what is opened is decided outside
 * (services/desktop/login.h).
 */
#include <stdbool.h>

#include "base/buffer.h"

/* Whether a program was started by that name. */
bool opener_is_name(const char *argv0);
/*
 * Appends the address. Where `back` is not NULL, a redirect_uri that leads to this machine is
 * replaced by it: an agent that waits at a port of its own choice cannot be reached there, and
 * takes a code that the page at `back` shows instead.
 */
void opener_put(const char *address, const char *back, struct buffer *out);
