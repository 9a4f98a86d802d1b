/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing and reading go through the members in one order. A count is compared with the bytes that
 * are left before room is made for so many, and every text is checked to end where it says:
 * whatever the bytes are, reading costs what their number costs, and ends inside of them.
 */
#include "policy/format/image.h"

#include <errno.h>
#include <string.h>

#include "codec/encoding.h"
#include "policy/operation.h"

/* Of the layout below: who changes it, or what a member means, adds one. */
enum { IMAGE_VERSION = 5, DEPTH_MAX = 8 };
/* Of a flat list: bytes of a run, and how many each text has at least, on an average. */
enum { RUN_BYTES = 16, FLAT_TEXT_BYTES = 8 };
/* What stands before a text: none, the file that most places are in, or any other. */
enum { TEXT_NONE, TEXT_FILE, TEXT_OWN };

/* Writing */

static void image_put(struct buffer *out, uint64_t value)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(value >> (8 * i));
	buffer_add(out, bytes, sizeof(bytes));
}

static void image_put_text(struct buffer *out, const char *file, const char *text)
{
	size_t len = text ? strlen(text) : 0;
	bool is_file = text && file && strcmp(text, file) == 0;

	image_put(out, (uint64_t)len << 2 | (!text ? TEXT_NONE : is_file ? TEXT_FILE : TEXT_OWN));
	if (text && !is_file)
		buffer_add(out, text, len + 1);
}

static void image_put_place(struct buffer *out, const char *file, const struct location *where)
{
	image_put(out, (uint64_t)where->line << 32 | where->column);
	image_put_text(out, file, where->file);
}

/*
 * Nearly all lists that are long: each entry is one pattern, and stands in the file that the layer
 * is from, one in a line. Of such a list there are the runs of entries that stand in lines one
 * after another, and then all texts, so that reading it is little more than looking for their ends.
 */
static bool image_is_flat(const char *file, const struct grant_list *list)
{
	uint64_t size = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct grant *g = &list->items[i];

		if (!file || g->n != 1 || !g->where.file ||
			(g->where.file != file && strcmp(g->where.file, file) != 0))
			return false;
		size += strlen(g->all[0]) + 1;
	}
	return list->n > 0 && size / FLAT_TEXT_BYTES >= list->n;
}

/* How many entries from this one on stand in one run. */
static size_t image_run(const struct grant_list *list, size_t first)
{
	const struct location *at = &list->items[first].where;
	size_t n = 1;

	while (n < list->n - first && list->items[first + n].where.column == at->column &&
		list->items[first + n].where.line == (uint64_t)at->line + n)
		n++;
	return n;
}

static void image_put_flat(struct buffer *out, const struct grant_list *list)
{
	size_t n_runs = 0;

	for (size_t i = 0; i < list->n; i += image_run(list, i))
		n_runs++;
	image_put(out, n_runs);
	for (size_t i = 0, n; i < list->n; i += n) {
		const struct location *at = &list->items[i].where;

		n = image_run(list, i);
		image_put(out, n);
		image_put(out, (uint64_t)at->line << 32 | at->column);
	}
	for (size_t i = 0; i < list->n; i++)
		buffer_add(out, list->items[i].all[0], strlen(list->items[i].all[0]) + 1);
}

static void image_put_list(struct buffer *out, const char *file, const struct grant_list *list)
{
	bool is_flat = image_is_flat(file, list);

	image_put(out, (uint64_t)list->n << 1 | is_flat);
	if (is_flat) {
		image_put_flat(out, list);
		return;
	}
	for (size_t i = 0; i < list->n; i++) {
		const struct grant *g = &list->items[i];

		image_put(out, g->n);
		for (size_t k = 0; k < g->n; k++)
			image_put_text(out, NULL, g->all[k]);
		image_put_place(out, file, &g->where);
	}
}

static void image_put_service(struct buffer *out, const char *file, const struct service *s)
{
	image_put_text(out, NULL, s->name);
	image_put(out, s->access);
	image_put(out, s->n_scopes);
	for (size_t i = 0; i < s->n_scopes; i++) {
		image_put_text(out, NULL, s->scopes[i].key);
		image_put_list(out, file, &s->scopes[i].values);
	}
	image_put(out, s->bounds.range_seconds);
	image_put(out, s->bounds.max_size);
	image_put(out, s->bounds.rate.count);
	image_put(out, s->bounds.rate.seconds);
	image_put_place(out, file, &s->where);
}

static void image_put_rule(struct buffer *out, const char *file, const struct rule *r)
{
	image_put_text(out, NULL, r->id);
	image_put_text(out, NULL, r->name);
	image_put(out, r->action);
	image_put(out, (uint32_t)r->priority);
	image_put(out, r->operations);
	image_put_list(out, file, &r->patterns);
	image_put_list(out, file, &r->methods);
	image_put(out, r->disabled);
	image_put_place(out, file, &r->where);
}

static int image_put_layer(struct buffer *out, const struct permissions *p, unsigned depth)
{
	const char *file = p->origin;
	int r = depth == DEPTH_MAX ? -E2BIG : 0;

	image_put_text(out, NULL, file);
	image_put(out, p->line_place);
	for (int l = 0; l < LIST_COUNT; l++)
		image_put_list(out, file, permissions_list(p, (enum permission_list)l));
	image_put(out, p->network.rate.count);
	image_put(out, p->network.rate.seconds);
	image_put(out, p->network.max_bytes);
	image_put(out, p->network.max_request_size);
	image_put(out, p->exec_listed);
	image_put(out, p->is_shield);
	image_put(out, p->fallback);
	image_put(out, p->mode);
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		image_put(out, p->limits.values[i]);
	image_put(out, p->n_services);
	for (size_t i = 0; i < p->n_services; i++)
		image_put_service(out, file, &p->services[i]);
	image_put(out, p->n_guest_paths);
	for (size_t i = 0; i < p->n_guest_paths; i++) {
		image_put_text(out, NULL, p->guest_paths[i].guest);
		image_put_text(out, NULL, p->guest_paths[i].host);
		image_put(out, p->guest_paths[i].writable);
		image_put_place(out, file, &p->guest_paths[i].where);
	}
	image_put(out, p->n_rules);
	for (size_t i = 0; i < p->n_rules; i++)
		image_put_rule(out, file, &p->rules[i]);
	image_put(out, p->n_all_of);
	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = image_put_layer(out, p->all_of[i], depth + 1);
	return r;
}

int image_write(const struct permissions *p, struct buffer *out)
{
	image_put(out, IMAGE_VERSION);
	/* A build with more lists or operations has other images. */
	image_put(out, LIST_COUNT);
	image_put(out, OPERATION_COUNT);
	return image_put_layer(out, p, 0);
}

/* Reading */

struct image_reader {
	const char *at;
	size_t left;
	struct permissions *to; /* the layer at hand */
	const char *file;       /* its origin */
	int code;               /* of the first failure; from then on all is zero */
};

static void image_fail(struct image_reader *r, int code)
{
	if (r->code == 0)
		r->code = code;
	r->left = 0;
}

static uint64_t image_take(struct image_reader *r)
{
	uint64_t value = 0;

	if (r->left < sizeof(value)) {
		image_fail(r, -EBADMSG);
		return 0;
	}
	for (size_t i = 0; i < sizeof(value); i++)
		value |= (uint64_t)(unsigned char)r->at[i] << (8 * i);
	r->at += sizeof(value);
	r->left -= sizeof(value);
	return value;
}

/* A number that is at most this. */
static uint64_t image_take_upto(struct image_reader *r, uint64_t most)
{
	uint64_t value = image_take(r);

	if (value <= most)
		return value;
	image_fail(r, -EBADMSG);
	return 0;
}

static bool image_take_flag(struct image_reader *r)
{
	return image_take_upto(r, 1) == 1;
}

/* Room for n of that size; NULL: none, or reading has failed. */
static void *image_make_array(struct image_reader *r, size_t n, size_t size)
{
	void *items = n ? arena_calloc(r->to->arena, n, size) : NULL;

	if (n && !items)
		image_fail(r, -ENOMEM);
	return items;
}

/* Room for as many as are said to follow, of which each takes eight bytes at least. */
static void *image_take_array(struct image_reader *r, size_t size, size_t *ret_n)
{
	size_t n = (size_t)image_take_upto(r, r->left / 8);
	void *items = image_make_array(r, n, size);

	*ret_n = items ? n : 0;
	return items;
}

static const char *image_take_text(struct image_reader *r, const char *file)
{
	uint64_t head = image_take(r), len = head >> 2;
	unsigned kind = head & 3;
	const char *text = r->at;

	if (kind == TEXT_NONE && len == 0)
		return NULL;
	if (kind == TEXT_FILE && file && strlen(file) == len)
		return file;
	if (kind != TEXT_OWN || len >= r->left || text[len] || memchr(text, '\0', (size_t)len) ||
		(file && strcmp(text, file) == 0)) {
		image_fail(r, -EBADMSG);
		return NULL;
	}
	r->at += len + 1;
	r->left -= (size_t)len + 1;
	return text;
}

/* One that must be there; "" where it is not, and reading has failed. */
static const char *image_take_word(struct image_reader *r)
{
	const char *text = image_take_text(r, NULL);

	if (!text)
		image_fail(r, -EBADMSG);
	return text ? text : "";
}

static struct location image_take_place(struct image_reader *r)
{
	uint64_t at = image_take(r);

	return (struct location){ .file = image_take_text(r, r->file),
		.line = (uint32_t)(at >> 32),
		.column = (uint32_t)at };
}

/* The places of n entries. There is one way to write them: no run goes on in the next. */
static void image_take_runs(struct image_reader *r, struct grant *items, size_t n, size_t n_runs)
{
	uint64_t line = 0;
	size_t i = 0;

	for (size_t run = 0; run < n_runs && r->code == 0; run++) {
		uint64_t count = image_take_upto(r, n - i), at = image_take(r);

		if (count == 0 || (at >> 32) + count - 1 > UINT32_MAX ||
			(i > 0 && at >> 32 == line && (uint32_t)at == items[i - 1].where.column))
			image_fail(r, -EBADMSG);
		for (line = at >> 32; r->code == 0 && count > 0; count--, i++, line++)
			items[i].where = (struct location){ r->file, (uint32_t)line, (uint32_t)at };
	}
	if (i < n)
		image_fail(r, -EBADMSG);
}

/* The runs come first, then the texts. */
static void image_take_flat(struct image_reader *r, size_t n, struct grant_list *list)
{
	struct grant *items = arena_room(r->to->arena, n, sizeof(*items));
	const char **all = arena_room(r->to->arena, n, sizeof(const char *));
	const size_t n_runs = (size_t)image_take_upto(r, r->left / RUN_BYTES);
	const char *at, *end;

	if (!items || !all) {
		image_fail(r, -ENOMEM);
		return;
	}
	if (r->code == 0)
		image_take_runs(r, items, n, n_runs);
	at = r->at;
	end = at + r->left;
	for (size_t i = 0; i < n && r->code == 0; i++) {
		const char *stop = at < end ? memchr(at, '\0', (size_t)(end - at)) : NULL;

		if (!stop) {
			image_fail(r, -EBADMSG);
			return;
		}
		all[i] = at;
		items[i].all = &all[i];
		items[i].n = 1;
		at = stop + 1;
	}
	/* Shorter ones are not written so. */
	if ((size_t)(at - r->at) / FLAT_TEXT_BYTES < n)
		image_fail(r, -EBADMSG);
	if (r->code < 0)
		return;
	*list = (struct grant_list){ .items = items, .n = n, .cap = n };
	r->at = at;
	r->left = (size_t)(end - at);
}

static void image_take_list(struct image_reader *r, struct grant_list *list)
{
	uint64_t head = image_take(r);
	bool is_flat = head & 1;
	size_t n = (size_t)(head >> 1);

	if (r->code < 0 || n > r->left / (is_flat ? FLAT_TEXT_BYTES : 8) ||
		(is_flat && (n == 0 || !r->file))) {
		image_fail(r, -EBADMSG);
		return;
	}
	if (is_flat) {
		image_take_flat(r, n, list);
		return;
	}
	list->items = image_make_array(r, n, sizeof(*list->items));
	list->n = list->cap = list->items ? n : 0;
	for (size_t i = 0; i < list->n && r->code == 0; i++) {
		struct grant *g = &list->items[i];

		g->all = image_take_array(r, sizeof(*g->all), &g->n);
		if (g->n == 0)
			image_fail(r, -EBADMSG);
		for (size_t k = 0; k < g->n; k++)
			g->all[k] = image_take_word(r);
		g->where = image_take_place(r);
	}
	/* There is one way to write each. */
	if (r->code == 0 && image_is_flat(r->file, list))
		image_fail(r, -EBADMSG);
}

static void image_take_service(struct image_reader *r, struct service *s)
{
	s->name = image_take_word(r);
	s->access = (unsigned)image_take_upto(r, SERVICE_ALL);
	s->scopes = image_take_array(r, sizeof(*s->scopes), &s->n_scopes);
	s->cap_scopes = s->n_scopes;
	for (size_t i = 0; i < s->n_scopes && r->code == 0; i++) {
		s->scopes[i].key = image_take_word(r);
		image_take_list(r, &s->scopes[i].values);
	}
	s->bounds.range_seconds = image_take(r);
	s->bounds.max_size = image_take(r);
	s->bounds.rate.count = image_take(r);
	s->bounds.rate.seconds = image_take(r);
	s->where = image_take_place(r);
}

static void image_take_rule(struct image_reader *r, struct rule *rule)
{
	rule->id = image_take_word(r);
	rule->name = image_take_text(r, NULL);
	rule->action = (enum verdict)image_take_upto(r, VERDICT_ALLOW);
	rule->priority = (int32_t)(uint32_t)image_take_upto(r, UINT32_MAX);
	rule->operations = (unsigned)image_take_upto(r, (1U << OPERATION_COUNT) - 1);
	image_take_list(r, &rule->patterns);
	image_take_list(r, &rule->methods);
	rule->disabled = image_take_flag(r);
	rule->where = image_take_place(r);
}

static void image_take_guest_path(struct image_reader *r, struct guest_path *g)
{
	g->guest = image_take_word(r);
	g->host = image_take_word(r);
	g->writable = image_take_flag(r);
	g->where = image_take_place(r);
}

static void image_take_layer(struct image_reader *r, struct permissions *p, unsigned depth)
{
	size_t n;

	r->to = p;
	r->file = p->origin = image_take_text(r, NULL);
	p->line_place = (enum line_place)image_take_upto(r, LINE_NOWHERE);
	for (int l = 0; l < LIST_COUNT; l++)
		image_take_list(r, permissions_list(p, (enum permission_list)l));
	p->network.rate.count = image_take(r);
	p->network.rate.seconds = image_take(r);
	p->network.max_bytes = image_take(r);
	p->network.max_request_size = image_take(r);
	p->exec_listed = image_take_flag(r);
	p->is_shield = image_take_flag(r);
	p->fallback = (enum verdict)image_take_upto(r, VERDICT_ALLOW);
	p->mode = (enum mode)image_take_upto(r, MODE_COUNT - 1);
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		p->limits.values[i] = image_take(r);
	p->services = image_take_array(r, sizeof(*p->services), &p->n_services);
	p->cap_services = p->n_services;
	for (size_t i = 0; i < p->n_services && r->code == 0; i++)
		image_take_service(r, &p->services[i]);
	p->guest_paths = image_take_array(r, sizeof(*p->guest_paths), &p->n_guest_paths);
	p->cap_guest_paths = p->n_guest_paths;
	for (size_t i = 0; i < p->n_guest_paths && r->code == 0; i++)
		image_take_guest_path(r, &p->guest_paths[i]);
	p->rules = image_take_array(r, sizeof(*p->rules), &p->n_rules);
	p->cap_rules = p->n_rules;
	for (size_t i = 0; i < p->n_rules && r->code == 0; i++)
		image_take_rule(r, &p->rules[i]);
	n = depth < DEPTH_MAX - 1 ? (size_t)image_take_upto(r, r->left / 8)
				  : (size_t)image_take_upto(r, 0);
	for (size_t i = 0; i < n && r->code == 0; i++) {
		struct permissions *layer = permissions_new_layer(p);

		if (!layer ||
			ARENA_PUSH(p->arena, p->all_of, p->n_all_of, p->cap_all_of, layer) < 0)
			image_fail(r, -ENOMEM);
		else
			image_take_layer(r, layer, depth + 1);
	}
}

int image_read(struct permissions *p, const char *bytes, size_t len)
{
	struct image_reader r = { .at = bytes, .left = len, .to = p };

	(void)image_take_upto(&r, IMAGE_VERSION);
	if (r.code == 0 && bytes[0] != IMAGE_VERSION)
		image_fail(&r, -EBADMSG);
	if (image_take_upto(&r, LIST_COUNT) != LIST_COUNT ||
		image_take_upto(&r, OPERATION_COUNT) != OPERATION_COUNT)
		image_fail(&r, -EBADMSG);
	image_take_layer(&r, p, 0);
	if (r.left > 0)
		image_fail(&r, -EBADMSG);
	return r.code;
}

/* As text: two digits for each byte, after a word that no JSON begins with. */

#define IMAGE_WORD "image:"

int image_write_text(const struct permissions *p, struct buffer *out)
{
	auto_buffer bytes = { 0 };
	int r = image_write(p, &bytes);

	buffer_adds(out, IMAGE_WORD);
	if (r == 0)
		encoding_print(ENCODING_HEX, bytes.data, bytes.len, out);
	out->failed = out->failed || bytes.failed;
	return r;
}

bool image_is_text(const char *text)
{
	return strncmp(text, IMAGE_WORD, strlen(IMAGE_WORD)) == 0;
}

int image_read_text(struct permissions *p, const char *text)
{
	const char *digits, *bytes;
	size_t len;
	int r;

	if (!image_is_text(text))
		return -EBADMSG;
	digits = text + strlen(IMAGE_WORD);
	r = encoding_decode(ENCODING_HEX, digits, strlen(digits), p->arena, &bytes, &len);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	return image_read(p, bytes, len);
}
