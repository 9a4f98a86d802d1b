/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work of the processor alone, of the kinds that CoreMark has: a linked list that is sorted and
 * searched, products of matrices, a state machine over text, checksums; and calls (Fibonacci). The
 * same source natively and as a WASI command. Prints "KIND ROUNDS-PER-SECOND" for each, and "mean"
 * of them all, geometric.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ITEMS = 2000, SIDE = 48, TEXT = 4000, BYTES = 16384, FIB = 21 };
#define SECONDS 0.25

struct item {
	struct item *next;
	int32_t key, value;
};
static struct item items[ITEMS];
static int32_t a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
static char text[TEXT];
static uint8_t bytes[BYTES];
static uint32_t seed = 1;

static uint32_t next_random(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

static struct item *merge(struct item *x, struct item *y)
{
	struct item head = { 0 }, *last = &head;

	while (x && y) {
		struct item **from = x->key <= y->key ? &x : &y;

		last->next = *from;
		last = *from;
		*from = (*from)->next;
	}
	last->next = x ? x : y;
	return head.next;
}

static struct item *sort(struct item *list, int n)
{
	struct item *half = list, *cut;

	if (n < 2)
		return list;
	for (int i = 1; i < n / 2; i++)
		half = half->next;
	cut = half->next;
	half->next = NULL;
	return merge(sort(list, n / 2), sort(cut, n - n / 2));
}

static uint32_t work_list(void)
{
	uint32_t sum = 0;
	int32_t at = 0;

	for (int i = 0; i < ITEMS; i++)
		items[i] = (struct item){ i + 1 < ITEMS ? &items[i + 1] : NULL,
			(int32_t)(next_random() & 0xffff), i };
	for (struct item *i = sort(items, ITEMS); i; i = i->next)
		sum += (uint32_t)(i->value * at++);
	return sum;
}

static uint32_t work_matrix(void)
{
	uint32_t sum = 0;

	for (int i = 0; i < SIDE; i++)
		for (int k = 0; k < SIDE; k++) {
			int32_t all = 0;

			for (int m = 0; m < SIDE; m++)
				all += (a[i][m] * b[m][k]) >> 3;
			c[i][k] = all;
			sum += (uint32_t)all;
		}
	a[sum % SIDE][1]++;
	return sum;
}

/* Numbers in a text: whole, with a point, with an exponent, or none. */
static uint32_t work_state(void)
{
	enum { START, SIGN, WHOLE, POINT, EXPONENT, POWER, OTHER } s = START;
	uint32_t seen[OTHER + 1] = { 0 }, sum = 0;

	for (int i = 0; i < TEXT; i++) {
		const char ch = text[i];
		const int digit = ch >= '0' && ch <= '9';

		if (ch == ',') {
			seen[s]++;
			s = START;
			continue;
		}
		switch (s) {
		case START:
			s = digit                    ? WHOLE
			    : ch == '-' || ch == '+' ? SIGN
			    : ch == '.'              ? POINT
						     : OTHER;
			break;
		case SIGN:
			s = digit ? WHOLE : OTHER;
			break;
		case WHOLE:
			s = digit ? WHOLE : ch == '.' ? POINT : ch == 'e' ? EXPONENT : OTHER;
			break;
		case POINT:
			s = digit ? POINT : ch == 'e' ? EXPONENT : OTHER;
			break;
		case EXPONENT:
			s = digit || ch == '-' ? POWER : OTHER;
			break;
		case POWER:
			s = digit ? POWER : OTHER;
			break;
		default:
			break;
		}
	}
	for (int i = 0; i <= OTHER; i++)
		sum = sum * 31 + seen[i];
	text[sum % TEXT] ^= 0;
	return sum;
}

static uint32_t work_checksum(void)
{
	uint16_t crc = 0;

	for (int i = 0; i < BYTES; i++) {
		crc ^= bytes[i];
		for (int k = 0; k < 8; k++)
			crc = crc & 1 ? (uint16_t)(crc >> 1 ^ 0xa001) : (uint16_t)(crc >> 1);
	}
	bytes[crc % BYTES]++;
	return crc;
}

static uint32_t (*volatile again)(uint32_t);
static uint32_t fibonacci(uint32_t n)
{
	return n < 2 ? n : again(n - 1) + again(n - 2);
}

static uint32_t work_calls(void)
{
	again = fibonacci;
	return fibonacci(FIB);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void)
{
	static const struct {
		const char *name;
		uint32_t (*run)(void);
	} kinds[] = { { "list", work_list }, { "matrix", work_matrix }, { "state", work_state },
		{ "checksum", work_checksum }, { "calls", work_calls } };
	static const char alphabet[] = "0123456789012345,,.e-+x,";
	const size_t n = sizeof(kinds) / sizeof(kinds[0]);
	volatile uint32_t sum = 0;
	double all = 0;

	for (int i = 0; i < TEXT; i++)
		text[i] = alphabet[next_random() % (sizeof(alphabet) - 1)];
	for (int i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)next_random();
	for (int i = 0; i < SIDE * SIDE; i++)
		a[i / SIDE][i % SIDE] = b[i % SIDE][i / SIDE] = (int32_t)(next_random() & 0xff);
	for (size_t i = 0; i < n; i++) {
		const double begin = now();
		double took = 0;
		unsigned rounds = 0;

		do {
			for (int k = 0; k < 20; k++, rounds++)
				sum += kinds[i].run();
			took = now() - begin;
		} while (took < SECONDS);
		printf("%s %.1f\n", kinds[i].name, rounds / took);
		all += log(rounds / took);
	}
	printf("mean %.1f\n", exp(all / (double)n));
	return 0;
}
