/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A folder to work in, sandboxes as most tests want them, and calls that must succeed. */
#include "test/unit.h"

#include <sys/types.h>

#include <corral/sandbox.h>

/* The folder, new and without links; setup and teardown of a group. */
extern char test_folder[];
int test_make_folder(void **state);
int test_remove_folder(void **state);
/* A file in it. */
const char *test_file(const char *name, const char *text, unsigned mode);

/* The system to read, the folder to write and to work in. */
struct corral_builder *test_builder(void);
struct corral_sandbox *test_build(struct corral_builder *b);
struct corral_sandbox *test_sandbox(void);

struct corral_result *test_run(
	struct corral_sandbox *s, const char *line, const struct corral_call *call);
/* Runs a line and compares what it printed, and its status. */
void test_prints(struct corral_sandbox *s, const char *line, const char *out, int status);

/* The error of something that must fail with that code and say that text; freed. */
void test_says(struct corral_error *e, const char *text);

/* Children of this process, zombies included. The first of that name in *ret, if not NULL. */
int test_count_children(const char *name, pid_t *ret);
/* A child of that process, or 0. */
pid_t test_child_of(pid_t parent);
