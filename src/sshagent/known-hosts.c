/* SPDX-License-Identifier: Apache-2.0 */
#include "sshagent/known-hosts.h"

#include <errno.h>
#include <stdio.h>

#include "base/ascii.h"
#include "codec/encoding.h"
#include "sshagent/host-key.h"

enum { KNOWN_HOSTS_LINE_MAX = 64 << 10 };

/* A part of a line. */
struct known_word {
	const char *text;
	size_t len;
};

void known_hosts_name(const char *host, unsigned port, char out[KNOWN_HOSTS_NAME])
{
	if (port == 22)
		(void)snprintf(out, KNOWN_HOSTS_NAME, "%s", host);
	else
		(void)snprintf(out, KNOWN_HOSTS_NAME, "[%s]:%u", host, port);
}

static struct known_word known_hosts_word(struct known_word *line)
{
	struct known_word w;

	while (line->len > 0 && (*line->text == ' ' || *line->text == '\t')) {
		line->text++;
		line->len--;
	}
	w.text = line->text;
	while (line->len > 0 && *line->text != ' ' && *line->text != '\t') {
		line->text++;
		line->len--;
	}
	w.len = (size_t)(line->text - w.text);
	return w;
}

static bool known_hosts_word_is(struct known_word w, const char *text)
{
	return w.len == strlen(text) && memcmp(w.text, text, w.len) == 0;
}

/* Names */

/* `*` and `?`; the last star is come back to, so the work is the product of both lengths at most.
 */
static bool known_hosts_matches(struct known_word p, const char *name)
{
	size_t at = 0, star = SIZE_MAX, resume = 0, i = 0;

	while (name[i]) {
		if (at < p.len && p.text[at] == '*') {
			star = at++;
			resume = i;
		} else if (at < p.len &&
			   (p.text[at] == '?' || ascii_lower(p.text[at]) == name[i])) {
			at++;
			i++;
		} else if (star != SIZE_MAX) {
			at = star + 1;
			i = ++resume;
		} else {
			return false;
		}
	}
	while (at < p.len && p.text[at] == '*')
		at++;
	return at == p.len;
}

/* One that is denied (!name) wins over all others of its line. */
static bool known_hosts_list_matches(struct known_word names, const char *name)
{
	bool is_matched = false;

	while (names.len > 0) {
		const char *comma = memchr(names.text, ',', names.len);
		const size_t len = comma ? (size_t)(comma - names.text) : names.len;
		const bool is_denied = len > 0 && names.text[0] == '!';
		const struct known_word one = { names.text + is_denied, len - is_denied };

		if (one.len > 0 && known_hosts_matches(one, name)) {
			if (is_denied)
				return false;
			is_matched = true;
		}
		names.text += len + (comma ? 1 : 0);
		names.len -= len + (comma ? 1 : 0);
	}
	return is_matched;
}

/* "|1|SALT|MAC", in base64 both. */
static int known_hosts_hash_matches(struct known_word w, const char *name, bool *ret)
{
	const char *salt = w.text + 3;
	const char *bar = w.len > 3 ? memchr(salt, '|', w.len - 3) : NULL;
	auto_arena room;
	uint8_t mac[HOST_KEY_MAC];
	const char *bytes, *wanted;
	size_t len = 0, wanted_len = 0;
	int r;

	arena_init(&room, KNOWN_HOSTS_LINE_MAX);
	*ret = false;
	if (!bar)
		return 0;
	r = encoding_decode(ENCODING_BASE64, salt, (size_t)(bar - salt), &room, &bytes, &len);
	if (r == 0)
		r = encoding_decode(ENCODING_BASE64, bar + 1, w.len - (size_t)(bar + 1 - w.text),
			&room, &wanted, &wanted_len);
	if (r < 0 || len != HOST_KEY_MAC || wanted_len != HOST_KEY_MAC)
		return r == -ENOMEM ? r : 0;
	*ret = host_key_mac((struct blob){ (const uint8_t *)bytes, len }, name, mac) &&
	       memcmp(mac, wanted, HOST_KEY_MAC) == 0;
	return 0;
}

static int known_hosts_is_about(struct known_word names, const char *name, bool *ret)
{
	if (names.len >= 3 && memcmp(names.text, "|1|", 3) == 0)
		return known_hosts_hash_matches(names, name, ret);
	*ret = known_hosts_list_matches(names, name);
	return 0;
}

/* Keys */

static int known_hosts_push(struct blob *keys, size_t *n, struct blob key)
{
	for (size_t i = 0; i < *n; i++)
		if (blob_equal(keys[i], key))
			return 0;
	if (*n == KNOWN_HOSTS_KEYS_MAX)
		return -E2BIG;
	keys[(*n)++] = key;
	return 0;
}

/* What is no key of its type is passed over, as ssh does. */
static int known_hosts_add(struct known_hosts *k, bool is_revoked, struct known_word type,
	struct known_word text, struct arena *a)
{
	struct blob key, rest, got;
	const char *bytes;
	size_t len;
	int r = encoding_decode(ENCODING_BASE64, text.text, text.len, a, &bytes, &len);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	key = rest = (struct blob){ (const uint8_t *)bytes, len };
	if (!blob_take_string(&rest, &got) ||
		!blob_equal(got, (struct blob){ (const uint8_t *)type.text, type.len }))
		return 0;
	if (is_revoked)
		return known_hosts_push(k->revoked, &k->n_revoked, key);
	if (!host_key_is_known(key)) {
		k->has_other = true;
		return 0;
	}
	return known_hosts_push(k->keys, &k->n, key);
}

static int known_hosts_read_line(
	struct known_hosts *k, const char *name, struct known_word line, struct arena *a)
{
	struct known_word names = known_hosts_word(&line), marker = { "", 0 }, type, key;
	bool is_about = false;
	int r;

	if (names.len == 0 || names.text[0] == '#')
		return 0;
	if (names.text[0] == '@') {
		marker = names;
		names = known_hosts_word(&line);
	}
	type = known_hosts_word(&line);
	key = known_hosts_word(&line);
	r = known_hosts_is_about(names, name, &is_about);
	if (r < 0 || !is_about)
		return r;
	if (known_hosts_word_is(marker, "@cert-authority")) {
		k->has_authority = true;
		return 0;
	}
	if (marker.len > 0 && !known_hosts_word_is(marker, "@revoked"))
		return 0;
	return known_hosts_add(k, marker.len > 0, type, key, a);
}

int known_hosts_read(
	struct known_hosts *k, const char *name, const void *data, size_t len, struct arena *a)
{
	const char *at = data, *end = at + len;
	int r = 0;

	while (r == 0 && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct known_word line = { at, (size_t)((newline ? newline : end) - at) };

		at += line.len + (newline ? 1 : 0);
		if (line.len > 0 && line.text[line.len - 1] == '\r')
			line.len--;
		/* It could revoke a key. */
		r = line.len > KNOWN_HOSTS_LINE_MAX ? -E2BIG
						    : known_hosts_read_line(k, name, line, a);
	}
	return r;
}

static bool known_hosts_is_revoked(const struct known_hosts *k, struct blob key)
{
	for (size_t i = 0; i < k->n_revoked; i++)
		if (blob_equal(k->revoked[i], key))
			return true;
	return false;
}

bool known_hosts_has(const struct known_hosts *k, struct blob key)
{
	for (size_t i = 0; i < k->n; i++)
		if (blob_equal(k->keys[i], key))
			return !known_hosts_is_revoked(k, key);
	return false;
}

size_t known_hosts_count(const struct known_hosts *k)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n; i++)
		n += !known_hosts_is_revoked(k, k->keys[i]);
	return n;
}
