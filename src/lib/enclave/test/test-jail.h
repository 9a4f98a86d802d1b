/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A mount namespace of its own with a tree in it, as a sandbox has one, held by a child process:
 *
 *     /             in memory, read-only; with what `fill` made in it
 *     /etc/passwd   "inside"
 *     /w            the host's "@/host", writable
 *     /ro           the same, read-only
 *     /tmp, /home   in memory, each a mount of its own
 *     /tmp/bound    the host's "@/out"
 *     /tmp/masked   nothing, over a folder
 *     /proc         the host's
 */
#include "lib/enclave/test/test-tree.h"

struct test_jail {
	int pid;
	int orders; /* to the child */
	int root;   /* O_PATH: "/" of that tree */
};

/* -1: this kernel lets nobody make one, and a line says so. */
int test_jail_make(struct test_jail *ret);
void test_jail_remove(struct test_jail *jail);
/* Mounts an empty folder over that path of the tree; or makes it a link, or a FIFO. */
void test_jail_mask(struct test_jail *jail, const char *path);
