/* SPDX-License-Identifier: Apache-2.0 */
/* A client and a host, both by nghttp2, with what passes requests between them; no sockets, and a
 * clock that is ours. */
#include "test/unit.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "inject/h2/h2.h"
#include "vault/format.h"

#define VALUE "ghp_value-of-the-secret"
#define STARS "***********************"
#define NV(name, value)                                                             \
	{                                                                           \
		(uint8_t *)(name), (uint8_t *)(value), strlen(name), strlen(value), \
			NGHTTP2_NV_FLAG_NONE                                        \
	}

/* What a peer has got of its stream. */
struct peer {
	nghttp2_session *session;
	struct buffer fields, data;
	bool ended;
	uint32_t reset, n_resets;
	bool never_indexed;
	/* What it sends. */
	const char *body;
	size_t len, at;
	bool is_last;
};

struct world {
	struct placeholders *all;
	const struct placeholder *token;
	struct masking *masking;
	struct h2 *h2;
	struct peer client, host;
	uint32_t places;
	int refused;
	uint64_t now;
};

static bool world_may(void *context, const struct placeholder *p, uint32_t place, const char *field,
	size_t field_len)
{
	const struct world *w = context;

	(void)p;
	return w->places & place &&
	       (place != VAULT_FIELD || vault_fields_have("x-key", field, field_len));
}

static void world_refused(void *context, int error)
{
	((struct world *)context)->refused = error;
}

static int on_field(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
	size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags, void *context)
{
	struct peer *p = context;

	(void)s;
	(void)frame;
	buffer_add(&p->fields, name, name_len);
	buffer_adds(&p->fields, "=");
	buffer_add(&p->fields, value, value_len);
	buffer_adds(&p->fields, "\n");
	if (name_len == 13 && memcmp(name, "authorization", 13) == 0)
		p->never_indexed = flags & NGHTTP2_NV_FLAG_NO_INDEX;
	return 0;
}

static int on_data(nghttp2_session *s, uint8_t flags, int32_t id, const uint8_t *data, size_t len,
	void *context)
{
	(void)s;
	(void)flags;
	(void)id;
	buffer_add(&((struct peer *)context)->data, data, len);
	return 0;
}

static int on_frame(nghttp2_session *s, const nghttp2_frame *frame, void *context)
{
	struct peer *p = context;

	(void)s;
	if (frame->hd.type == NGHTTP2_RST_STREAM) {
		p->reset = frame->rst_stream.error_code;
		p->n_resets++;
	} else if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) {
		p->ended = p->ended || frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
	}
	return 0;
}

static ssize_t on_read(nghttp2_session *s, int32_t id, uint8_t *data, size_t len, uint32_t *flags,
	nghttp2_data_source *source, void *context)
{
	struct peer *p = context;
	const size_t n = p->len - p->at < len ? p->len - p->at : len;

	(void)s;
	(void)id;
	(void)source;
	if (n > 0)
		memcpy(data, p->body + p->at, n);
	p->at += n;
	if (p->at == p->len && p->is_last)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return n == 0 && !p->is_last ? NGHTTP2_ERR_DEFERRED : (ssize_t)n;
}

static void peer_begin(struct peer *p, bool is_host)
{
	nghttp2_session_callbacks *c;

	assert_int_equal(nghttp2_session_callbacks_new(&c), 0);
	nghttp2_session_callbacks_set_on_header_callback(c, on_field);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(c, on_data);
	nghttp2_session_callbacks_set_on_frame_recv_callback(c, on_frame);
	assert_int_equal(is_host ? nghttp2_session_server_new(&p->session, c, p)
				 : nghttp2_session_client_new(&p->session, c, p),
		0);
	nghttp2_session_callbacks_del(c);
	assert_int_equal(nghttp2_submit_settings(p->session, 0, NULL, 0), 0);
}

static void peer_end(struct peer *p)
{
	nghttp2_session_del(p->session);
	buffer_deinit(&p->fields);
	buffer_deinit(&p->data);
}

static int setup(void **state)
{
	static struct world w;
	struct h2_options o = { .host = "api.example.com",
		.port = 443,
		.usual_port = 443,
		.may = world_may,
		.rewrites = VAULT_BODY | VAULT_FORM,
		.refused = world_refused,
		.context = &w };

	w = (struct world){ .places = VAULT_HEADER, .now = 1000 };
	assert_int_equal(secret_begin(), 0);
	assert_int_equal(placeholders_new(&w.all), 0);
	assert_int_equal(placeholders_add(w.all, "TOKEN", VALUE, strlen(VALUE), &w.token), 0);
	assert_int_equal(masking_new(&w.masking), 0);
	assert_int_equal(masking_add(w.masking, "TOKEN", VALUE, strlen(VALUE)), 0);
	o.placeholders = w.all;
	o.masking = w.masking;
	assert_int_equal(h2_new(&w.h2, &o), 0);
	peer_begin(&w.client, false);
	peer_begin(&w.host, true);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	h2_free(w->h2);
	peer_end(&w->client);
	peer_end(&w->host);
	placeholders_free(w->all);
	masking_free(w->masking);
	return 0;
}

/* What a peer has to say, to the injector, and back. Returns whether there was something. */
static bool carry(struct world *w, struct peer *p, enum h2_side side)
{
	auto_buffer out = { 0 };
	const uint8_t *data;
	bool has_moved = false;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(p->session, &data)) > 0) {
		assert_int_equal(h2_receive(w->h2, side, data, (size_t)n, w->now), 0);
		has_moved = true;
	}
	assert_int_equal(h2_send(w->h2, side, &out, 1 << 20), 0);
	if (out.len > 0)
		assert_int_equal(
			nghttp2_session_mem_recv(p->session, (const uint8_t *)out.data, out.len),
			out.len);
	return has_moved || out.len > 0;
}

static void settle(struct world *w)
{
	while (carry(w, &w->client, H2_CLIENT) | carry(w, &w->host, H2_HOST))
		;
}

static void ask(struct world *w, const char *method, const char *path, const char *name,
	const char *value, const char *body)
{
	const nghttp2_data_provider data = { .read_callback = on_read };
	const nghttp2_nv fields[] = { NV(":method", method), NV(":scheme", "https"),
		NV(":authority", "api.example.com"), NV(":path", path), NV(name, value),
		NV("authorization", w->token->text) };

	w->client.body = body;
	w->client.len = body ? strlen(body) : 0;
	w->client.at = 0;
	w->client.is_last = true;
	assert_true(nghttp2_submit_request(w->client.session, NULL, fields, ROWS(fields),
			    body ? &data : NULL, NULL) > 0);
	settle(w);
}

/* The host's answer begins; host_says() goes on. */
static void answer(struct world *w, int32_t id, const char *name, const char *value)
{
	const nghttp2_data_provider data = { .read_callback = on_read };
	const nghttp2_nv fields[] = { NV(":status", "200"), NV(name, value) };

	w->host.is_last = false;
	assert_int_equal(
		nghttp2_submit_response(w->host.session, id, fields, ROWS(fields), &data), 0);
	settle(w);
}

static void host_says(struct world *w, int32_t id, const char *body, size_t len, bool is_last)
{
	w->host.body = body;
	w->host.len = len;
	w->host.at = 0;
	w->host.is_last = is_last;
	(void)nghttp2_session_resume_data(w->host.session, id);
	settle(w);
}

static void expect(const struct buffer *b, const char *text)
{
	assert_string_equal(buffer_text(b), text);
}

static bool has(const struct buffer *b, const char *text)
{
	return strstr(buffer_text(b), text) != NULL;
}

/* Requests */

static void test_places(void **state)
{
	struct world *w = *state;
	auto_buffer text = { 0 };

	buffer_printf(&text, "/a?key=%s", w->token->text);
	ask(w, "GET", text.data, "x-key", w->token->text, NULL);
	assert_true(has(&w->host.fields, "authorization=" VALUE "\n"));
	assert_true(w->host.never_indexed);
	assert_false(has(&w->host.fields, "x-key=" VALUE));
	assert_false(has(&w->host.fields, "key=" VALUE));
	assert_true(w->host.ended);
	w->places = VAULT_QUERY | VAULT_FIELD;
	buffer_clear(&w->host.fields);
	ask(w, "GET", text.data, "x-key", w->token->text, NULL);
	assert_true(has(&w->host.fields, "x-key=" VALUE "\n"));
	assert_true(has(&w->host.fields, ":path=/a?key=" VALUE "\n"));
	assert_false(has(&w->host.fields, "authorization=" VALUE));
	assert_int_equal(w->refused, 0);
}

struct body_row {
	const char *type;
	uint32_t places;
	bool is_sent;
};

static void test_bodies(void **state)
{
	static const struct body_row rows[] = {
		{ "application/json", VAULT_BODY, true },
		{ "application/json", VAULT_FORM, false },
		{ "application/x-www-form-urlencoded", VAULT_FORM, true },
		{ "application/x-www-form-urlencoded", VAULT_BODY, false },
		/* There are lengths in it. */
		{ "application/grpc", VAULT_BODY, false },
		{ "application/grpc+proto", VAULT_BODY, false },
	};
	struct world *w = *state;
	auto_buffer body = { 0 };

	buffer_printf(&body, "k=%s", w->token->text);
	for (size_t i = 0; i < ROWS(rows); i++) {
		buffer_clear(&w->host.data);
		w->places = rows[i].places;
		ask(w, "POST", "/", "content-type", rows[i].type, body.data);
		expect(&w->host.data, rows[i].is_sent ? "k=" VALUE : body.data);
	}
}

/* With a length it waits, and has another one then. */
static void test_length(void **state)
{
	struct world *w = *state;
	auto_buffer body = { 0 };
	char length[16];

	w->places = VAULT_BODY;
	buffer_printf(&body, "k=%s", w->token->text);
	(void)snprintf(length, sizeof(length), "%zu", body.len);
	ask(w, "POST", "/", "content-length", length, body.data);
	expect(&w->host.data, "k=" VALUE);
	(void)snprintf(length, sizeof(length), "%zu", strlen("k=" VALUE));
	assert_true(has(&w->host.fields, "content-length="));
	assert_true(has(&w->host.fields, length));
	assert_true(w->host.ended);
}

/* Answers */

static void test_masked(void **state)
{
	struct world *w = *state;

	ask(w, "GET", "/", "x", "y", NULL);
	answer(w, 1, "x-sent", "(" VALUE ")");
	assert_true(has(&w->client.fields, "x-sent=(" STARS ")\n"));
	host_says(w, 1, VALUE, 10, false);
	expect(&w->client.data, "");
	host_says(w, 1, VALUE + 10, strlen(VALUE) - 10, true);
	expect(&w->client.data, STARS);
	assert_true(w->client.ended);
	assert_int_equal(h2_masked(w->h2), 2);
}

/* The last bytes wait, whatever they are; what is left of a value is overwritten. */
static void test_wait(void **state)
{
	static const char *const texts[] = { "nothing here", "ghp_value-of" };
	struct world *w = *state;

	for (size_t i = 0; i < ROWS(texts); i++) {
		const int32_t id = 2 * (int32_t)i + 1;

		buffer_clear(&w->client.data);
		ask(w, "GET", "/", "x", "y", NULL);
		answer(w, id, "content-type", "text/event-stream");
		host_says(w, id, texts[i], strlen(texts[i]), false);
		expect(&w->client.data, "");
		assert_int_equal(h2_rest(w->h2, w->now), w->now + H2_WAIT_MS);
		assert_false(h2_flush(w->h2, w->now + H2_WAIT_MS - 1));
		assert_true(h2_flush(w->h2, w->now + H2_WAIT_MS));
		settle(w);
		expect(&w->client.data, texts[i]);
		assert_int_equal(h2_rest(w->h2, w->now), UINT64_MAX);
	}
	host_says(w, 3, VALUE + 12, strlen(VALUE) - 12, true);
	expect(&w->client.data, "ghp_value-of***********");
}

/* Something came before the time was over: it begins anew. */
static void test_wait_again(void **state)
{
	struct world *w = *state;

	ask(w, "GET", "/", "x", "y", NULL);
	answer(w, 1, "x", "y");
	host_says(w, 1, VALUE, 10, false);
	(void)h2_rest(w->h2, w->now);
	host_says(w, 1, VALUE + 10, 5, false);
	assert_false(h2_flush(w->h2, w->now + H2_WAIT_MS));
	assert_int_equal(h2_rest(w->h2, w->now + 100), w->now + 100 + H2_WAIT_MS);
	host_says(w, 1, VALUE + 15, strlen(VALUE) - 15, true);
	expect(&w->client.data, STARS);
}

/* Of a body of a known length they wait for its end. */
static void test_wait_length(void **state)
{
	struct world *w = *state;

	ask(w, "GET", "/", "x", "y", NULL);
	answer(w, 1, "content-length", "23");
	host_says(w, 1, VALUE, 10, false);
	assert_int_equal(h2_rest(w->h2, w->now), UINT64_MAX);
	assert_false(h2_flush(w->h2, UINT64_MAX));
	host_says(w, 1, VALUE + 10, 13, true);
	expect(&w->client.data, STARS);
}

/* A message that is complete waits a moment, one that is not for its end. */
static void test_messages(void **state)
{
	static const char first[] = "\0\0\0\0\5hello", second[] = "\0\0\0\0\x17" VALUE;
	struct world *w = *state;

	ask(w, "POST", "/", "content-type", "application/grpc", "");
	answer(w, 1, "content-type", "application/grpc+proto");
	host_says(w, 1, first, 7, false);
	assert_int_equal(h2_rest(w->h2, w->now), UINT64_MAX);
	host_says(w, 1, first + 7, 3, false);
	assert_int_equal(h2_rest(w->h2, w->now), w->now + H2_MESSAGE_WAIT_MS);
	assert_true(h2_flush(w->h2, w->now + H2_MESSAGE_WAIT_MS));
	settle(w);
	assert_int_equal(w->client.data.len, 10);
	buffer_clear(&w->client.data);
	host_says(w, 1, second, 15, false);
	assert_int_equal(h2_rest(w->h2, w->now), UINT64_MAX);
	host_says(w, 1, second + 15, sizeof(second) - 1 - 15, false);
	assert_true(h2_rest(w->h2, w->now) < UINT64_MAX);
	assert_true(h2_flush(w->h2, w->now + H2_MESSAGE_WAIT_MS));
	settle(w);
	assert_int_equal(w->client.data.len, 28);
	assert_memory_equal(w->client.data.data + 5, STARS, 23);
}

/* What says that it is messages, and is none, waits as any other stream; compressed ones cannot be
 * searched. */
static void test_no_messages(void **state)
{
	struct world *w = *state;

	ask(w, "GET", "/", "x", "y", NULL);
	answer(w, 1, "content-type", "application/grpc");
	host_says(w, 1, VALUE, 10, false);
	assert_int_equal(h2_rest(w->h2, w->now), w->now + H2_WAIT_MS);
	host_says(w, 1, VALUE + 10, 13, true);
	expect(&w->client.data, STARS);
	ask(w, "GET", "/", "x", "y", NULL);
	answer(w, 3, "content-type", "application/grpc");
	host_says(w, 3, "\1\0\0\0\3abc", 8, false);
	assert_int_equal(w->refused, -EOPNOTSUPP);
	assert_int_equal(w->client.n_resets, 1);
}

/* A length of it makes it no stream of messages: a store keeps whatever type it was given. */
static void test_messages_length(void **state)
{
	static const char text[] = "\0\0\0\0\x0aghp_value-";
	struct world *w = *state;

	ask(w, "GET", "/", "x", "y", NULL);
	answer(w, 1, "content-length", "28");
	host_says(w, 1, text, sizeof(text) - 1, false);
	assert_int_equal(h2_rest(w->h2, w->now), UINT64_MAX);
}

/* Windows */

static void test_slow_client(void **state)
{
	static char much[4 << 20];
	const nghttp2_settings_entry none[] = { { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 } };
	struct world *w = *state;

	assert_int_equal(nghttp2_submit_settings(w->client.session, 0, none, 1), 0);
	ask(w, "GET", "/", "x", "y", NULL);
	answer(w, 1, "x", "y");
	host_says(w, 1, much, sizeof(much), true);
	assert_int_equal(w->client.data.len, 0);
	assert_true(w->host.at <= H2_FAST_WINDOW + H2_STREAM_WINDOW);
	assert_int_equal(nghttp2_submit_window_update(w->client.session, 0, 1, 1 << 30), 0);
	assert_int_equal(nghttp2_submit_window_update(w->client.session, 0, 0, 1 << 30), 0);
	settle(w);
	assert_int_equal(w->client.data.len, sizeof(much));
	assert_true(w->client.ended);
}

/* The host has answered, and later says that it wants no more of the request, or ends. */
static void test_early_answer(void **state)
{
	const nghttp2_data_provider data = { .read_callback = on_read };
	const nghttp2_nv fields[] = { NV(":method", "POST"), NV(":scheme", "https"),
		NV(":authority", "api.example.com"), NV(":path", "/") };
	struct world *w = *state;

	for (int32_t id = 1; id <= 3; id += 2) {
		w->client.body = "it begins";
		w->client.len = 9;
		w->client.at = 0;
		w->client.is_last = w->client.ended = false;
		w->client.n_resets = 0;
		assert_int_equal(nghttp2_submit_request(w->client.session, NULL, fields,
					 ROWS(fields), &data, NULL),
			id);
		settle(w);
		answer(w, id, "x", "y");
		w->host.is_last = true;
		(void)nghttp2_session_resume_data(w->host.session, id);
		settle(w);
		assert_true(w->client.ended);
		if (id == 1)
			assert_int_equal(
				nghttp2_submit_rst_stream(w->host.session, 0, id, NGHTTP2_NO_ERROR),
				0);
		else
			h2_host_ended(w->h2);
		settle(w);
		assert_int_equal(w->client.n_resets, 1);
		assert_int_equal(w->client.reset, NGHTTP2_NO_ERROR);
	}
	assert_true(h2_is_over(w->h2));
}

static void test_host_ends(void **state)
{
	struct world *w = *state;

	ask(w, "GET", "/", "x", "y", NULL);
	answer(w, 1, "x", "y");
	host_says(w, 1, "it begins", 9, false);
	h2_host_ended(w->h2);
	while (carry(w, &w->client, H2_CLIENT))
		;
	assert_int_equal(w->client.n_resets, 1);
	assert_false(w->client.ended);
	assert_true(h2_is_over(w->h2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bodies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_length, setup, teardown),
		cmocka_unit_test_setup_teardown(test_masked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wait_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wait_length, setup, teardown),
		cmocka_unit_test_setup_teardown(test_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_messages_length, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_client, setup, teardown),
		cmocka_unit_test_setup_teardown(test_early_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_host_ends, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
