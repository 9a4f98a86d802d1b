/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is taken for a mailbox
 *
 *   prints as text that is read as the same,
 *   has an address that means one recipient in SMTP and in a header: one @, nothing that quotes,
 *   separates, comments or routes, no control character, ASCII only,
 *   has a name that does not end before its end,
 *   and is, for a policy, the address that is sent to.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buffer.h"
#include "broker/service/mailbox.h"
#include "policy/network/host.h"
#include "policy/service-table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void check_address(const char *address)
{
	const char *at = strchr(address, '@');
	char normal[PATH_BYTES];
	struct service_request r = { .name = "email", .name_len = 5, .value = address };
	struct host_request host;

	require(at && at != address && at[1] && !strchr(at + 1, '@'));
	for (const char *c = address; *c; c++)
		require(*c > 0x20 && *c < 0x7f && !strchr("\"<>,;:()[]\\%!|*?`/", *c));
	for (const char *c = at; *c; c++)
		require(*c < 'A' || *c > 'Z');
	require(strlen(address) <= MAILBOX_ADDRESS_MAX);
	require(service_value_normal(&r, normal, &host) == 0);
	require(strcasecmp(normal, address) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mailbox m, again;
	auto_buffer text = { 0 };
	const char *why = NULL;
	int r = mailbox_parse(&m, (const char *)data, size, &why);

	require(r == 0 || ((r == -EINVAL || r == -ENOMEM) && why));
	if (r < 0)
		return 0;
	check_address(m.address);
	for (const char *c = m.name; *c; c++)
		require((unsigned char)*c >= 0x20 && *c != 0x7f && !strchr("\"<>@,;:()[]\\", *c));
	mailbox_print(&m, &text);
	require(!text.failed);
	require(mailbox_parse(&again, buffer_text(&text), text.len, &why) == 0);
	require(strcmp(again.name, m.name) == 0 && strcmp(again.address, m.address) == 0);
	return 0;
}
