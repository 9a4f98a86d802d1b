/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * browser.open: opens a page in the user's browser, which runs with all of the user's rights. So
 * the process has two parts. A launcher, forked first, takes normal URLs of http and https
 * (services/desktop/page.h) over a socket pair and starts the program with that one argument, and
 * nothing else. The other part, which serves calls, confines itself entirely.
 *
 * browser.login opens pages of logins (services/desktop/login.h) and no others.
 */
#include "services/backend.h"

extern const struct backend_method open_methods[];
int open_begin(struct backend *b, struct error *why);
backend_handler open_probe;
