/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/process/denial.h"

enum { EXIT_TIMED_OUT = 124, EXIT_SIGNAL = 128 };

_Static_assert((int)CORRAL_HELD_BY_NOTHING == REPORT_BY_NOTHING &&
		       (int)CORRAL_HELD_BY_CGROUP == REPORT_BY_CGROUP &&
		       (int)CORRAL_HELD_BY_RLIMIT == REPORT_BY_RLIMIT &&
		       (int)CORRAL_HELD_BY_POLLING == REPORT_BY_POLLING,
	"how limits are held");

struct corral_result *result_new(const struct sandbox_backend *backend)
{
	struct corral_result *r = calloc(1, sizeof(*r));

	if (r)
		*r = (struct corral_result){ .refs = 1, .backend = backend };
	return r;
}

struct corral_result *result_ref(struct corral_result *r)
{
	(void)atomic_fetch_add(&r->refs, 1);
	return r;
}

int result_add_denial(struct corral_result *r, struct corral_denial *d)
{
	struct corral_denial **grown =
		d ? reallocarray(r->denials, r->n_denials + 1, sizeof(d)) : NULL;

	if (!grown) {
		denial_free(d);
		return -ENOMEM;
	}
	r->denials = grown;
	r->denials[r->n_denials++] = d;
	return 0;
}

void result_note_denial(struct corral_result *r, const struct corral_denial *d)
{
	for (size_t i = 0; i < r->n_noted; i++) {
		if (strcmp(r->denials[i]->target, d->target) == 0 &&
			strcmp(r->denials[i]->reason, d->reason) == 0) {
			r->denials[i]->count += d->count;
			return;
		}
	}
	if (r->n_noted < RESULT_NOTED_MAX && result_add_denial(r, denial_copy(d)) == 0)
		r->n_noted++;
}

void corral_result_free(struct corral_result *r)
{
	if (!r || atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	for (size_t i = 0; i < r->n_denials; i++)
		denial_free(r->denials[i]);
	free(r->denials);
	buffer_deinit(&r->out.kept);
	buffer_deinit(&r->err.kept);
	free(r);
}

int corral_result_exit_code(const struct corral_result *r)
{
	if (r->report.flags & REPORT_TIMED_OUT)
		return EXIT_TIMED_OUT;
	return r->report.signal ? EXIT_SIGNAL + r->report.signal : r->report.exit_code;
}

int corral_result_signal(const struct corral_result *r)
{
	return r->report.signal;
}

static int result_has(const struct corral_result *r, uint32_t flag)
{
	return (r->report.flags & flag) != 0;
}

int corral_result_timed_out(const struct corral_result *r)
{
	return result_has(r, REPORT_TIMED_OUT);
}

int corral_result_out_of_memory(const struct corral_result *r)
{
	return result_has(r, REPORT_OUT_OF_MEMORY);
}

int corral_result_too_many_pids(const struct corral_result *r)
{
	return result_has(r, REPORT_TOO_MANY_PIDS);
}

int corral_result_killed(const struct corral_result *r)
{
	return result_has(r, REPORT_KILLED);
}

static const char *text(const struct printed *o, size_t *ret_len)
{
	if (ret_len)
		*ret_len = o->kept.len;
	return buffer_text(&o->kept);
}

const char *corral_result_stdout(const struct corral_result *r, size_t *ret_len)
{
	return text(&r->out, ret_len);
}

const char *corral_result_stderr(const struct corral_result *r, size_t *ret_len)
{
	return text(&r->err, ret_len);
}

int corral_result_stdout_truncated(const struct corral_result *r)
{
	return r->out.truncated;
}

int corral_result_stderr_truncated(const struct corral_result *r)
{
	return r->err.truncated;
}

uint64_t corral_result_stdout_bytes(const struct corral_result *r)
{
	return r->out.bytes;
}

uint64_t corral_result_stderr_bytes(const struct corral_result *r)
{
	return r->err.bytes;
}

uint64_t corral_result_duration_us(const struct corral_result *r)
{
	return r->report.wall_us;
}

uint64_t corral_result_user_us(const struct corral_result *r)
{
	return r->report.user_us;
}

uint64_t corral_result_system_us(const struct corral_result *r)
{
	return r->report.system_us;
}

uint64_t corral_result_peak_bytes(const struct corral_result *r)
{
	return r->report.peak_bytes;
}

const char *corral_result_backend(const struct corral_result *r)
{
	return r->backend->name;
}

enum corral_held_by corral_result_memory_held_by(const struct corral_result *r)
{
	return (enum corral_held_by)r->report.memory_by;
}

enum corral_held_by corral_result_pids_held_by(const struct corral_result *r)
{
	return (enum corral_held_by)r->report.pids_by;
}

size_t corral_result_denials(const struct corral_result *r)
{
	return r->n_denials;
}

const struct corral_denial *corral_result_denial(const struct corral_result *r, size_t i)
{
	return i < r->n_denials ? r->denials[i] : NULL;
}
