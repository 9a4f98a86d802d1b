/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the files of a project say about how it is built and tested. They are foreign bytes: each is
 * read as a regular file, in bounded size, and none is executed. Nothing of their text is passed
 * on, only these facts.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum facts_target { FACTS_NONE, FACTS_ALL, FACTS_CHECK, FACTS_TEST };

struct facts {
	/* Node */
	bool package, package_lock, package_needs, package_test;
	const char *package_fault; /* package.json is there, and is no such file; else NULL */
	uint32_t package_line;     /* of the fault; 0: it has none */
	/* Python */
	bool python, requirements, uv_lock, python_needs, pytest, tests_folder, tests_package;
	bool cargo, go;
	/* C and others */
	enum facts_target make; /* the best target that it has */
	bool cmake, meson;
	bool github; /* a remote of git is there */
};

enum { FACTS_BYTES_MAX = 1 << 20 };

/* Looks into a folder. -EPERM and others: one of the files cannot be read. */
int facts_find(int folder, struct facts *ret);

/* Parts of it, from a text. */
void facts_read_package(const char *text, size_t len, struct facts *f);
enum facts_target facts_read_make(const char *text, size_t len);
bool facts_has_word(const char *text, size_t len, const char *word);
bool facts_has_remote(const char *text, size_t len, const char *host);
