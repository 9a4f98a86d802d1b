/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * clipboard.read and clipboard.write, by the programs that users have: wl-copy and wl-paste on
 * Wayland, xclip on X11. Their arguments are fixed and text goes by a pipe, so nothing of a sandbox
 * is ever read as an option. They run confined: to their own files, and to the socket of the
 * display.
 *
 * With `program: terminal` in services.yaml text is written to the terminal of `corral run`, as OSC
 * 52, in base64. There is no reading then.
 *
 * Who owns a clipboard has to stay: what wl-copy and xclip leave behind ends when someone else
 * copies something.
 */
#include "services/backend.h"

extern const struct backend_method clipboard_methods[];
int clipboard_begin(struct backend *b, struct error *why);
backend_handler clipboard_probe;
