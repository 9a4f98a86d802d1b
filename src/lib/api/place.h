/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* $HOME and $TEMP where the host names none: private folders, which need not exist outside. */

#define PLACE_TEMP "/tmp"

/* The host's, or a folder for those who have none. Not for programs with more rights than their
 * user.
 */
const char *place_home(void);
