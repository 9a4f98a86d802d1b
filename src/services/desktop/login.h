/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The addresses of logins that browser.login opens. A row of a preset (`pages`) names the page of
 * a provider, the agent's client there, and the way back: "PAGE CLIENT BACK".
 *
 * Such a page sends the browser on, to redirect_uri with `state` in it, and for some clients
 * without asking the user. With another client or another way back, an address would be a message
 * to any host; with another page of the same host, too, if that page leads on. So page, client and
 * way back are those of one row, each of them once; and no other parameter holds an address, nor
 * one that is escaped once more.
 */
#include <stddef.h>

#include "base/error.h"

/* Rows, each with a NUL behind it, and an empty one at the end; made from data/presets. */
extern const char login_rows[];

/*
 * page: a normal address (services/desktop/page.h). 0: a row has it. -EINVAL, with a sentence for
 * the caller.
 */
int login_check(const char *page, size_t len, struct error *e);
