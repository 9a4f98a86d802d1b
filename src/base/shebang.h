/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The first line of a script, "#!/usr/bin/env python3 -I", read as the kernel does: the interpreter
 * ends at a blank, and all the rest is one argument. No more is read than the kernel reads.
 */
#include <stdbool.h>
#include <stddef.h>

enum { SHEBANG_BYTES = 256 };

struct shebang {
	char program[SHEBANG_BYTES];
	char argument[SHEBANG_BYTES]; /* without the blanks around it; "": none */
	bool is_cut;                  /* the line goes on after what the kernel reads */
};

/*
 * Reads the start of a file's content. 0, or -ENOEXEC with *ret untouched: it does not start with
 * #!, or names no interpreter, or one whose name does not end within SHEBANG_BYTES.
 */
int shebang_parse(struct shebang *ret, const char *data, size_t len);
/* The same of an open file, wherever its position is. Other errors: it could not be read. */
int shebang_read(struct shebang *ret, int fd);
