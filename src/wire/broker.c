/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixed part with one bit for each variable that has a value and one for each limit that is set;
 * those limits; then the strings, each with its NUL: those values, the single texts in the order of
 * the struct, and the lists.
 */
#include "wire/broker.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "wire/frame.h"
#include "wire/reader.h"

struct broker_head {
	uint32_t flags, ask_ms;
	uint32_t known; /* 1 << enum variable */
	uint32_t n_environment, n_user_environment, n_private, n_layers, n_guarded, n_secrets,
		n_lender_environment;
	uint32_t limited; /* 1 << enum limit */
};
_Static_assert(sizeof(struct broker_head) == 44, "no padding goes over the wire");

/* The single texts. */
static const struct {
	size_t offset;
	bool is_path;
} broker_texts[] = {
	{ offsetof(struct broker_setup, services), false },
	{ offsetof(struct broker_setup, warden), true },
	{ offsetof(struct broker_setup, log), true },
	{ offsetof(struct broker_setup, session), false },
	{ offsetof(struct broker_setup, sandbox), false },
	{ offsetof(struct broker_setup, folder), true },
	{ offsetof(struct broker_setup, token), false },
	{ offsetof(struct broker_setup, lender), true },
	{ offsetof(struct broker_setup, principal), false },
};

static const char **broker_text_at(struct broker_setup *s, size_t i)
{
	return (const char **)(void *)((char *)s + broker_texts[i].offset);
}

static bool broker_is_path(const char *path)
{
	return path[0] == '/' && strlen(path) < PATH_BYTES;
}

static bool broker_are_variables(const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *equals = strchr(list[i], '=');

		if (!equals || equals == list[i])
			return false;
	}
	return true;
}

/* The bounds of both directions. Texts are there by now. */
static bool broker_is_valid(const struct broker_setup *s)
{
	const bool has_http = s->flags & BROKER_HTTP;

	if (s->flags & ~(uint32_t)BROKER_FLAGS)
		return false;
	for (size_t i = 0; i < VARIABLE_COUNT; i++) {
		const char *value = s->variables.values[i];

		if (value && !broker_is_path(value))
			return false;
	}
	for (size_t i = 0; i < ROWS(broker_texts); i++) {
		const char *text = *broker_text_at((struct broker_setup *)(uintptr_t)s, i);

		if (broker_texts[i].is_path && text[0] && !broker_is_path(text))
			return false;
	}
	if (!broker_are_variables(s->environment, s->n_environment) ||
		!broker_are_variables(s->user_environment, s->n_user_environment) ||
		!broker_are_variables(s->lender_environment, s->n_lender_environment) ||
		!broker_are_variables(s->secrets, s->n_secrets))
		return false;
	if (s->n_secrets > 0 && (!s->lender[0] || !s->principal[0]))
		return false;
	for (size_t i = 0; i < s->n_private; i++)
		if (!broker_is_path(s->private_places[i]))
			return false;
	for (size_t i = 0; i < s->n_guarded; i++)
		if (!broker_is_path(s->guarded[i]))
			return false;
	for (size_t i = 0; i < s->n_layers; i++)
		if (!s->layers[i][0])
			return false;
	return has_http ? strlen(s->token) >= BROKER_TOKEN_LEAST : !s->token[0];
}

static bool broker_is_too_much(const struct broker_head *h)
{
	return h->n_environment > BROKER_ENVIRONMENT_MAX ||
	       h->n_user_environment > BROKER_USER_MAX || h->n_private > BROKER_PRIVATE_MAX ||
	       h->n_layers > BROKER_LAYERS_MAX || h->n_guarded > BROKER_GUARDED_MAX ||
	       h->n_secrets > BROKER_SECRETS_MAX || h->n_lender_environment > BROKER_USER_MAX;
}

static void broker_add(struct buffer *out, const char *text)
{
	buffer_add(out, text, strlen(text) + 1);
}

static void broker_add_list(struct buffer *out, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		broker_add(out, list[i]);
}

int broker_setup_encode(const struct broker_setup *given, struct buffer *out)
{
	struct broker_setup s = *given;
	struct broker_head h = { .flags = s.flags,
		.ask_ms = s.ask_ms,
		.n_environment = (uint32_t)s.n_environment,
		.n_user_environment = (uint32_t)s.n_user_environment,
		.n_private = (uint32_t)s.n_private,
		.n_layers = (uint32_t)s.n_layers,
		.n_guarded = (uint32_t)s.n_guarded,
		.n_secrets = (uint32_t)s.n_secrets,
		.n_lender_environment = (uint32_t)s.n_lender_environment };
	const size_t before = out->len;

	for (size_t i = 0; i < ROWS(broker_texts); i++)
		if (!*broker_text_at(&s, i))
			*broker_text_at(&s, i) = "";
	if (s.n_environment > UINT32_MAX || broker_is_too_much(&h))
		return -E2BIG;
	if (!broker_is_valid(&s))
		return -EINVAL;
	for (uint32_t i = 0; i < VARIABLE_COUNT; i++)
		h.known |= s.variables.values[i] ? UINT32_C(1) << i : 0;
	for (uint32_t i = 0; i < LIMIT_COUNT; i++)
		h.limited |= s.limits.values[i] ? UINT32_C(1) << i : 0;
	buffer_add(out, &h, sizeof(h));
	for (uint32_t i = 0; i < LIMIT_COUNT; i++)
		if (s.limits.values[i])
			buffer_add(out, &s.limits.values[i], sizeof(s.limits.values[i]));
	for (uint32_t i = 0; i < VARIABLE_COUNT; i++)
		if (s.variables.values[i])
			broker_add(out, s.variables.values[i]);
	for (size_t i = 0; i < ROWS(broker_texts); i++)
		broker_add(out, *broker_text_at(&s, i));
	broker_add_list(out, s.environment, s.n_environment);
	broker_add_list(out, s.user_environment, s.n_user_environment);
	broker_add_list(out, s.private_places, s.n_private);
	broker_add_list(out, s.layers, s.n_layers);
	broker_add_list(out, s.guarded, s.n_guarded);
	broker_add_list(out, s.secrets, s.n_secrets);
	broker_add_list(out, s.lender_environment, s.n_lender_environment);
	if (out->failed)
		return -ENOMEM;
	return out->len - before > FRAME_MEMFD_MAX ? -E2BIG : 0;
}

static int broker_read_list(struct reader *r, struct arena *a, size_t n, const char *const **ret)
{
	const char **list = arena_calloc(a, n + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		list[i] = reader_string(r);
		if (!list[i])
			return -EPROTO;
	}
	*ret = list;
	return 0;
}

static int broker_read_lists(struct reader *r, struct arena *a, struct broker_setup *s)
{
	int err = broker_read_list(r, a, s->n_environment, &s->environment);

	if (err == 0)
		err = broker_read_list(r, a, s->n_user_environment, &s->user_environment);
	if (err == 0)
		err = broker_read_list(r, a, s->n_private, &s->private_places);
	if (err == 0)
		err = broker_read_list(r, a, s->n_layers, &s->layers);
	if (err == 0)
		err = broker_read_list(r, a, s->n_guarded, &s->guarded);
	if (err == 0)
		err = broker_read_list(r, a, s->n_secrets, &s->secrets);
	if (err == 0)
		err = broker_read_list(r, a, s->n_lender_environment, &s->lender_environment);
	return err;
}

/* One that is named and 0 was not written by us. */
static bool broker_read_limits(struct reader *r, uint32_t limited, struct limits *ret)
{
	for (uint32_t i = 0; i < LIMIT_COUNT; i++) {
		uint64_t *value = &ret->values[i];

		if (limited & UINT32_C(1) << i &&
			(!reader_bytes(r, value, sizeof(*value)) || *value == 0))
			return false;
	}
	return true;
}

int broker_setup_decode(struct broker_setup *ret, const void *body, size_t len, struct arena *a)
{
	struct reader r = { body, len };
	struct broker_setup s;
	struct broker_head h;
	int err;

	if (!reader_bytes(&r, &h, sizeof(h)) || h.known >= UINT32_C(1) << VARIABLE_COUNT ||
		h.limited >= UINT32_C(1) << LIMIT_COUNT || broker_is_too_much(&h))
		return -EPROTO;
	s = (struct broker_setup){ .flags = h.flags,
		.ask_ms = h.ask_ms,
		.n_environment = h.n_environment,
		.n_user_environment = h.n_user_environment,
		.n_private = h.n_private,
		.n_layers = h.n_layers,
		.n_guarded = h.n_guarded,
		.n_secrets = h.n_secrets,
		.n_lender_environment = h.n_lender_environment };
	if (!broker_read_limits(&r, h.limited, &s.limits))
		return -EPROTO;
	for (uint32_t i = 0; i < VARIABLE_COUNT; i++) {
		if (!(h.known & UINT32_C(1) << i))
			continue;
		s.variables.values[i] = reader_string(&r);
		if (!s.variables.values[i])
			return -EPROTO;
	}
	for (size_t i = 0; i < ROWS(broker_texts); i++) {
		*broker_text_at(&s, i) = reader_string(&r);
		if (!*broker_text_at(&s, i))
			return -EPROTO;
	}
	err = broker_read_lists(&r, a, &s);
	if (err < 0)
		return err;
	if (r.left > 0 || !broker_is_valid(&s))
		return -EPROTO;
	*ret = s;
	return 0;
}
