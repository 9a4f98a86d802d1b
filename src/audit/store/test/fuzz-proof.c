/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts that came from somebody else: a proof, and a head as it lies in the second file. Without
 * the key nothing that a fuzzer makes is ever a proof; a head that was read is printed and read
 * again as the same one.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/store/head.h"
#include "audit/store/proof.h"
#include "base/buffer.h"
#include "codec/json-writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_head(const char *text, size_t len)
{
	auto_document d = { 0 }, again = { 0 };
	auto_buffer printed = { 0 };
	struct head h, same;

	if (json_read(&d, NULL, text, len, NULL) < 0)
		return;
	if (head_parse(&h, d.root) < 0 && head_parse(&h, node_get(d.root, "head")) < 0)
		return;
	head_print(&h, &(struct json_writer){ .out = &printed }, NULL);
	require(!printed.failed);
	require(json_read(&again, NULL, printed.data, printed.len, NULL) == 0);
	require(head_parse(&same, again.root) == 0);
	require(memcmp(&h, &same, sizeof(h)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buffer texts = { 0 };
	struct audit_row row;
	struct error e = { 0 };

	/* An empty file holds no key. */
	require(audit_proof_check((const char *)data, size, "/dev/null", &row, &texts, &e) ==
		-EBADMSG);
	require(e.text[0] != '\0');
	fuzz_head((const char *)data, size);
	return 0;
}
