/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service/mailbox.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "policy/network/idna.h"

/*
 * What the part before the @ may hold beside letters and digits. Less than RFC 5322's atoms: % and
 * ! lead on to other hosts, | and / are programs and files for some servers, * and ? would be
 * patterns in a policy.
 */
#define LOCAL_EXTRA "._+-='&~#"

static const char *mailbox_local_fault(const char *local, size_t len)
{
	if (len == 0)
		return "has nothing before the @";
	if (len > MAILBOX_LOCAL_MAX)
		return "has more than 64 bytes before the @";
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)local[i] >= 0x80)
			return "has other letters than ASCII before the @, which few servers take";
		if (local[i] == '%' || local[i] == '!')
			return "has a % or ! before the @, which leads on to another host";
		if (!ascii_is_alnum(local[i]) && (!local[i] || !strchr(LOCAL_EXTRA, local[i])))
			return "has characters before the @ that are not used here: letters, "
			       "digits and " LOCAL_EXTRA " are";
	}
	if (local[0] == '.' || local[len - 1] == '.' || memmem(local, len, "..", 2))
		return "has a dot too many before the @";
	return local[0] == '-' ? "starts with a hyphen" : NULL;
}

/* Labels of letters, digits and hyphens inside; the last one is no number, as in an IP address. */
static bool mailbox_is_domain(const char *domain)
{
	bool is_number = true;
	char last = '.';

	for (const char *c = domain;; c++) {
		if (*c == '.' || *c == '\0') {
			if (last == '.' || last == '-')
				return false;
			if (*c == '\0')
				return !is_number;
			is_number = true;
		} else if (!ascii_is_alnum(*c) && (*c != '-' || last == '.')) {
			return false;
		} else {
			is_number = is_number && ascii_is_digit(*c);
		}
		last = *c;
	}
}

static int mailbox_read_address(
	struct mailbox *m, const char *text, size_t len, const char **ret_why)
{
	const char *at = memchr(text, '@', len);
	const size_t local = at ? (size_t)(at - text) : 0;
	char domain[MAILBOX_ADDRESS_MAX + 2];
	size_t bytes;
	int r;

	if (!at) {
		*ret_why = "has no @";
		return -EINVAL;
	}
	*ret_why = mailbox_local_fault(text, local);
	if (*ret_why)
		return -EINVAL;
	*ret_why = "has no valid domain behind the @";
	r = idna_to_ascii(at + 1, len - local - 1, domain, sizeof(domain));
	if (r == -ENAMETOOLONG)
		r = -EINVAL;
	if (r < 0)
		return r;
	bytes = strlen(domain);
	if (bytes > 1 && domain[bytes - 1] == '.')
		domain[--bytes] = '\0';
	if (!mailbox_is_domain(domain))
		return -EINVAL;
	if (local + 1 + bytes > MAILBOX_ADDRESS_MAX) {
		*ret_why = "is longer than 254 bytes";
		return -EINVAL;
	}
	memcpy(m->address, text, local + 1);
	memcpy(m->address + local + 1, domain, bytes + 1);
	return 0;
}

/* What reads like an address, or ends the name for some reader, is no name. */
static bool mailbox_is_name_character(uint32_t c)
{
	enum { FULL_WIDTH_AT = 0xff20, SMALL_AT = 0xfe6b };

	if (c < 0x80)
		return !ascii_is_control((char)c) && !strchr("\"<>@,;:()[]\\", (char)c);
	return c != FULL_WIDTH_AT && c != SMALL_AT && !utf8_is_deceptive(c);
}

static int mailbox_read_name(struct mailbox *m, const char *text, size_t len, const char **ret_why)
{
	size_t n;

	while (len > 0 && text[len - 1] == ' ')
		len--;
	*ret_why = "has a name of more than 128 bytes";
	if (len > MAILBOX_NAME_MAX)
		return -EINVAL;
	*ret_why = "has a name with characters that are not used here: control characters, "
		   "invisible ones and \" < > @ , ; : ( ) [ ] \\";
	if (len > 0 && (text[0] == ' ' || memmem(text, len, "=?", 2)))
		return -EINVAL;
	for (size_t i = 0; i < len; i += n) {
		uint32_t c;

		n = utf8_decode(text + i, len - i, &c);
		if (n == 0 || !mailbox_is_name_character(c))
			return -EINVAL;
	}
	memcpy(m->name, text, len);
	m->name[len] = '\0';
	return 0;
}

int mailbox_parse(struct mailbox *ret, const char *text, size_t len, const char **ret_why)
{
	const char *open = memchr(text, '<', len);
	struct mailbox m = { 0 };
	int r = 0;

	*ret_why = "is too long";
	if (len > MAILBOX_TEXT_MAX)
		return -EINVAL;
	if (open) {
		*ret_why = "must be one address, or a name and one address in < >";
		if (text[len - 1] != '>')
			return -EINVAL;
		r = mailbox_read_name(&m, text, (size_t)(open - text), ret_why);
		len -= (size_t)(open - text) + 2;
		text = open + 1;
	}
	if (r == 0)
		r = mailbox_read_address(&m, text, len, ret_why);
	if (r < 0)
		return r;
	*ret = m;
	return 0;
}

void mailbox_print(const struct mailbox *m, struct buffer *out)
{
	if (m->name[0])
		buffer_printf(out, "%s <%s>", m->name, m->address);
	else
		buffer_adds(out, m->address);
}

const char *mailbox_domain(const struct mailbox *m)
{
	const char *at = strchr(m->address, '@');

	return at ? at + 1 : m->address;
}
