/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A folder for tests of paths, and what is made in it. In all names and texts "@" stands for the
 * folder. What cannot be made fails the test.
 */
#include "test/unit.h"

#include "base/array.h"

enum { TEST_TREE_BYTES = 8192 };

/* Setup and teardown: the folder is new, empty, and no link leads to it. */
int test_tree_make(void **state);
/* Where nothing waits for a disk, if there is such a place. */
int test_tree_make_in_memory(void **state);
int test_tree_remove(void **state);

/* The text with the folder for each "@". Eight of them live at the same time. */
const char *test_tree(const char *text);
void test_tree_folder(const char *path);
void test_tree_file(const char *path, const char *text);
void test_tree_link(const char *path, const char *target);
void test_tree_hard_link(const char *path, const char *other);
/* True if the file says that; a file that is not there says NULL. */
bool test_tree_says(const char *path, const char *text);
