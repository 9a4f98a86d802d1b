/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the tests of the planner share: a folder with real files and links, written "@" everywhere,
 * and plans as text. Only entries below "@" are printed, so that a test says nothing of the machine
 * it runs on.
 *
 *     bind  @/home/p  dwx    a folder, writable, programs run; "o": it covers a part of another,
 *                            "c": it is a copy's
 *     link  @/current -> data
 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/error.h"
#include "jail/plan/plan.h"
#include "policy/permissions.h"
#include "policy/policy.h"
#include "policy/variable.h"

enum { TEST_LAYERS_MAX = 4 };

/* A policy of up to four layers, compiled. */
struct test_policy {
	struct permissions *layers[TEST_LAYERS_MAX];
	size_t n;
	struct policy *policy;
	struct variables variables;
	char home[256], work[256], temp[256];
};

/* The scratch folder, without links in its path; made by test_plan_set_up(). */
extern char test_plan_folder[4096];
/* HOME of policies made from now on; NULL: @/home. */
extern const char *test_plan_home;
int test_plan_set_up(void **state);
int test_plan_tear_down(void **state);

/* With the scratch folder in place of '@'; for the caller to free. */
char *test_plan_expand(const char *text);
/* Files below "@": "name/" is a folder, "name>target" a link, "name!text" a program. */
void test_plan_make(const char *what);

/* Layers are YAML, with '@'; NULL ends them. HOME is @/home, WORK_DIR @/home/p. */
void test_policy_init(struct test_policy *t, const char *const *layers);
void test_policy_deinit(struct test_policy *t);
struct plan_options test_policy_options(const struct test_policy *t);

/* The plan as text, or "-EACCES text | hint". For the caller to free. */
char *test_plan_text(const struct plan_options *o);
/* The entry at exactly that path, with '@'; or NULL. */
const struct plan_entry *test_plan_at(const struct plan *plan, const char *path);
/* Whether a file of the host is there inside. */
bool test_plan_is_visible(const struct plan *plan, const char *path);
/* One entry as a line. */
void test_plan_print(const struct plan_entry *entry, struct buffer *out);
/* What every plan must be: sorted, each path once, each entry in a folder that is there. */
void test_plan_check(const struct plan *plan);
