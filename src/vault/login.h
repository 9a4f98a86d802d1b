/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The file of a source `login:FILE`: where a program of the user keeps its credentials
 * (mask/mask.h). It is opened once, by its place below the home, and only if no link is on the way
 * there; what is read from it then is what is understood, given out and shown.
 */
#include "mask/mask.h"

struct buffer;

/* Where it is: below HOME. */
int login_path(const struct mask_file *file, struct buffer *out, struct error *e);
/* -EPERM: it is not the user's alone, or there is a link on the way. The sentence names the file.
 */
int login_read(const struct mask_file *file, struct mask *ret, struct error *e);
