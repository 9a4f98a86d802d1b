/* SPDX-License-Identifier: Apache-2.0 */
#include "vault/format.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/formats.h"
#include "base/path.h"
#include "wire/reader.h"

/* 128 MiB, three passes: a quarter of a second of one core. */
#define ARGON_OPS UINT64_C(3)
#define ARGON_MEMORY (UINT64_C(128) << 20)
/* A file that asks for more is not one of ours: it would only keep us busy. */
#define ARGON_OPS_MAX UINT64_C(16)
#define ARGON_MEMORY_MAX (UINT64_C(1) << 30)

enum {
	STREAM_HEADER_BYTES = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
	STREAM_MORE_BYTES = crypto_secretstream_xchacha20poly1305_ABYTES,
	PAD_BYTES = 128,
	HASH_BYTES = 32,
	VERSION_DIGITS = 9,
};

/* In a grant's places, in the file alone: programs follow. */
#define FORMAT_PROGRAMS (UINT32_C(1) << 16)

static const char format_magic[] = "corral vault ";

const char *const vault_slot_names[VAULT_SLOT_KINDS] = { "none", "passphrase", "systemd-creds",
	"secret-service" };
const char *const vault_place_names[7] = { "header", "query", "body",
	"form", [5] = "postgresql", [6] = "login" };

_Static_assert(VAULT_SALT_BYTES == crypto_pwhash_SALTBYTES, "Argon2id");
_Static_assert(VAULT_NONCE_BYTES == crypto_aead_xchacha20poly1305_ietf_NPUBBYTES, "wrapping");
_Static_assert(VAULT_KEY_BYTES == crypto_secretstream_xchacha20poly1305_KEYBYTES, "stream");

/* Words */

bool vault_name_is_valid(const char *name)
{
	static const char more[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.-";
	const size_t len = strnlen(name, VAULT_NAME_MAX + 1);

	return len > 0 && len <= VAULT_NAME_MAX && strspn(name, more) == len &&
	       !strchr("0123456789.-", name[0]);
}

bool vault_stand_in_is_valid(const char *text)
{
	if (strnlen(text, VAULT_STAND_IN_MAX + 1) > VAULT_STAND_IN_MAX)
		return false;
	for (; *text; text++)
		if (*text <= ' ' || *text >= 0x7f)
			return false;
	return true;
}

bool vault_host_is_valid(const char *host)
{
	const size_t len = strnlen(host, VAULT_TEXT_MAX);
	const char *colon = strrchr(host, ':');
	const size_t name = colon ? (size_t)(colon - host) : 0;
	const bool is_bracketed = host[0] == '[' && name > 2 && host[name - 1] == ']';
	unsigned long port;

	if (name == 0 || len - name < 2 || len - name > 6 ||
		strspn(colon + 1, "0123456789") != len - name - 1)
		return false;
	port = strtoul(colon + 1, NULL, 10);
	if (colon[1] == '0' || port > 65535)
		return false;
	if (is_bracketed)
		return strspn(host + 1, "0123456789abcdef:.") == name - 2;
	return strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_") == name && host[0] != '.';
}

/* Bytes of names of fields; those that no field of a credential has are left out. */
static const char vault_field_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789-_.";
static const char vault_field_prefix[] = "header:";

/* The bit of one word; 0: it is none. */
static uint32_t vault_place_parse(const char *text, size_t len)
{
	const size_t prefix = strlen(vault_field_prefix);

	for (size_t i = 0; i < ROWS(vault_place_names); i++)
		if (vault_place_names[i] && strlen(vault_place_names[i]) == len &&
			strncmp(vault_place_names[i], text, len) == 0)
			return 1U << i;
	return len > prefix && strncmp(text, vault_field_prefix, prefix) == 0 &&
			       strspn(text + prefix, vault_field_bytes) >= len - prefix
		       ? VAULT_FIELD
		       : 0;
}

bool vault_places_are_valid(uint32_t places)
{
	return places > 0 && places <= VAULT_PLACES_ALL &&
	       (!(places & (VAULT_POSTGRESQL | VAULT_LOGIN)) || places == VAULT_POSTGRESQL ||
		       places == VAULT_LOGIN);
}

int vault_places_parse(const char *text, uint32_t *ret)
{
	uint32_t places = 0;
	size_t fields = 0;

	while (*text) {
		const size_t len = strcspn(text, ",");
		const uint32_t place = vault_place_parse(text, len);

		fields += place == VAULT_FIELD ? len - strlen(vault_field_prefix) + 1 : 0;
		if (place == 0 || fields > VAULT_FIELDS_MAX)
			return -EINVAL;
		places |= place;
		text += len + (text[len] == ',');
	}
	if (!vault_places_are_valid(places))
		return -EINVAL;
	*ret = places;
	return 0;
}

int vault_fields_parse(const char *text, struct buffer *out)
{
	const size_t prefix = strlen(vault_field_prefix), start = out->len;

	while (*text) {
		const size_t len = strcspn(text, ",");

		if (len > prefix && strncmp(text, vault_field_prefix, prefix) == 0) {
			if (out->len > start)
				buffer_addc(out, ',');
			for (size_t i = prefix; i < len; i++)
				buffer_addc(out, ascii_lower(text[i]));
		}
		text += len + (text[len] == ',');
	}
	return out->failed ? -ENOMEM : 0;
}

bool vault_fields_are_valid(const char *fields)
{
	bool is_word = false;

	if (strnlen(fields, VAULT_FIELDS_MAX + 1) > VAULT_FIELDS_MAX)
		return false;
	for (const char *c = fields; *c; c++) {
		if (*c == ',' ? !is_word
			      : !strchr(vault_field_bytes, *c) || (*c >= 'A' && *c <= 'Z'))
			return false;
		is_word = *c != ',';
	}
	return !*fields || is_word;
}

bool vault_fields_have(const char *fields, const char *name, size_t len)
{
	while (fields && *fields) {
		const size_t n = strcspn(fields, ",");

		if (n == len && strncasecmp(fields, name, len) == 0)
			return true;
		fields += n + (fields[n] == ',');
	}
	return false;
}

void vault_places_print(uint32_t places, const char *fields, struct buffer *out)
{
	const char *between = "";

	for (size_t i = 0; i < ROWS(vault_place_names); i++) {
		if (!(places & 1U << i) || !vault_place_names[i])
			continue;
		buffer_printf(out, "%s%s", between, vault_place_names[i]);
		between = ",";
	}
	while (places & VAULT_FIELD && fields && *fields) {
		const size_t n = strcspn(fields, ",");

		buffer_printf(out, "%s%s%.*s", between, vault_field_prefix, (int)n, fields);
		between = ",";
		fields += n + (fields[n] == ',');
	}
}

/* Programs */

bool vault_programs_are_valid(const char *programs)
{
	if (strnlen(programs, VAULT_PROGRAMS_MAX + 1) > VAULT_PROGRAMS_MAX)
		return false;
	while (*programs) {
		const size_t len = strcspn(programs, ",");

		if (!path_is_plain(programs, len) || len < 2)
			return false;
		programs += len;
		if (*programs && !*++programs)
			return false;
	}
	return true;
}

bool vault_programs_have(const char *programs, const char *path)
{
	const size_t wanted = strlen(path);

	while (wanted > 0 && *programs) {
		const size_t len = strcspn(programs, ",");

		if (len == wanted && memcmp(programs, path, len) == 0)
			return true;
		programs += len + (programs[len] == ',');
	}
	return false;
}

/* Secrets */

void vault_deinit(struct vault *v)
{
	free(v->entries);
	arena_deinit(&v->arena);
	secret_free(&v->plain);
	*v = (struct vault){ 0 };
}

struct vault_entry *vault_find(struct vault *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->entries[i].name, name) == 0)
			return &v->entries[i];
	return NULL;
}

struct vault_entry *vault_add(struct vault *v, const char *name)
{
	struct vault_entry e = { .source = "", .stand_in = "" };
	struct vault_entry *more;

	if (v->n >= VAULT_ENTRIES_MAX)
		return NULL;
	more = realloc(v->entries, (v->n + 1) * sizeof(*more));
	if (!more)
		return NULL;
	v->entries = more;
	e.name = arena_strdup(&v->arena, name);
	e.grants = arena_calloc(&v->arena, VAULT_GRANTS_MAX, sizeof(*e.grants));
	if (!e.name || !e.grants)
		return NULL;
	v->entries[v->n] = e;
	return &v->entries[v->n++];
}

void vault_remove(struct vault *v, struct vault_entry *e)
{
	const size_t i = (size_t)(e - v->entries);

	memmove(e, e + 1, (v->n - i - 1) * sizeof(*e));
	v->n--;
}

/* Numbers */

static void format_put_u32(struct buffer *out, uint32_t n)
{
	const uint32_t le = htole32(n);

	buffer_add(out, &le, sizeof(le));
}

static void format_put_u64(struct buffer *out, uint64_t n)
{
	const uint64_t le = htole64(n);

	buffer_add(out, &le, sizeof(le));
}

static bool format_get_u32(struct reader *r, uint32_t *ret)
{
	uint32_t le;

	if (!reader_bytes(r, &le, sizeof(le)))
		return false;
	*ret = le32toh(le);
	return true;
}

static bool format_get_u64(struct reader *r, uint64_t *ret)
{
	uint64_t le;

	if (!reader_bytes(r, &le, sizeof(le)))
		return false;
	*ret = le64toh(le);
	return true;
}

/* The header */

static void format_put_slot(struct buffer *out, const struct vault_slot *s)
{
	format_put_u32(out, s->kind);
	buffer_add(out, s->salt, sizeof(s->salt));
	format_put_u64(out, s->ops);
	format_put_u64(out, s->memory);
	buffer_add(out, s->nonce, sizeof(s->nonce));
	buffer_add(out, s->wrapped, sizeof(s->wrapped));
	format_put_u32(out, s->blob_len);
	buffer_add(out, s->blob, s->blob_len);
}

static void format_put_header(struct buffer *out, const struct vault_header *h)
{
	buffer_printf(out, "%s%" PRIu32 "\n", format_magic, formats_rows[FORMAT_VAULT].version);
	buffer_add(out, h->id, sizeof(h->id));
	format_put_u64(out, h->generation);
	format_put_u32(out, h->n_slots);
	for (uint32_t i = 0; i < h->n_slots; i++)
		format_put_slot(out, &h->slots[i]);
}

static bool format_get_slot(struct reader *r, struct vault_slot *s)
{
	uint32_t kind;

	if (!format_get_u32(r, &kind) || kind == VAULT_SLOT_NONE || kind >= VAULT_SLOT_KINDS ||
		!reader_bytes(r, s->salt, sizeof(s->salt)) || !format_get_u64(r, &s->ops) ||
		!format_get_u64(r, &s->memory) || !reader_bytes(r, s->nonce, sizeof(s->nonce)) ||
		!reader_bytes(r, s->wrapped, sizeof(s->wrapped)) ||
		!format_get_u32(r, &s->blob_len) || s->blob_len > VAULT_BLOB_MAX ||
		!reader_bytes(r, s->blob, s->blob_len))
		return false;
	s->kind = (enum vault_slot_kind)kind;
	if (kind != VAULT_SLOT_PASSPHRASE)
		return s->ops == 0 && s->memory == 0;
	return s->ops >= 1 && s->ops <= ARGON_OPS_MAX && s->memory >= crypto_pwhash_MEMLIMIT_MIN &&
	       s->memory <= ARGON_MEMORY_MAX && s->blob_len == 0;
}

/* The first line. The check of the version stands before all others: what is newer is not damaged.
 */
static int format_get_version(struct reader *r, const char *path, struct error *e)
{
	const size_t magic = sizeof(format_magic) - 1;
	uint64_t version = 0;
	size_t n = 0;
	int c;

	if (r->left < magic || memcmp(r->data, format_magic, magic) != 0)
		return -EBADMSG;
	r->data += magic;
	r->left -= magic;
	for (; r->left > 0 && n <= VERSION_DIGITS; n++, r->data++, r->left--) {
		c = (unsigned char)*r->data;
		if (c < '0' || c > '9')
			break;
		version = version * 10 + (uint64_t)(c - '0');
	}
	if (n == 0 || n > VERSION_DIGITS || r->left == 0 || *r->data != '\n')
		return -EBADMSG;
	r->data++;
	r->left--;
	return formats_check(FORMAT_VAULT, version, path, e);
}

int vault_header_decode(struct vault_header *ret, const void *data, size_t len, const char *path,
	size_t *ret_at, struct error *e)
{
	struct reader r = { data, len };
	struct vault_header h = { 0 };
	int error = format_get_version(&r, path, e);

	if (error < 0)
		return error;
	if (!reader_bytes(&r, h.id, sizeof(h.id)) || !format_get_u64(&r, &h.generation) ||
		!format_get_u32(&r, &h.n_slots) || h.n_slots == 0 || h.n_slots > VAULT_SLOTS_MAX)
		return -EBADMSG;
	for (uint32_t i = 0; i < h.n_slots; i++)
		if (!format_get_slot(&r, &h.slots[i]))
			return -EBADMSG;
	*ret = h;
	*ret_at = len - r.left;
	return 0;
}

/* Messages */

static void format_hash(uint8_t ret[HASH_BYTES], const void *data, size_t len)
{
	(void)crypto_generichash(ret, HASH_BYTES, data, len, NULL, 0);
}

struct format_writer {
	uint8_t *data;
	size_t len, max;
};

static bool format_write(struct format_writer *w, const void *data, size_t len)
{
	if (w->max - w->len < len)
		return false;
	if (len > 0)
		memcpy(w->data + w->len, data, len);
	w->len += len;
	return true;
}

static bool format_write_text(struct format_writer *w, const char *text)
{
	return format_write(w, text, strlen(text) + 1);
}

/* One secret in the scratch; the caller pads it. */
static int format_write_entry(struct format_writer *w, const struct vault_entry *e)
{
	const uint64_t numbers[] = { htole64(e->created_s), htole64(e->changed_s),
		htole64(e->expires_s), htole64(e->keep_s) };
	const uint32_t counts[] = { htole32(e->version), htole32(e->value_len),
		htole32(e->n_grants) };

	if (!format_write(w, numbers, sizeof(numbers)) ||
		!format_write(w, counts, sizeof(counts)) || !format_write_text(w, e->name) ||
		!format_write_text(w, e->source) || !format_write(w, e->value, e->value_len))
		return -E2BIG;
	for (uint32_t i = 0; i < e->n_grants; i++) {
		const struct vault_grant *g = &e->grants[i];
		const bool has_programs = g->programs && *g->programs;
		const uint32_t places = htole32(g->places | (has_programs ? FORMAT_PROGRAMS : 0));

		if (!format_write(w, &places, sizeof(places)) || !format_write_text(w, g->host) ||
			!format_write_text(w, g->principal) ||
			(g->places & VAULT_FIELD && !format_write_text(w, g->fields)) ||
			(has_programs && !format_write_text(w, g->programs)))
			return -E2BIG;
	}
	return !*e->stand_in || format_write_text(w, e->stand_in) ? 0 : -E2BIG;
}

static int format_push(struct buffer *out, crypto_secretstream_xchacha20poly1305_state *state,
	const struct format_writer *w, const uint8_t *more, size_t more_len, uint8_t tag)
{
	const size_t len = w->len + STREAM_MORE_BYTES;
	uint8_t *cipher = malloc(len);

	if (!cipher)
		return -ENOMEM;
	(void)crypto_secretstream_xchacha20poly1305_push(
		state, cipher, NULL, w->data, w->len, more, more_len, tag);
	format_put_u32(out, (uint32_t)len);
	buffer_add(out, cipher, len);
	free(cipher);
	return out->failed ? -ENOMEM : 0;
}

int vault_encode(const struct vault *v, const uint8_t key[VAULT_KEY_BYTES], struct secret *scratch,
	struct buffer *out)
{
	crypto_secretstream_xchacha20poly1305_state state;
	uint8_t header[STREAM_HEADER_BYTES], hash[HASH_BYTES];
	const size_t start = out->len;
	int r = 0;

	format_put_header(out, &v->header);
	if (out->failed)
		return -ENOMEM;
	format_hash(hash, out->data + start, out->len - start);
	(void)crypto_secretstream_xchacha20poly1305_init_push(&state, header, key);
	buffer_add(out, header, sizeof(header));
	for (size_t i = 0; r == 0 && i <= v->n; i++) {
		struct format_writer w = { .data = scratch->data, .max = scratch->len };
		const bool is_last = i == v->n;

		if (!is_last)
			r = format_write_entry(&w, &v->entries[i]);
		if (r == 0 && !is_last && sodium_pad(&w.len, w.data, w.len, PAD_BYTES, w.max) < 0)
			r = -E2BIG;
		if (r == 0)
			r = format_push(out, &state, &w, i == 0 ? hash : NULL,
				i == 0 ? sizeof(hash) : 0,
				is_last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : 0);
		secret_wipe(scratch->data, w.len);
	}
	secret_wipe(&state, sizeof(state));
	return r == 0 && out->len - start > VAULT_FILE_MAX ? -E2BIG : r;
}

static bool format_read_grant(struct reader *r, struct vault_grant *g, struct arena *a)
{
	const char *host, *principal, *fields = "", *programs = "";
	bool has_programs;

	if (!format_get_u32(r, &g->places))
		return false;
	has_programs = g->places & FORMAT_PROGRAMS;
	g->places &= ~FORMAT_PROGRAMS;
	host = vault_places_are_valid(g->places) ? reader_string(r) : NULL;
	principal = host ? reader_string(r) : NULL;
	if (!principal || !vault_host_is_valid(host) || strlen(principal) >= VAULT_TEXT_MAX)
		return false;
	if (g->places & VAULT_FIELD)
		fields = reader_string(r);
	if (!fields || !vault_fields_are_valid(fields) || !*fields != !(g->places & VAULT_FIELD))
		return false;
	if (has_programs)
		programs = reader_string(r);
	/* None of them is not any of them. */
	if (!programs || !vault_programs_are_valid(programs) || !*programs != !has_programs)
		return false;
	g->host = arena_strdup(a, host);
	g->principal = arena_strdup(a, principal);
	g->fields = arena_strdup(a, fields);
	g->programs = arena_strdup(a, programs);
	return g->host && g->principal && g->fields && g->programs;
}

static bool format_read_grants(struct reader *r, struct vault_entry *e, struct arena *a)
{
	for (uint32_t i = 0; i < e->n_grants; i++)
		if (!format_read_grant(r, &e->grants[i], a))
			return false;
	return true;
}

/* The last of an entry, if it has one. */
static bool format_read_stand_in(struct reader *r, struct vault_entry *e, struct arena *a)
{
	const char *text = r->left > 0 ? reader_string(r) : "";

	if (!text || r->left > 0 || !vault_stand_in_is_valid(text))
		return false;
	e->stand_in = arena_strdup(a, text);
	return e->stand_in;
}

/* Its name and texts are copied, its value stays where it is. */
static int format_read_entry(struct vault *v, const uint8_t *data, size_t len)
{
	struct reader r = { (const char *)data, len };
	uint32_t version, value_len, n_grants;
	uint64_t numbers[4];
	const char *name, *source;
	struct vault_entry *e;

	for (size_t i = 0; i < ROWS(numbers); i++)
		if (!format_get_u64(&r, &numbers[i]))
			return -EBADMSG;
	if (!format_get_u32(&r, &version) || !format_get_u32(&r, &value_len) ||
		!format_get_u32(&r, &n_grants) || n_grants > VAULT_GRANTS_MAX ||
		value_len > VAULT_VALUE_MAX)
		return -EBADMSG;
	name = reader_string(&r);
	source = name ? reader_string(&r) : NULL;
	if (!source || !vault_name_is_valid(name) || strlen(source) >= VAULT_TEXT_MAX ||
		r.left < value_len || vault_find(v, name))
		return -EBADMSG;
	e = vault_add(v, name);
	if (!e)
		return v->n >= VAULT_ENTRIES_MAX ? -EBADMSG : -ENOMEM;
	e->source = arena_strdup(&v->arena, source);
	e->version = version;
	e->created_s = numbers[0];
	e->changed_s = numbers[1];
	e->expires_s = numbers[2];
	e->keep_s = numbers[3];
	e->n_grants = n_grants;
	e->value = (const uint8_t *)r.data;
	e->value_len = value_len;
	r.data += value_len;
	r.left -= value_len;
	if (!e->source)
		return -ENOMEM;
	return format_read_grants(&r, e, &v->arena) && format_read_stand_in(&r, e, &v->arena)
		       ? 0
		       : -EBADMSG;
}

/* Decrypts the next message to out, which has room for it. 1: it was the last. */
static int format_pull(struct reader *r, crypto_secretstream_xchacha20poly1305_state *state,
	const uint8_t *more, size_t more_len, uint8_t *out, size_t *ret_len)
{
	unsigned long long plain = 0;
	uint32_t len;
	uint8_t tag;

	if (!format_get_u32(r, &len) || len < STREAM_MORE_BYTES || r->left < len)
		return -EKEYREJECTED;
	if (crypto_secretstream_xchacha20poly1305_pull(
		    state, out, &plain, &tag, (const uint8_t *)r->data, len, more, more_len) < 0)
		return -EKEYREJECTED;
	r->data += len;
	r->left -= len;
	*ret_len = (size_t)plain;
	return tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL;
}

static int format_read_messages(struct vault *v, struct reader *r,
	crypto_secretstream_xchacha20poly1305_state *state, const uint8_t hash[HASH_BYTES])
{
	uint8_t *at = v->plain.data;

	for (size_t i = 0;; i++) {
		size_t len = 0;
		int e = format_pull(
			r, state, i == 0 ? hash : NULL, i == 0 ? HASH_BYTES : 0, at, &len);

		if (e < 0)
			return e;
		if (e == 1)
			return len == 0 && r->left == 0 ? 0 : -EBADMSG;
		if (sodium_unpad(&len, at, len, PAD_BYTES) < 0)
			return -EBADMSG;
		e = format_read_entry(v, at, len);
		if (e < 0)
			return e;
		at += len;
	}
}

int vault_decode(struct vault *ret, const void *data, size_t len, const char *path,
	const uint8_t key[VAULT_KEY_BYTES], struct error *e)
{
	crypto_secretstream_xchacha20poly1305_state state;
	uint8_t hash[HASH_BYTES], header[STREAM_HEADER_BYTES];
	struct vault v = { 0 };
	struct reader r;
	size_t at = 0;
	int error = vault_header_decode(&v.header, data, len, path, &at, e);

	if (error < 0)
		return error;
	r = (struct reader){ (const char *)data + at, len - at };
	format_hash(hash, data, at);
	if (!reader_bytes(&r, header, sizeof(header)))
		return -EBADMSG;
	if (crypto_secretstream_xchacha20poly1305_init_pull(&state, header, key) < 0)
		return -EKEYREJECTED;
	error = secret_new(&v.plain, r.left);
	if (error == 0)
		error = format_read_messages(&v, &r, &state, hash);
	secret_wipe(&state, sizeof(state));
	if (error == 0)
		*ret = v;
	else
		vault_deinit(&v);
	return error;
}

/* Slots */

int vault_slot_derive(const struct vault_slot *s, const void *passphrase, size_t len,
	uint8_t ret[VAULT_KEY_BYTES])
{
	return crypto_pwhash(ret, VAULT_KEY_BYTES, passphrase, len, s->salt, s->ops,
		       (size_t)s->memory, crypto_pwhash_ALG_ARGON2ID13) < 0
		       ? -ENOMEM
		       : 0;
}

void vault_slot_new(struct vault_slot *ret, enum vault_slot_kind kind)
{
	*ret = (struct vault_slot){ .kind = kind };
	randombytes_buf(ret->salt, sizeof(ret->salt));
	if (kind == VAULT_SLOT_PASSPHRASE) {
		ret->ops = ARGON_OPS;
		ret->memory = ARGON_MEMORY;
	}
}

/* What a wrapped key belongs to: this vault, this kind of slot. */
struct format_slot_mark {
	uint8_t id[VAULT_ID_BYTES];
	uint32_t kind;
};

static struct format_slot_mark format_mark(
	const struct vault_slot *s, const uint8_t id[VAULT_ID_BYTES])
{
	struct format_slot_mark m = { .kind = htole32(s->kind) };

	memcpy(m.id, id, sizeof(m.id));
	return m;
}

void vault_slot_wrap(struct vault_slot *s, const uint8_t id[VAULT_ID_BYTES],
	const uint8_t by[VAULT_KEY_BYTES], const uint8_t key[VAULT_KEY_BYTES])
{
	const struct format_slot_mark m = format_mark(s, id);

	randombytes_buf(s->nonce, sizeof(s->nonce));
	(void)crypto_aead_xchacha20poly1305_ietf_encrypt(s->wrapped, NULL, key, VAULT_KEY_BYTES,
		(const uint8_t *)&m, sizeof(m), NULL, s->nonce, by);
}

int vault_slot_unwrap(const struct vault_slot *s, const uint8_t id[VAULT_ID_BYTES],
	const uint8_t by[VAULT_KEY_BYTES], uint8_t ret[VAULT_KEY_BYTES])
{
	const struct format_slot_mark m = format_mark(s, id);

	return crypto_aead_xchacha20poly1305_ietf_decrypt(ret, NULL, NULL, s->wrapped,
		       sizeof(s->wrapped), (const uint8_t *)&m, sizeof(m), s->nonce, by) < 0
		       ? -EKEYREJECTED
		       : 0;
}
