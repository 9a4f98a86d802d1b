/* SPDX-License-Identifier: Apache-2.0 */
/* What is there, as JSON: the vault's keys, and its secrets without their values. */
#include <errno.h>
#include <unistd.h>

#include "base/buffer.h"
#include "codec/json-writer.h"
#include "vault/operation.h"

static void operation_put_header(struct json_writer *w, const struct vault_header *h)
{
	json_put_encoded(w, "id", ENCODING_HEX, h->id, sizeof(h->id));
	json_put_count(w, "generation", h->generation);
	json_open_list(w, "keys");
	for (uint32_t i = 0; i < h->n_slots; i++) {
		json_open_map(w, NULL);
		json_put_text(w, "kind", vault_slot_names[h->slots[i].kind]);
		if (h->slots[i].blob_len > 0)
			json_put_encoded(
				w, "blob", ENCODING_HEX, h->slots[i].blob, h->slots[i].blob_len);
		json_close(w);
	}
	json_close(w);
}

int operation_status(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct json_writer w = { .out = &ret->text };
	auto_buffer file = { 0 };
	struct vault_header h;
	struct keys_entry probe;
	size_t at;
	int r = store_read(&file, e), keyring = keys_load(&s->folder, &probe);
	const bool exists = r == 0;

	(void)m;
	secret_wipe(&probe, sizeof(probe));
	if (exists)
		r = vault_header_decode(&h, file.data, file.len, STORE_FILE, &at, e);
	if (r == -EBADMSG)
		return operation_damaged(e);
	if (r < 0 && r != -ENOENT)
		return r;
	json_open_map(&w, NULL);
	json_put_flag(&w, "exists", exists);
	json_put_flag(&w, "unlocked", s->has_key);
	json_put_flag(&w, "remembered", s->is_remembered);
	json_put_count(&w, "until", s->is_remembered ? s->key.until_s : 0);
	json_put_flag(&w, "keyring", keyring == 0 || keyring == -ENOKEY);
	json_put_count(&w, "wait", store_attempt_wait(operation_now_s()));
	json_put_flag(&w, "backup", access(STORE_BACKUP, F_OK) == 0);
	if (exists)
		operation_put_header(&w, &h);
	json_close(&w);
	ret->answer.text = buffer_text(&ret->text);
	return json_end(&w);
}

static void operation_put_entry(struct json_writer *w, const struct vault_entry *x)
{
	json_open_map(w, NULL);
	json_put_text(w, "name", x->name);
	json_put_text(w, "source", *x->source ? x->source : NULL);
	json_put_count(w, "version", x->version);
	json_put_count(w, "created", x->created_s);
	json_put_count(w, "changed", x->changed_s);
	json_put_count(w, "expires", x->expires_s);
	json_put_count(w, "keep", x->keep_s);
	json_open_list(w, "grants");
	for (uint32_t i = 0; i < x->n_grants; i++) {
		auto_buffer places = { 0 };

		vault_places_print(x->grants[i].places, x->grants[i].fields, &places);
		json_open_map(w, NULL);
		json_put_text(w, "host", x->grants[i].host);
		json_put_buffer(w, "in", &places);
		json_put_text(w, "to", *x->grants[i].principal ? x->grants[i].principal : NULL);
		json_put_text(w, "programs", *x->grants[i].programs ? x->grants[i].programs : NULL);
		json_close(w);
	}
	json_close(w);
	json_close(w);
}

int operation_list(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct json_writer w = { .out = &ret->text };
	int r = operation_open(s, &ret->vault, e);

	(void)m;
	if (r < 0)
		return r;
	json_open_map(&w, NULL);
	json_open_list(&w, "secrets");
	for (size_t i = 0; i < ret->vault.n; i++)
		operation_put_entry(&w, &ret->vault.entries[i]);
	json_close(&w);
	json_close(&w);
	ret->answer.text = buffer_text(&ret->text);
	return json_end(&w);
}
