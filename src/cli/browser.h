/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The user's browser, for an address that is not to be a word of a command line, which other
 * processes can read: it is given a file of the daemon's folder, which no other user can enter, and
 * that leads on to the address.
 */
#include "cli/verb.h"

/* file: its name in that folder. 1: a browser was asked to open it; 0: there is none. */
int browser_open(struct call *c, const char *file, const char *url);
