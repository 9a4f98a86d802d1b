/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/request.h"

#include <errno.h>
#include <string.h>

#include "vault/format.h"

void inject_request_init(struct inject_request *r, const struct heads *heads, uint32_t rewrites)
{
	*r = (struct inject_request){ .heads = *heads, .rewrites = rewrites };
	r->bodies = (struct bodies){
		.placeholders = heads->placeholders, .judge = heads_judge, .context = &r->heads
	};
}

void inject_request_deinit(struct inject_request *r)
{
	bodies_deinit(&r->bodies);
	signing_deinit(&r->signing);
}

/* A body that may have values is sent with another length, or without one. */
static enum bodies_mode inject_request_mode(const struct inject_request *r,
	const struct heads_look *look, const struct inject_request_form *form)
{
	/* A client that expects a word of the server waits for it before it sends more. */
	const bool may_wait = form->length > 0 && form->length <= BODIES_HELD_MAX && !look->expects;

	/* Its hash is signed: it waits, and stays as it is. */
	if (r->signing.head.len > 0)
		return r->signing.needs_body && may_wait ? BODIES_HOLD : BODIES_WATCH;
	if (!(r->rewrites & r->body_place) || r->is_open || !form->has_body)
		return BODIES_WATCH;
	return may_wait ? BODIES_HOLD : form->flowing;
}

/* What goes out from there on is complete, with what of it is signed. */
static int inject_request_sign(struct inject_request *r, struct buffer *out, size_t at)
{
	r->heads.place = VAULT_HEADER;
	r->heads.field = "Authorization";
	r->heads.field_len = strlen(r->heads.field);
	return signing_finish(&r->signing, r->heads.placeholders, heads_judge, &r->heads, out, at);
}

/* Where values may be in the body. Of two types the host may take the other one; messages of gRPC
 * have lengths in them; no value goes into a body that is signed. */
static uint32_t inject_request_place(const struct heads_look *look, bool is_signed)
{
	if (is_signed || look->n_types > 1 || look->is_grpc)
		return 0;
	return look->is_form ? VAULT_FORM : VAULT_BODY;
}

static int inject_request_begin(struct inject_request *r, const char *head, size_t len,
	const struct inject_request_form *form, struct buffer *text)
{
	const struct heads_look look = heads_look(head, len);
	int error = signing_begin(&r->signing, r->heads.placeholders, head, len);
	const bool is_signed = r->signing.head.len > 0;

	if (error < 0)
		return error;
	r->is_open = look.is_encoded && !is_signed;
	r->body_place = inject_request_place(&look, is_signed);
	r->bodies.mode = inject_request_mode(r, &look, form);
	r->bodies.print = look.is_form ? heads_print_query : look.is_json ? heads_print_json : NULL;
	if (r->bodies.mode == BODIES_WATCH)
		r->body_place = 0;
	heads_add(&r->heads, head, len, form->length > 0 && r->bodies.mode != BODIES_WATCH, text);
	if (form->length > 0 && r->bodies.mode == BODIES_CHUNK)
		buffer_adds(text, "Transfer-Encoding: chunked\r\n");
	if (text->len > BODIES_GROWN_MAX)
		return -E2BIG;
	if (is_signed && r->bodies.mode != BODIES_HOLD && !text->failed)
		error = inject_request_sign(r, text, 0);
	return error < 0 ? error : text->failed ? -ENOMEM : 0;
}

int inject_request_head(struct inject_request *r, const char *head, size_t len,
	const struct inject_request_form *form, struct buffer *out)
{
	auto_buffer text = { 0 };
	int error = inject_request_begin(r, head, len, form, &text);

	if (error == 0)
		error = bodies_begin(&r->bodies, r->bodies.mode, r->bodies.print, &text, out);
	if (text.data)
		secret_wipe(text.data, text.cap);
	return error;
}

int inject_request_body(
	struct inject_request *r, const uint8_t *data, size_t len, bool last, struct buffer *out)
{
	const size_t before = out->len;
	int error = 0;

	r->heads.place = r->body_place;
	if (r->is_open)
		buffer_add(out, data, len);
	else
		error = bodies_data(&r->bodies, data, len, last, out);
	/* A head that waited for its body goes out with it. */
	if (error == 0 && r->signing.head.len > 0 && out->len > before && !out->failed)
		error = inject_request_sign(r, out, before);
	return error < 0 ? error : out->failed ? -ENOMEM : 0;
}

int inject_request_trailers(
	struct inject_request *r, const uint8_t *data, size_t len, struct buffer *out)
{
	auto_buffer nowhere = { 0 };
	int error;

	r->heads.place = r->body_place;
	error = bodies_end_chunks(&r->bodies, data, len, out);
	heads_replace(&r->heads, 0, NULL, (const char *)data, len, &nowhere);
	return error;
}
