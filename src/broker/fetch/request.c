/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/fetch/request.h"

#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/ascii.h"

const struct schema_field fetch_request_fields[] = {
	{ "url", SCHEMA_TEXT, .required = true, .max = FETCH_URL_MAX },
	{ "method", SCHEMA_TEXT, .required = true, .max = 32 },
	{ "headers", SCHEMA_PAIRS, .max = FETCH_HEADERS_MAX },
	{ "body", SCHEMA_DATA, .max = METHOD_DATA_MAX },
	{ "timeout", SCHEMA_NUMBER, .required = true, .max = UINT32_MAX },
	{ "max", SCHEMA_NUMBER, .required = true, .max = INT64_MAX },
	{ "flags", SCHEMA_NUMBER, .required = true, .max = FETCH_FLAG_SET },
	{ "authorities", .type = SCHEMA_PATH },
	{ "trusted", SCHEMA_DATA, .max = FETCH_TRUSTED_MAX },
	{ 0 },
};

/* With a '-' at its end: all that begin so. */
static const char *const fetch_own_headers[] = { "host", "content-length", "transfer-encoding",
	"connection", "keep-alive", "te", "trailer", "upgrade", "expect", "http2-settings",
	"proxy-" };

static bool fetch_header_is_own(const char *name)
{
	for (size_t i = 0; i < ROWS(fetch_own_headers); i++) {
		const char *own = fetch_own_headers[i];
		const size_t len = strlen(own);
		const bool begins = own[len - 1] == '-';

		if (strncasecmp(name, own, len) == 0 && (begins || name[len] == '\0'))
			return true;
	}
	return false;
}

const char *fetch_header_fault(const char *name, const char *value)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	if (name[0] == '\0' || name[strspn(name, token)] != '\0')
		return "its name is no name of a header";
	if (fetch_header_is_own(name))
		return "the broker sets it itself";
	for (; *value; value++) {
		if (ascii_is_control(*value) && *value != '\t')
			return "its value has a control character, such as a line break";
	}
	return NULL;
}

const char *fetch_url_fault(const char *url)
{
	const char *authority;

	if (strncasecmp(url, "http://", 7) == 0)
		authority = url + 7;
	else if (strncasecmp(url, "https://", 8) == 0)
		authority = url + 8;
	else
		return "only http and https URLs can be fetched";
	for (const char *c = url; *c; c++) {
		if (ascii_is_control(*c) || *c == ' ')
			return "a URL has no spaces and control characters";
	}
	if (memchr(authority, '@', strcspn(authority, "/?#")))
		return "a URL with a name or password is not taken; use the header Authorization";
	return NULL;
}
