/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/unit.h"

struct amount {
	const char *text;
	int code;
	uint64_t value;
	const char *printed;
};

static void check_amounts(const struct amount *rows, size_t n,
	int (*parse)(const char *, uint64_t *), void (*print)(uint64_t, struct buffer *))
{
	for (size_t i = 0; i < n; i++) {
		auto_buffer out = { 0 };
		uint64_t value = 12345;
		int r = parse(rows[i].text, &value);

		if (r != rows[i].code || value != (r < 0 ? 12345 : rows[i].value))
			fail_msg("<%s>: %d, %llu", rows[i].text, r, (unsigned long long)value);
		if (r < 0)
			continue;
		print(value, &out);
		assert_string_equal(buffer_text(&out), rows[i].printed);
		assert_int_equal(parse(buffer_text(&out), &value), 0);
		assert_int_equal(value, rows[i].value);
	}
}

static void test_sizes(void **state)
{
	static const struct amount rows[] = {
		{ "0", 0, 0, "0" },
		{ "1", 0, 1, "1" },
		{ "512", 0, 512, "512" },
		{ "512B", 0, 512, "512" },
		{ "1024", 0, 1024, "1K" },
		{ "64K", 0, 65536, "64K" },
		{ "64k", 0, 65536, "64K" },
		{ "1MB", 0, 1 << 20, "1M" },
		{ "1mib", 0, 1 << 20, "1M" },
		{ "1536K", 0, 1536 << 10, "1536K" },
		{ "2G", 0, UINT64_C(2) << 30, "2G" },
		{ "1025T", 0, UINT64_C(1025) << 40, "1025T" },
		{ "007", 0, 7, "7" },
		{ "18446744073709551614", 0, UINT64_MAX - 1, "18446744073709551614" },
		{ "18446744073709551615", -ERANGE, 0, NULL }, /* stands for no limit */
		{ "18446744073709551616", -ERANGE, 0, NULL },
		{ "99999999999999999999", -ERANGE, 0, NULL },
		{ "16777216T", -ERANGE, 0, NULL },
		{ "", -EINVAL, 0, NULL },
		{ "M", -EINVAL, 0, NULL },
		{ "-1", -EINVAL, 0, NULL },
		{ "+1", -EINVAL, 0, NULL },
		{ "1.5G", -EINVAL, 0, NULL },
		{ "1 M", -EINVAL, 0, NULL },
		{ " 1M", -EINVAL, 0, NULL },
		{ "1M ", -EINVAL, 0, NULL },
		{ "1MiBs", -EINVAL, 0, NULL },
		{ "0x10", -EINVAL, 0, NULL },
		{ "1s", -EINVAL, 0, NULL },
	};

	(void)state;
	check_amounts(rows, ROWS(rows), unit_parse_size, unit_print_size);
}

static void test_durations(void **state)
{
	static const struct amount rows[] = {
		{ "0", 0, 0, "0s" },
		{ "0ms", 0, 0, "0s" },
		{ "30", 0, 30000, "30s" },
		{ "30s", 0, 30000, "30s" },
		{ "500ms", 0, 500, "500ms" },
		{ "1500ms", 0, 1500, "1500ms" },
		{ "60s", 0, 60000, "1m" },
		{ "5m", 0, 300000, "5m" },
		{ "5min", 0, 300000, "5m" },
		{ "90m", 0, 5400000, "90m" },
		{ "2h", 0, 7200000, "2h" },
		{ "7d", 0, UINT64_C(604800000), "7d" },
		{ "24h", 0, 86400000, "1d" },
		{ "213503982335d", -ERANGE, 0, NULL },
		{ "5M", -EINVAL, 0, NULL }, /* months? */
		{ "1w", -EINVAL, 0, NULL },
		{ "s", -EINVAL, 0, NULL },
		{ "1.5s", -EINVAL, 0, NULL },
		{ "-1s", -EINVAL, 0, NULL },
		{ "", -EINVAL, 0, NULL },
	};

	(void)state;
	check_amounts(rows, ROWS(rows), unit_parse_duration, unit_print_duration);
}

static void test_rates(void **state)
{
	static const struct {
		const char *text;
		int code;
		struct rate rate;
		const char *printed;
	} rows[] = {
		{ "10/min", 0, { 10, 60 }, "10/min" },
		{ "10/minute", 0, { 10, 60 }, "10/min" },
		{ "10/60s", 0, { 10, 60 }, "10/min" },
		{ "5/s", 0, { 5, 1 }, "5/s" },
		{ "5/second", 0, { 5, 1 }, "5/s" },
		{ "100/hour", 0, { 100, 3600 }, "100/hour" },
		{ "100/h", 0, { 100, 3600 }, "100/hour" },
		{ "1/day", 0, { 1, 86400 }, "1/day" },
		{ "10/30s", 0, { 10, 30 }, "10/30s" },
		{ "10/30", 0, { 10, 30 }, "10/30s" },
		{ "10/2m", 0, { 10, 120 }, "10/2m" },
		{ "10/2000ms", 0, { 10, 2 }, "10/2s" },
		{ "0/min", -EINVAL, { 0, 0 }, NULL },
		{ "10/0s", -EINVAL, { 0, 0 }, NULL },
		{ "10/500ms", -EINVAL, { 0, 0 }, NULL },
		{ "10/", -EINVAL, { 0, 0 }, NULL },
		{ "10", -EINVAL, { 0, 0 }, NULL },
		{ "/min", -EINVAL, { 0, 0 }, NULL },
		{ "10/fortnight", -EINVAL, { 0, 0 }, NULL },
		{ "10 / min", -EINVAL, { 0, 0 }, NULL },
		{ "99999999999999999999/s", -ERANGE, { 0, 0 }, NULL },
		{ "1/99999999999999999999s", -ERANGE, { 0, 0 }, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct rate rate = { 7, 7 };
		auto_buffer out = { 0 };
		int r = unit_parse_rate(rows[i].text, &rate);

		if (r != rows[i].code)
			fail_msg("<%s>: %d", rows[i].text, r);
		assert_int_equal(rate.count, r < 0 ? 7 : rows[i].rate.count);
		assert_int_equal(rate.seconds, r < 0 ? 7 : rows[i].rate.seconds);
		if (r < 0)
			continue;
		unit_print_rate(&rate, &out);
		assert_string_equal(buffer_text(&out), rows[i].printed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_rates),
	};

	return cmocka_run_group_tests_name("unit", tests, NULL, NULL);
}
