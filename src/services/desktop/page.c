/* SPDX-License-Identifier: Apache-2.0 */
#include "services/desktop/page.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "codec/encoding.h"
#include "policy/network/url.h"

/* What stands in a URL as it is, with letters and digits; everything else is escaped. No quotes,
 * and nothing of a shell's but $ & ; ( ) *, which URLs have. */
static const char page_plain[] = "-._~:/?#[]@!$&()*+,;=%";

static void page_add_host(struct buffer *out, const struct url *u)
{
	auto_buffer address = { 0 };

	if (!u->is_address) {
		buffer_adds(out, u->host);
		return;
	}
	address_print(&u->address, &address);
	buffer_printf(
		out, strchr(buffer_text(&address), ':') ? "[%s]" : "%s", buffer_text(&address));
}

int page_normal(const char *text, size_t len, struct buffer *out, struct error *e)
{
	const char *authority, *rest, *end = text + len;
	struct url u;
	int r;

	for (size_t i = 0; i < len; i++)
		if (ascii_is_control(text[i]) || text[i] == ' ' || text[i] == '\\')
			return error_set(e, -EINVAL, NULL,
				"a URL has no spaces, control characters or backslashes");
	r = url_parse(&u, text, len, e);
	if (r < 0)
		return r;
	if (strcmp(u.scheme, "http") != 0 && strcmp(u.scheme, "https") != 0)
		return error_set(e, -EINVAL, NULL, "only http and https URLs are opened");
	if (u.has_userinfo)
		return error_set(e, -EINVAL, NULL, "a URL with a user or password is not opened");
	authority = memmem(text, len, "://", 3);
	if (!authority)
		return error_set(e, -EINVAL, NULL, "a URL begins with https://");
	rest = authority + 3;
	while (rest < end && *rest != '?' && *rest != '#')
		rest++;
	buffer_printf(out, "%s://", u.scheme);
	page_add_host(out, &u);
	if (u.port != url_scheme_port(u.scheme, strlen(u.scheme)))
		buffer_printf(out, ":%u", u.port);
	encoding_percent(
		u.path[0] ? u.path : "/", strlen(u.path[0] ? u.path : "/"), page_plain, out);
	encoding_percent(rest, (size_t)(end - rest), page_plain, out);
	if (out->failed)
		return error_no_memory(e);
	return out->len > PAGE_BYTES_MAX ? error_set(e, -EINVAL, NULL, "the URL is too long") : 0;
}

bool page_is_normal(const char *text, size_t len)
{
	const bool is_page = (len > 7 && memcmp(text, "http://", 7) == 0) ||
			     (len > 8 && memcmp(text, "https://", 8) == 0);

	for (size_t i = 0; is_page && i < len; i++)
		if (!ascii_is_alnum(text[i]) && (!text[i] || !strchr(page_plain, text[i])))
			return false;
	return is_page && len <= PAGE_BYTES_MAX;
}
