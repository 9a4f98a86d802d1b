/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The URL cases of web-platform-tests: what the standard refuses must be refused, and of what it
 * takes we either find the same host and port or refuse it for a reason that stands here. The file
 * is not part of this project. Where $CORRAL_TEST_DATA is absent the suite is left out by name;
 * where it is there but the file is not, it fails.
 *
 * Speaks TAP itself, so that every case is a test of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "codec/json.h"
#include "policy/network/url.h"

static const char dots[] = "a server that merges slashes would resolve the dots differently";
static const char alabel[] = "the A-label does not decode to anything that IDNA takes";
static const char empty[] = "a DNS name has no empty labels";
static const char chars[] = "DNS names do not have these characters";
static const char symbols[] = "IDNA2008 has no symbols";
static const char backslash[] = "clients disagree on where the host ends";
static const char user[] = "clients disagree on where the user name ends";

/* Valid by the standard, and refused by us. */
static const struct {
	const char *input, *reason;
} stricter[] = {
	{ "http://example.com////../..", dots },
	{ "http://example.com/foo/bar//../..", dots },
	{ "http://example.com/foo/bar//..", dots },
	{ "http://a.b.c.xn--pokxncvks", alabel },
	{ "http://a.b.c.XN--pokxncvks", alabel },
	{ "http://a.b.c.Xn--pokxncvks", alabel },
	{ "http://10.0.0.xn--pokxncvks", alabel },
	{ "http://10.0.0.XN--pokxncvks", alabel },
	{ "http://10.0.0.xN--pokxncvks", alabel },
	{ "https://xn--/", alabel },
	{ "http://./", empty },
	{ "http://../", empty },
	{ "http://foo.09..", empty },
	{ "http://!\"$&'()*+,-.;=_`{}~/", chars },
	{ "wss://!\"$&'()*+,-.;=_`{}~/", chars },
	{ "ftp://%e2%98%83", symbols },
	{ "https://%e2%98%83", symbols },
	{ "http://a:b@c\\", backslash },
	{ "ws://a@b\\c", backslash },
	{ "http://example.com\\\\foo\\\\bar", backslash },
	{ "http:\\\\www.google.com\\foo", backslash },
	{ "https://:@test", user },
	{ "http://é@é", user },
	{ "http://é@example.com", user },
	{ "http://%25DOMAIN:foobar@foodomain.com/", user },
	{ "http:@www.example.com", user },
	{ "http:/@www.example.com", user },
	{ "http://@www.example.com", user },
	{ "http://@pple.com", user },
	{ "http://:@www.example.com", user },
	{ "http://😀x@host/", user },
	{ "http://a:😀x@host/", user },
	{ "http://😀@host/", user },
	{ "wss:// !\"$%&'()*+,-.;<=>@[]^_`{|}~@host/", user },
	{ "wss://joe: !\"$%&'()*+,-.:;<=>@[]^_`{|}~@host/", user },
};

/* The reason why a valid input is refused, or NULL. */
static const char *reason_to_refuse(const char *input, size_t len)
{
	for (size_t i = 0; i < ROWS(stricter); i++)
		if (strlen(stricter[i].input) == len && memcmp(stricter[i].input, input, len) == 0)
			return stricter[i].reason;
	return NULL;
}

/*
 * Our JSON has no NUL in strings, and some cases have one: before reading, each is put as U+E000,
 * which stands nowhere else in the file.
 */
static void hide_nuls(char *text)
{
	for (char *at = text; (at = strstr(at, "\\u0000"));)
		memcpy(at, "\\uE000", 6);
}

static void show_nuls(const char *text, struct buffer *out)
{
	const char *next;

	for (; (next = strstr(text, "\xee\x80\x80")); text = next + 3) {
		buffer_add(out, text, (size_t)(next - text));
		buffer_addc(out, '\0');
	}
	buffer_adds(out, text);
}

/* The host as the standard prints it, and the port ("" for the scheme's own). */
static void print_result(const struct url *u, struct buffer *host, struct buffer *port)
{
	if (u->is_address && u->address.bits == 128)
		buffer_addc(host, '[');
	if (u->is_address)
		address_print(&u->address, host);
	else
		buffer_adds(host, u->host);
	if (u->is_address && u->address.bits == 128)
		buffer_addc(host, ']');
	if (u->port != url_scheme_port(u->scheme, strlen(u->scheme)))
		buffer_printf(port, "%u", u->port);
}

static bool same_place(const struct url *u, const struct node *test)
{
	auto_buffer host = { 0 }, port = { 0 };

	print_result(u, &host, &port);
	return strcmp(buffer_text(&host), node_text(node_get(test, "hostname"))) == 0 &&
	       strcmp(buffer_text(&port), node_text(node_get(test, "port"))) == 0;
}

/* The standard takes it, and it has one of our schemes. */
static bool is_ours(const struct node *test)
{
	const char *protocol = node_text(node_get(test, "protocol"));

	return protocol && url_scheme_port(protocol, strlen(protocol) - 1) != 0;
}

/* NULL: as it should be; else what is wrong. */
static const char *judge(const struct node *test, const char *input, size_t len, struct error *e)
{
	struct url u;
	int r = url_parse(&u, input, len, e);

	if (r < 0 && !e->text[0])
		return "refused without a sentence";
	if (!is_ours(test))
		return r < 0 ? NULL : "taken, and should be refused";
	if (r < 0)
		return reason_to_refuse(input, len) ? NULL
						    : "refused without a reason in this file";
	if (reason_to_refuse(input, len))
		return "taken, and this file says why it is refused";
	return same_place(&u, test) ? NULL : "another host or port";
}

/* Cases without a base; relative ones have no host to find. */
static bool is_absolute(const struct node *test)
{
	const struct node *base = node_get(test, "base");

	return test->type == NODE_MAP &&
	       (!base || base->type == NODE_NULL || strcmp(node_text(base), "about:blank") == 0);
}

static bool run(const struct node *test, unsigned number)
{
	auto_buffer input = { 0 }, shown = { 0 };
	struct error e = { 0 };
	const char *wrong;

	show_nuls(node_text(node_get(test, "input")), &input);
	buffer_add_visible(&shown, buffer_text(&input), input.len);
	wrong = judge(test, buffer_text(&input), input.len, &e);
	printf("%sok %u - line %u\n", wrong ? "not " : "", number, test->line);
	if (wrong)
		printf("# %s: %s (%s)\n", buffer_text(&shown), wrong, e.text);
	return !wrong;
}

static int run_all(const char *file)
{
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	struct error e = { 0 };
	unsigned number = 0;
	bool good = true;

	if (file_read(file, NODE_INPUT_MAX, &text) < 0) {
		printf("1..1\nnot ok 1 - %s cannot be read\n", file);
		return EXIT_FAILURE;
	}
	hide_nuls(text.data);
	if (json_read(&d, file, text.data, text.len, &e) < 0) {
		printf("1..1\nnot ok 1 - %s:%u: %s\n", file, e.line, e.text);
		return EXIT_FAILURE;
	}
	node_for_each(test, d.root)
		if (is_absolute(test))
			good = run(test, ++number) && good;
	printf("1..%u\n", number);
	return good && number > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(void)
{
	const char *data = getenv("CORRAL_TEST_DATA");
	auto_buffer file = { 0 };

	if (!data)
		data = "../shared/data";
	buffer_printf(&file, "%s/urltestdata.json", data);
	if (access(buffer_text(&file), R_OK) < 0) {
		printf("1..0 # SKIP third-party cases not present: %s\n", buffer_text(&file));
		return EXIT_SUCCESS;
	}
	return run_all(buffer_text(&file));
}
