/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question on the user's terminal, while the command runs there. The attacks, and what is done:
 *
 *   - the command prints a question of its own: no answer to it reaches us; what is typed goes to
 *     the command, which can do nothing with it
 *   - it draws over ours, or makes it invisible: its modes and colours are undone, and its output
 *     waits until the answer (run_stdio_hold())
 *   - it reads the answer, or answers itself: its terminal is another one, and gets nothing
 *     meanwhile; replies of the terminal to what it asked were taken out
 *   - it asks at the moment in which the user types something else: what is typed is dropped until
 *     no key has come for ASK_QUIET_MS; then the line `answer:` appears, and a whole word is needed
 *   - it asks without end: the holder has one rate for all that asks (holder/asking.h)
 *   - it ends, and what is typed would be read by the user's shell: that is dropped
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/ask/ask.h"
#include "cli/output.h"
#include "cli/run/run.h"
#include "cli/run/stdio.h"

enum { CTRL_C = 3, CTRL_D = 4, ESC = 0x1b };

static void prompt_say(const struct run_stdio *s, const char *text)
{
	run_stdio_say(s, text);
}

static void prompt_quiet(struct ask_prompt *p)
{
	p->state = ASK_PROMPT_QUIET;
	p->quiet_ms = clock_ms(CLOCK_MONOTONIC) + ASK_QUIET_MS;
	p->len = 0;
}

static void prompt_show(struct run *r, struct run_stdio *s, const struct holder_live_question *x)
{
	const uint64_t now = clock_ms(CLOCK_BOOTTIME);
	struct ask_prompt *p = &r->prompt;
	struct question q = x->q;
	auto_output o = output_for(STDERR_FILENO);

	q.wait_ms = (uint32_t)(x->until_ms > now ? x->until_ms - now : 0);
	ask_words(&q, r->always.add, &o);
	if (p->refused[0]) {
		buffer_adds(&o.text, "  that cannot be done: ");
		output_foreign(&o, p->refused);
		buffer_addc(&o.text, '\n');
	}
	run_stdio_hold(s);
	prompt_say(s, buffer_text(&o.text));
	p->id = x->id;
	p->is_over = false;
	p->refused[0] = '\0';
	prompt_quiet(p);
}

static void prompt_show_login(struct run *r, struct run_stdio *s)
{
	auto_output o = output_for(STDERR_FILENO);

	ask_login_words(&r->login, &o);
	run_stdio_hold(s);
	prompt_say(s, buffer_text(&o.text));
	r->prompt.is_login = true;
	r->prompt.is_over = false;
	prompt_quiet(&r->prompt);
}

/* The terminal is the command's again. */
static void prompt_take_down(struct run *r, struct run_stdio *s, const char *says)
{
	struct ask_prompt *p = &r->prompt;

	(void)tcflush(STDIN_FILENO, TCIFLUSH);
	prompt_say(s, says);
	p->state = ASK_PROMPT_NONE;
	p->id = 0;
	p->is_login = false;
	run_stdio_release(s);
}

static void prompt_expire(struct run *r, struct run_stdio *s)
{
	static const char *const ends[QUESTION_END_COUNT] = {
		[QUESTION_ANSWERED] = "\ncorral: it was answered elsewhere\n",
		[QUESTION_EXPIRED] = "\ncorral: no answer came in time, so it stays denied\n",
		[QUESTION_GIVEN_UP] = "\ncorral: the command does not wait for it any more\n",
	};

	r->prompt.answered = r->prompt.id;
	prompt_take_down(r, s, ends[r->prompt.how]);
}

void ask_prompt_refresh(struct run *r, struct run_stdio *s)
{
	struct ask_prompt *p = &r->prompt;
	const struct holder_live_question *x;

	if (ask_login_is_late(r) && p->state && p->is_login)
		prompt_take_down(r, s, "\ncorral: no answer came in time, so no token is kept\n");
	if (r->login.number == 0 && (!r->live.is_on || !ask_has_terminal(r)))
		return;
	/* We were stopped, or another has the keyboard: it is asked again then. */
	if (p->state && (!s->is_held || !s->raw.is_raw)) {
		p->state = ASK_PROMPT_NONE;
		p->is_login = false;
		s->is_held = false;
	}
	if (p->state && p->is_over)
		prompt_expire(r, s);
	if (p->state == ASK_PROMPT_QUIET && clock_ms(CLOCK_MONOTONIC) >= p->quiet_ms) {
		(void)tcflush(STDIN_FILENO, TCIFLUSH);
		p->state = ASK_PROMPT_OPEN;
		prompt_say(s, "  answer: ");
	}
	if (p->state || !s->raw.is_raw || s->is_stopped)
		return;
	if (r->login.number > 0) {
		prompt_show_login(r, s);
		return;
	}
	x = holder_live_next(&r->live.live, p->answered);
	if (x)
		prompt_show(r, s, x);
}

int ask_prompt_fd(const struct run *r)
{
	return r->prompt.state ? STDIN_FILENO : -1;
}

int ask_prompt_wait_ms(const struct run *r, int otherwise)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	uint64_t due = r->login.number > 0 ? r->login.until_ms : UINT64_MAX;
	int left;

	if (r->prompt.state == ASK_PROMPT_QUIET && r->prompt.quiet_ms < due)
		due = r->prompt.quiet_ms;
	if (due == UINT64_MAX)
		return otherwise;
	left = due > now ? (int)(due - now) : 0;
	return otherwise < 0 || left < otherwise ? left : otherwise;
}

/* `always` is a grant of this run, and a line of the project's file. */
static bool prompt_write_always(struct run *r, const struct holder_live_question *x)
{
	struct error e = { 0 };

	if (!r->always.add || x->q.n_scopes == 0)
		return false;
	if (r->always.add(r->always.context, x->q.op, x->q.scopes[0], &e) >= 0)
		return true;
	(void)snprintf(r->prompt.refused, sizeof(r->prompt.refused), "%s", e.text);
	return false;
}

/* Yes or no: a login is kept, or it is not. */
static void prompt_answer_login(struct run *r, struct run_stdio *s, enum ask_word word)
{
	if (word != ASK_WORD_NO && word != ASK_WORD_ONCE) {
		prompt_say(s, "\n  please type yes or no\n");
		prompt_quiet(&r->prompt);
		return;
	}
	prompt_take_down(r, s,
		word == ASK_WORD_ONCE ? "\ncorral: the vault keeps the tokens\n"
				      : "\ncorral: no token is kept\n");
	ask_login_answer(r, word);
}

static void prompt_answer(struct run *r, struct run_stdio *s, enum ask_word word)
{
	static const char *const says[] = { [ASK_WORD_NO] = "\ncorral: it stays denied\n",
		[ASK_WORD_ONCE] = "\ncorral: allowed, this time\n",
		[ASK_WORD_RUN] = "\ncorral: allowed until the command ends\n",
		[ASK_WORD_ALWAYS] = "\ncorral: allowed for this project\n" };
	struct ask_prompt *p = &r->prompt;
	const struct holder_live_question *x = holder_live_next(&r->live.live, p->id - 1);
	struct answer a = { .question = p->id, .pattern = "" };

	if (p->is_login) {
		prompt_answer_login(r, s, word);
		return;
	}
	if (!x || x->id != p->id) {
		p->is_over = true;
		p->how = QUESTION_GIVEN_UP;
		return;
	}
	if (word == ASK_WORD_NONE || word == ASK_WORD_DAY ||
		(x->q.n_scopes == 0 && word >= ASK_WORD_RUN) ||
		(word == ASK_WORD_ALWAYS && !prompt_write_always(r, x))) {
		prompt_say(s, "\n  please type one of the words above\n");
		prompt_quiet(p);
		return;
	}
	a.kind = word == ASK_WORD_NO     ? ANSWER_DENY
		 : word == ASK_WORD_ONCE ? ANSWER_ONCE
					 : ANSWER_ALLOW;
	p->answered = p->id;
	prompt_take_down(r, s, says[word]);
	holder_live_answer(&r->live.live, &a);
}

/* One key of a line. True: the line is complete. */
static bool prompt_key(struct ask_prompt *p, const struct run_stdio *s, char c)
{
	if (c == '\r' || c == '\n')
		return true;
	if ((c == 0x7f || c == '\b') && p->len > 0) {
		p->len--;
		prompt_say(s, "\b \b");
	} else if (c > ' ' && c < 0x7f && p->len + 1 < ASK_PROMPT_LINE) {
		p->line[p->len++] = c;
		(void)terminal_write(STDERR_FILENO, &c, 1);
	}
	return false;
}

void ask_prompt_read(struct run *r, struct run_stdio *s)
{
	struct ask_prompt *p = &r->prompt;
	char keys[256];
	ssize_t n;

	if (!p->state || !s->raw.is_raw)
		return;
	n = read(STDIN_FILENO, keys, sizeof(keys));
	/* The window is gone: so is who could answer. */
	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) {
		p->answered = UINT64_MAX;
		prompt_take_down(r, s, "");
		if (r->login.number > 0)
			ask_login_answer(r, ASK_WORD_NO);
	}
	if (n <= 0)
		return;
	if (p->state == ASK_PROMPT_QUIET) {
		prompt_quiet(p);
		return;
	}
	/* A sequence: of a key that is no letter, or a reply of the terminal. */
	if (memchr(keys, ESC, (size_t)n))
		return;
	for (ssize_t i = 0; i < n && p->state == ASK_PROMPT_OPEN; i++) {
		if (keys[i] == CTRL_C || keys[i] == CTRL_D) {
			prompt_answer(r, s, ASK_WORD_NO);
		} else if (prompt_key(p, s, keys[i])) {
			p->line[p->len] = '\0';
			prompt_answer(r, s, ask_words_read(p->line));
		}
	}
}

/* At the end of a run */

/* 1: a key; 0: none until then; -1: the terminal is gone, or in other hands. */
static int prompt_wait_key(char *ret, uint64_t until_ms)
{
	struct pollfd p = { .fd = STDIN_FILENO, .events = POLLIN };
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	int r = poll(&p, 1, until_ms > now ? (int)(until_ms - now) : 0);

	if (r < 0)
		return errno == EINTR ? 1 : -1;
	if (r == 0)
		return 0;
	if (!terminal_is_foreground(STDIN_FILENO))
		return -1;
	*ret = '\0';
	return read(STDIN_FILENO, ret, 1) == 1 ? 1 : -1;
}

static int prompt_wait_quiet(uint64_t end_ms)
{
	int r = 1;
	char c;

	while (r == 1 && clock_ms(CLOCK_MONOTONIC) < end_ms)
		r = prompt_wait_key(&c, clock_ms(CLOCK_MONOTONIC) + ASK_QUIET_MS);
	return r;
}

static enum ask_word prompt_wait_line(struct run_stdio *s, uint64_t end_ms)
{
	struct ask_prompt p = { 0 };
	char c = 0;

	prompt_say(s, "  answer: ");
	while (prompt_wait_key(&c, end_ms) == 1) {
		if (c == CTRL_C || c == CTRL_D)
			return ASK_WORD_NO;
		if (!prompt_key(&p, s, c))
			continue;
		p.line[p.len] = '\0';
		prompt_say(s, "\n");
		return ask_words_read(p.line);
	}
	prompt_say(s, "\n");
	return ASK_WORD_NO;
}

enum ask_word ask_prompt_wait(struct run_stdio *s, uint64_t ms)
{
	const uint64_t end = clock_ms(CLOCK_MONOTONIC) + ms;
	enum ask_word word = ASK_WORD_NO;

	if (!terminal_is_foreground(STDIN_FILENO) || terminal_raw(&s->raw, STDIN_FILENO) < 0)
		return word;
	do {
		if (prompt_wait_quiet(end) == 0)
			word = prompt_wait_line(s, end);
		else
			word = ASK_WORD_NO;
	} while (word == ASK_WORD_NONE || word == ASK_WORD_RUN);
	(void)tcflush(STDIN_FILENO, TCIFLUSH);
	terminal_restore(&s->raw);
	return word;
}

void ask_prompt_end(struct run *r, struct run_stdio *s)
{
	if (r->prompt.state)
		prompt_take_down(r, s, "\ncorral: the command has ended\n");
}

void ask_prompt_over(struct run *r, uint64_t question, enum question_end how)
{
	if (r->prompt.is_login || r->prompt.id != question)
		return;
	r->prompt.is_over = true;
	r->prompt.how = how;
}

void ask_prompt_refused(struct run *r, uint64_t question, const char *why)
{
	struct ask_prompt *p = &r->prompt;

	(void)snprintf(p->refused, sizeof(p->refused), "%s", why);
	/* It waits still, and is shown again with the reason. */
	if (p->answered == question)
		p->answered = question - 1;
}
