/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/join-kept.h"

#include "base/clock.h"

void join_forget(struct holder_join *j)
{
	while (j->first < j->sent && join_kept(j, j->first)->type == FRAME_NONE &&
		holder_weights_sum(&join_kept(j, j->first)->forgotten) == 0)
		j->first++;
}

/* The first to be dropped: the oldest of the least weight. What was sent already and is not waited
 * for costs nothing. */
static uint64_t join_lightest(const struct holder_join *j)
{
	uint64_t found = j->first;

	for (uint64_t i = j->first; i < j->next; i++) {
		const struct holder_join_frame *f = join_kept(j, i);

		if (f->type == FRAME_NONE)
			return i;
		if (f->weight < join_kept(j, found)->weight)
			found = i;
	}
	return found;
}

/* Those before it move up. Acknowledgements count what was sent: the frame after it keeps how many
 * are missing there. */
static void join_drop(struct holder_join *j, uint64_t i, struct holder_join_frame *added)
{
	struct holder_join_frame gone = *join_kept(j, i);
	struct holder_join_frame *after = i + 1 < j->next ? join_kept(j, i + 1) : added;

	holder_weights_move(&after->forgotten, &gone.forgotten);
	if (gone.type == FRAME_JOIN_EVENT && i < j->sent) {
		after->forgotten.n[gone.weight]++;
		j->forgotten.n[gone.weight]++;
	} else if (gone.type == FRAME_JOIN_EVENT) {
		j->lost.n[gone.weight]++;
	}
	for (uint64_t k = i; k > j->first; k--)
		*join_kept(j, k) = *join_kept(j, k - 1);
	buffer_deinit(&gone.body);
	j->sent += i >= j->sent;
	j->first++;
}

void join_keep(struct holder_join *j, struct holder_join_frame *added)
{
	if (j->next - j->first == HOLDER_JOIN_KEPT) {
		const uint64_t i = join_lightest(j);
		const struct holder_join_frame *f = join_kept(j, i);

		if (f->type != FRAME_NONE && added->weight < f->weight) {
			j->lost.n[added->weight]++;
			buffer_deinit(&added->body);
			return;
		}
		join_drop(j, i, added);
	}
	if (j->delay_ms && j->next == j->sent)
		j->since_ms = clock_ms(CLOCK_MONOTONIC);
	*join_kept(j, j->next++) = *added;
}

void join_keep_event(
	struct holder_join *j, const struct audit_event *e, uint64_t id, struct buffer *body)
{
	struct holder_join_frame f = {
		.type = FRAME_JOIN_EVENT, .id = id, .body = *body, .weight = holder_weight_of(e)
	};

	*body = (struct buffer){ 0 };
	join_keep(j, &f);
}

void join_drop_orders(struct holder_join *j)
{
	for (uint64_t i = j->first; i < j->next; i++) {
		struct holder_join_frame *f = join_kept(j, i);

		if (f->type != FRAME_JOIN_EVENT)
			f->type = FRAME_NONE;
	}
}

uint64_t join_ack_forgotten(struct holder_join *j, struct holder_join_frame *kept, uint64_t n)
{
	for (size_t i = 0; i < HOLDER_WEIGHT_COUNT; i++) {
		const uint64_t some = n < kept->forgotten.n[i] ? n : kept->forgotten.n[i];

		kept->forgotten.n[i] -= some;
		j->forgotten.n[i] -= some;
		n -= some;
	}
	return n;
}

uint64_t join_events(const struct holder_join *j, uint64_t from)
{
	uint64_t n = 0;

	for (uint64_t i = from; i < j->next; i++)
		n += join_kept(j, i)->type == FRAME_JOIN_EVENT;
	return n;
}
