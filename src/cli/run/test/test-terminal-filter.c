/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/run/terminal-filter.h"
#include "cli/run/terminal.h"

enum { OUT_MAX = 1 << 18 };

static const struct terminal_rights none = { 0 }, asks = { .questions = true },
				    all = { true, true, true, true };

/* As a whole, and byte by byte. */
static size_t filter(struct terminal_rights rights, const char *in, size_t n, char *out)
{
	char *pieces = malloc(OUT_MAX);
	size_t len, len_pieces = 0;

	struct terminal_filter *f = calloc(2, sizeof(*f));

	assert_non_null(f);
	assert_non_null(pieces);
	f[0].rights = f[1].rights = rights;
	len = terminal_filter_run(&f[0], in, n, out);
	for (size_t i = 0; i < n; i++)
		len_pieces += terminal_filter_run(&f[1], in + i, 1, pieces + len_pieces);
	assert_int_equal(len, len_pieces);
	assert_memory_equal(out, pieces, len);
	assert_true(len <= 2 * n + TERMINAL_FILTER_HELD);
	free(pieces);
	free(f);
	return len;
}

static void expect(struct terminal_rights rights, const char *in, const char *wanted)
{
	char *out = malloc(OUT_MAX);
	size_t n;

	assert_non_null(out);
	n = filter(rights, in, strlen(in), out);
	out[n] = '\0';
	if (strcmp(out, wanted) != 0) {
		for (const char *c = in; *c; c++)
			(void)fprintf(stderr, *c < ' ' ? "<%02x>" : "%c", *c);
		(void)fputc('\n', stderr);
	}
	assert_string_equal(out, wanted);
	free(out);
}

/* Of vim, tmux, less, htop and what colours output. */
static void passes(void **state)
{
	static const char *const texts[] = {
		"plain text\r\n\ttabs\b\a",
		"\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3m24 bit\x1b[m \x1b[48:2::1:2:3m colons",
		"\x1b[?1049h\x1b[22;0;0t\x1b[>4;2m\x1b[?1h\x1b=\x1b[?2004h\x1b[?1004h\x1b[1;24r",
		"\x1b[2J\x1b[H\x1b[3;4H\x1b[K\x1b[1J\x1b[2A\x1b[5B",
		"\x1b[4C\x1b[3D\x1b[2L\x1b[1M\x1b[4P",
		"\x1b[?25l\x1b[?25h\x1b[?12l\x1b[2 q\x1b[ q\x1b[4h\x1b[4l\x1b[!p",
		"\x1b(0lqqk\x1b(B\x1b)0\x0e\x0f\0337\0338\x1bM\033D\033E\x1b#8",
		"\x1b*0\x1b+B\x1b-A\x1b(%5",
		"\033c\x1b=\x1b>\x1b<\x1bg\x1bNx\x1bOx\x1bn\x1bo\x1b|\x1b~\0336\0339\x1b#3\x1b#6",
		"\x1b[?1000h\x1b[?1002h\x1b[?1006h\x1b[?1006l\x1b[?2026h\x1b[?2026l",
		"\x1b]0;a title\x1b\\\x1b]2;\xe2\x9d\x9d \xe2\x9c\x93 \xc3\xa9\x1b\\",
		"\x1b]8;;https://example.com\x1b\\link\x1b]8;;\x1b\\",
		"\x1b]4;1;rgb:00/00/00\x1b\\\x1b]10;#ffffff\x1b\\\x1b]104\x1b\\\x1b]111\x1b\\",
		"\x1b]9;4;1;50\x1b\\",
		"\x1bktitle\x1b\\",
		"\x1bP0;1;0q\"1;1;2;2#0;2;0;0;0#0~~@@-\x1b\\",
		"\x1bP=1s\x1b\\\x1bP=2s\x1b\\",
		"\x1b[>1u\x1b[=5;1u\x1b[<u\x1b[s\x1b[u\x1b[3g\x1bH",
		"\xe2\x80\x93 \xc2\xa0 \xc3\xbf \xf0\x9f\x98\x80 \xed\x9f\xbf \xe0\xa0\x80",
		"\x1b[5;10H\x1b[s\x1b[1;1$r\x1b[8;30;90t\x1b[23;0;0t",
	};

	(void)state;
	for (size_t i = 0; i < ROWS(texts); i++) {
		expect(none, texts[i], texts[i]);
		expect(all, texts[i], texts[i]);
	}
}

static void asks_the_terminal(void **state)
{
	static const char *const questions[] = {
		"\x1b[c",
		"\x1b[0c",
		"\x1b[>c",
		"\x1b[=c",
		"\x1bZ",
		"\x1b[5n",
		"\x1b[6n",
		"\x1b[?6n",
		"\x1b[?996n",
		"\x1b[>q",
		"\x1b[>0q",
		"\x1b[?u",
		"\x1b[?2026$p",
		"\x1b[4$p",
		"\x1b[14t",
		"\x1b[18t",
		"\x1b[x",
		"\x1b[?1;1;0S",
		"\x1b[1$w",
		"\x1b[#R",
		"\x1b[1;2;3&w",
		"\x1b]11;?\x1b\\",
		"\x1b]4;1;?\x1b\\",
		"\x1bP$qm\x1b\\",
		"\x1bP+q544e\x1b\\",
	};

	(void)state;
	for (size_t i = 0; i < ROWS(questions); i++) {
		expect(asks, questions[i], questions[i]);
		/* Nobody would get the answer but the user's shell. */
		expect(none, questions[i], "");
	}
	expect(asks, "\x1b]11;?\a", "\x1b]11;?\x1b\\");
}

static void drops(void **state)
{
	static const char *const texts[] = {
		"\x05",
		"\x1b[21t",
		"\x1b[20t",
		"\x1b[i",
		"\x1b[5i",
		"\x1b[?5i",
		"\x1b[1;1;1;1;24;80*y",
		"\x1b[61\"p",
		"\x1b[>2t",
		"\x1b G",
		"\x1b%@",
		"\x1b%G",
		"\x1b]1337;File=name=eA==:eA==\a",
		"\x1b]1337;Copy=:eA==\x1b\\",
		"\x1b]7;file:///tmp\a",
		"\x1b]50;?\a",
		"\x1b]46;/tmp/log\a",
		"\x1b]5113;ac=send\x1b\\",
		"\x1b]5522;type=read\x1b\\",
		"\x1b]633;E;rm\a",
		"\x1b]lname\x1b\\",
		"\x1b]99999999999999999999;x\a",
		"\x1b]Pffffff0",
		"\x1b]R",
		"\x1b_Gt=f,a=T;L2V0Yy9wYXNzd2Q=\x1b\\",
		"\x1b_anything\x1b\\",
		"\x1b^message\x1b\\",
		"\x1bXstring\x1b\\",
		"\x1bP0;1|17/6c730d\x1b\\",
		"\x1bP1;1;1{ @\x1b\\",
		"\x1bP>|x\x1b\\",
		"\x1b\\",
		/* Terminology's own; memory lock; sets of two bytes; what no terminal knows. */
		"\x1b}",
		"\x1bl",
		"\x1b$B",
		"\x1b&4",
		"\x1b!0",
		"\x1b#~",
		/* Another terminal's sequences; the status line; the Linux console's screen. */
		"\x1b[?2l",
		"\x1b[?25;02;1l",
		"\x1b[1$}",
		"\x1b[2$~",
		"\x1b[9;1]",
	};

	(void)state;
	for (size_t i = 0; i < ROWS(texts); i++) {
		expect(none, texts[i], "");
		expect(all, texts[i], "");
	}
}

/* One sequence, and ways to hide it from a reader that looks for bytes. */
static void keeps_the_clipboard(void **state)
{
	static const char *const writes[] = { "\x1b]52;c;aGk=\a", "\x1b]52;c;aGk=\x1b\\",
		"\x1b]52;;aGk=\x1b\\", "\x1b]052;c;aGk=\a", "\x1b]52;cps01;\a",
		"\x1b]5\0012;c;aGk=\a", "\x1b]52;c;aGk=\x9c",
		"\x1bPtmux;\x1b\x1b]52;c;aGk=\a\x1b\\", "\x1bP\x1b]52;c;aGk=\a\x1b\\",
		"\x1bPq\x1b]52;c;aGk=\a", "\x1b_\x1b]52;c;aGk=\a", "\x1b[\x1b]52;c;aGk=\a",
		"\x1b\x1b]52;c;aGk=\a", "\x1b]0;\x1b]52;c;aGk=\a", "\x1b[3\x18\x1b]52;c;aGk=\a" };
	char *out = malloc(OUT_MAX);

	(void)state;
	assert_non_null(out);
	for (size_t i = 0; i < ROWS(writes); i++) {
		size_t n = filter(none, writes[i], strlen(writes[i]), out);

		assert_null(memmem(out, n, "52;", 3));
		n = filter(asks, writes[i], strlen(writes[i]), out);
		assert_null(memmem(out, n, "52;", 3));
	}
	free(out);
	/* What is no sequence for us must be none for the terminal. */
	expect(none, "\23552;c;aGk=\a", "?52;c;aGk=\a");
	expect(none, "\xc2\23552;c;aGk=\a", "?52;c;aGk=\a");
	expect(none, "\xe2\23552;c;aGk=\a", "\xe2\23552;c;aGk=\a");
	expect(none, "\xe0\23552;c;x", "\xe0?52;c;x");
	expect(none, "\xc0\23552", "\xc0?52");
	expect(none, "\233c\x90q\x9fG", "?c?q?G");
	expect(none, "\xc2\233c", "?c");
	expect(none, "\xc2\x1b[m", "?\x1b[m");
}

/* A private sequence is dropped, and what follows it is text. */
static void shows_private_sequences(void **state)
{
	(void)state;
	expect(all, "\x1b}pnhttp://evil/?data", "pnhttp://evil/?data");
	expect(all, "\x1b}qs", "qs");
}

static void grants(void **state)
{
	const struct terminal_rights writes = { .clipboard_write = true, .questions = true };
	const struct terminal_rights reads = { .clipboard_read = true, .questions = true };
	const struct terminal_rights notes = { .notifications = true };

	(void)state;
	expect(writes, "\x1b]52;c;aGk=\a", "\x1b]52;c;aGk=\x1b\\");
	expect(writes, "\x1b]52;c;?\a", "");
	expect(reads, "\x1b]52;c;?\a", "\x1b]52;c;?\x1b\\");
	expect(reads, "\x1b]52;c;aGk=\a", "");
	expect(notes, "\x1b]9;text\a\x1b]777;notify;a;b\a\x1b]99;;text\a",
		"\x1b]9;text\x1b\\\x1b]777;notify;a;b\x1b\\\x1b]99;;text\x1b\\");
	expect(none, "\x1b]9;text\a\x1b]777;notify;a;b\a\x1b]99;;text\a", "");
	/* Progress has no text. */
	expect(none, "\x1b]9;4;Your bank called\a\x1b]9;4;1;50 text\a", "");
	expect(notes, "\x1b]9;4;Your bank called\a", "\x1b]9;4;Your bank called\x1b\\");
	/* A grant to write is none to have the answer typed into the shell. */
	expect((struct terminal_rights){ .clipboard_read = true }, "\x1b]52;c;?\a", "");
}

/* Long ones: a bound for what is held, and a stream for what is granted. */
static void bounds(void **state)
{
	enum { LONG = 20000 };
	char *in = malloc(LONG + 64), *out = malloc(OUT_MAX);
	size_t n;

	(void)state;
	assert_non_null(in);
	assert_non_null(out);
	memset(in, 'a', LONG);
	memcpy(in, "\x1b]52;c;", 7);
	memcpy(in + LONG, "\x1b\\.", 4);
	n = filter(all, in, LONG + 3, out);
	assert_int_equal(n, LONG + 3);
	assert_memory_equal(out, in, n);
	assert_int_equal(filter(none, in, LONG + 3, out), 1);
	memcpy(in, "\x1b]0;aaa", 7);
	assert_int_equal(filter(all, in, LONG + 3, out), 1);
	memcpy(in, "\x1bP0;0q;", 7);
	n = filter(none, in, LONG + 3, out);
	assert_int_equal(n, LONG + 3);
	assert_memory_equal(out, in, n);
	memset(in, '1', LONG);
	memcpy(in, "\x1b[", 2);
	memcpy(in + LONG, "m.", 3);
	assert_int_equal(filter(all, in, LONG + 2, out), 1);
	free(in);
	free(out);
}

static void expect_end(const char *printed, const char *wanted)
{
	struct terminal_filter *f = calloc(1, sizeof(*f));
	char *out = malloc(OUT_MAX), end[TERMINAL_FILTER_END];
	size_t n;

	assert_non_null(f);
	assert_non_null(out);
	f->rights = asks;
	(void)terminal_filter_run(f, printed, strlen(printed), out);
	n = terminal_filter_end(f, end);
	assert_true(n < sizeof(end));
	end[n] = '\0';
	assert_string_equal(end, wanted);
	assert_int_equal(terminal_filter_end(f, end), 0);
	free(f);
	free(out);
}

static void undoes(void **state)
{
	(void)state;
	expect_end("text\r\n", "");
	expect_end("\x1b[1mbold\x1b[0m", "");
	expect_end("\x1b[1mbold", "\x1b[0m");
	expect_end("\x1b[?1049h\x1b[?1000;1006h\x1b[?1000;1006l\x1b[?1049l", "");
	expect_end("\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l");
	expect_end("\x1b[?1000;2004h", "\x1b[?1000l\x1b[?2004l");
	expect_end("\x1b[?7l\x1b[4h", "\x1b[?7h\x1b[4l");
	expect_end("\x1b[?7l\x1b[?7h\x1b[?12h\x1b[?1048h", "");
	expect_end("\x1b[?1003r", "\x1b[?1003l");
	/* What is restored is what was saved, whatever that was. */
	expect_end("\x1b[?25l\x1b[?25s\x1b[?25r", "\x1b[?25h");
	expect_end("\x1b[?25r\x1b[?25h", "");
	expect_end("\x1b[?2h", "");
	expect_end("\x1b[?25l\x1b[?65561h", "\x1b[?25h\x1b[?65535l");
	expect_end("\x1b[1\"q", "\x1b[0\"q");
	expect_end("\x1b[1\"q\x1b[0\"q", "");
	expect_end("\x1b=", "\x1b>");
	expect_end("\x1b=\x1b>", "");
	expect_end("\x0e", "\x1b(B\x1b)B\x0f");
	expect_end("\x1b(0", "\x1b(B\x1b)B\x0f");
	expect_end("\x1b[5;10r", "\0337\x1b[r\0338");
	expect_end("\x1b[5;10r\x1b[r", "");
	expect_end("\x1b[>1u", "\x1b[=0u\x1b[<99u\x1b[=0u\x1b[<99u");
	expect_end("\x1b[>4;1m", "\x1b[>4m");
	expect_end("\x1b[>4;2m\x1b[>4;m\x1b[>4m", "");
	expect_end("\x1b[>4;2m\x1b[>4;0m", "");
	expect_end("\x1b[>4;2;0m", "\x1b[>4m");
	expect_end("\x1b[>4:2m", "\x1b[>4m");
	expect_end("\x1b[>4;2m\x1b[>1m", "\x1b[>4m");
	expect_end("\x1b[>4n", "\x1b[>4m");
	expect_end("\x1b[>1;2m", "\x1b[>m");
	expect_end("\x1b[>2n", "\x1b[>m");
	expect_end("\x1b[>1;2m\x1b[>4;2m\x1b[>m", "");
	expect_end("\x1b[1mbold\x1b(B\x1b[m\x0f", "");
	expect_end("\x1b[4 q", "\x1b[0 q");
	expect_end("\x1b[22;0t\x1b[22t\x1b[23;0t", "\x1b[23;0t");
	expect_end("\x1b]8;;https://example.com\a", "\x1b]8;;\x1b\\");
	expect_end("\x1b]8;;https://example.com\ax\x1b]8;;\a", "");
	expect_end("\x1b]22;wait\a", "\x1b]22;\x1b\\");
	expect_end("\x1b]11;#000000\a", "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\"
					"\x1b]117\x1b\\\x1b]119\x1b\\");
	/* What was not ended does not swallow what comes after it. */
	expect_end("\x1bPq#0~", "\x1b\\");
	expect_end("\x1b]0;title", "");
	/* As new. */
	expect_end("\x1b[?1049h\x1b[1m\033c", "");
}

/* A stop: all is undone, and modes are set again where it goes on; then undone once more. */
static void pauses(void **state)
{
	struct terminal_filter *f = calloc(1, sizeof(*f));
	char out[64 + TERMINAL_FILTER_HELD], text[TERMINAL_FILTER_END];

	(void)state;
	assert_non_null(f);
	f->rights = all;
	assert_int_equal(terminal_filter_resume(f, text), 0);
	(void)terminal_filter_run(f, "\x1b[?25l\x1b[?1049h\x1b=\x1b[1m\x1b]0;ti", 26, out);
	text[terminal_filter_pause(f, text)] = '\0';
	assert_string_equal(text, "\x1b[?25h\x1b[?1049l\x1b>\x1b[0m");
	/* In the background there is nothing to undo. */
	assert_int_equal(terminal_filter_pause(f, text), 0);
	/* What was not complete goes on. */
	out[terminal_filter_run(f, "tle\a", 4, out)] = '\0';
	assert_string_equal(out, "\x1b]0;title\x1b\\");
	text[terminal_filter_resume(f, text)] = '\0';
	assert_string_equal(text, "\x1b[?1049h\x1b[?25l\x1b=");
	text[terminal_filter_end(f, text)] = '\0';
	assert_string_equal(text, "\x1b[?25h\x1b[?1049l\x1b>");
	/* Of a stream an end was written: its rest is dropped. */
	(void)terminal_filter_run(f, "\x1bPq#0~", 6, out);
	text[terminal_filter_pause(f, text)] = '\0';
	assert_string_equal(text, "\x1b\\");
	out[terminal_filter_run(f, "~~\x1b\\.", 5, out)] = '\0';
	assert_string_equal(out, ".");
	free(f);
}

/* More modes than are remembered: all that are known are reset. */
static void undoes_many_modes(void **state)
{
	struct terminal_filter *f = calloc(1, sizeof(*f));
	char text[64], out[2 * sizeof(text) + TERMINAL_FILTER_HELD], end[TERMINAL_FILTER_END];
	size_t n;

	(void)state;
	assert_non_null(f);
	for (unsigned i = 0; i < 1000; i++) {
		int len = snprintf(text, sizeof(text), "\x1b[?%uh\x1b[22t\x1b[1m", 60000 + i);

		(void)terminal_filter_run(f, text, (size_t)len, out);
	}
	n = terminal_filter_end(f, end);
	assert_in_range(n, 1, sizeof(end) - 1);
	end[n] = '\0';
	assert_non_null(strstr(end, "\x1b[?1049l"));
	assert_non_null(strstr(end, ";1003;"));
	free(f);
}

static void counts_answers(void **state)
{
	struct terminal_answers a = { 0 };
	static const char typed[] = "q\x1b[?62;22c\x1b[A\x1b[?1;2c\x1b[24;80R\x1b[?6c\x1b[c\x1b[?x";
	struct terminal_filter *f = calloc(1, sizeof(*f));
	char out[64 + TERMINAL_FILTER_HELD];

	(void)state;
	assert_non_null(f);
	for (size_t i = 0; i < sizeof(typed) - 1; i++)
		terminal_answers_count(&a, typed + i, 1);
	assert_int_equal(a.seen, 3);
	f->rights = asks;
	(void)terminal_filter_run(f, "\x1b[31m", 5, out);
	assert_false(f->has_asked);
	(void)terminal_filter_run(f, "\x1b[c\x1b[0c\x1bZ\x1b[>c\x1b[?2c", 19, out);
	assert_int_equal(f->n_identities, 3);
	assert_true(f->has_asked);
	free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes),
		cmocka_unit_test(asks_the_terminal),
		cmocka_unit_test(drops),
		cmocka_unit_test(keeps_the_clipboard),
		cmocka_unit_test(shows_private_sequences),
		cmocka_unit_test(grants),
		cmocka_unit_test(bounds),
		cmocka_unit_test(undoes),
		cmocka_unit_test(pauses),
		cmocka_unit_test(undoes_many_modes),
		cmocka_unit_test(counts_answers),
	};

	return cmocka_run_group_tests_name("run-terminal-filter", tests, NULL, NULL);
}
