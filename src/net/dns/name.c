/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pointer leads to a name that began before the one that it stands in, so whoever follows
 * pointers gets nearer to the front each time and comes to an end. They are counted all the same: a
 * name of many pointers costs many jumps, and none that is meant well needs more than a few.
 */
#include "net/dns/name.h"

#include <errno.h>

enum { LABEL_MAX = 63, POINTER = 0xc0, JUMPS_MAX = 64 };

/* The byte of a normal form; 0: it can have none. */
static char normal(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c - 'A' + 'a');
	if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')
		return (char)c;
	return '\0';
}

/* A name while it is read. */
struct reading {
	char *out;
	size_t len;  /* of out */
	size_t wire; /* as long as it would be without pointers */
	bool odd;
};

static int add_label(struct reading *r, const uint8_t *label, size_t len)
{
	r->wire += len + 1;
	/* One more byte is the end's. This bounds `out` too: it has no length in front. */
	if (r->wire + 1 > DNS_NAME_WIRE_MAX)
		return -EINVAL;
	if (r->len > 0)
		r->out[r->len++] = '.';
	for (size_t i = 0; i < len; i++) {
		char c = normal(label[i]);

		r->odd = r->odd || c == '\0';
		r->out[r->len++] = c;
	}
	return 0;
}

/* Where a pointer leads to: never to the header. */
static int pointer_target(struct dns_cursor *c, uint8_t first)
{
	const uint8_t *second = c->message + c->at;
	int target;

	if (!dns_cursor_skip(c, 1))
		return -EINVAL;
	target = (first & ~POINTER) << 8 | *second;
	return target >= DNS_HEADER_BYTES ? target : -EINVAL;
}

/* Reads labels up to the end (0) or a pointer (its target). */
static int read_labels(struct dns_cursor *c, struct reading *r)
{
	for (;;) {
		const uint8_t *p = c->message + c->at;
		int err;

		if (!dns_cursor_skip(c, 1))
			return -EINVAL;
		if (*p == 0)
			return 0;
		if ((*p & POINTER) == POINTER)
			return pointer_target(c, *p);
		if (*p > LABEL_MAX || !dns_cursor_skip(c, *p))
			return -EINVAL;
		err = add_label(r, p + 1, *p);
		if (err < 0)
			return err;
	}
}

int dns_name_read(struct dns_cursor *c, char out[DNS_NAME_BYTES], bool *ret_odd)
{
	struct reading r = { .out = out };
	struct dns_cursor place = *c;
	size_t start = c->at;
	int target = read_labels(&place, &r);

	c->at = place.at;
	for (int jumps = 0; target > 0; jumps++) {
		if (jumps == JUMPS_MAX || (size_t)target >= start)
			return -EINVAL;
		start = place.at = (size_t)target;
		target = read_labels(&place, &r);
	}
	if (target < 0)
		return target;
	out[r.odd ? 0 : r.len] = '\0';
	*ret_odd = r.odd;
	return 0;
}

/* The length of the label that a text begins with; 0: none. */
static size_t label_length(const char *text)
{
	size_t n = strcspn(text, ".");

	for (size_t i = 0; i < n; i++)
		if (normal((uint8_t)text[i]) != text[i])
			return 0;
	return n <= LABEL_MAX ? n : 0;
}

static bool dns_name_is_name(const char *name)
{
	size_t n = strnlen(name, DNS_NAME_WIRE_MAX);

	/* On the wire: a length in front, and the end. */
	if (n + 2 > DNS_NAME_WIRE_MAX)
		return false;
	for (;;) {
		n = label_length(name);
		if (n == 0 || name[n] == '\0')
			return n > 0;
		name += n + 1;
	}
}

int dns_name_write(struct dns_writer *w, const char *name)
{
	if (*name && !dns_name_is_name(name))
		return -EINVAL;
	while (*name) {
		uint8_t n = (uint8_t)strcspn(name, ".");

		dns_writer_add(w, &n, 1);
		dns_writer_add(w, name, n);
		name += n + (name[n] == '.');
	}
	dns_writer_add(w, "", 1);
	return 0;
}
