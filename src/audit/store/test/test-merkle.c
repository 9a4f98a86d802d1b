/* SPDX-License-Identifier: Apache-2.0 */
/* The tree against one that is written as RFC 6962 has it, recursively, over all leaves. */
#include "test/unit.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "audit/store/merkle.h"

enum { SIZES = 300 };

static struct hash leaves[SIZES];

static struct hash naive_hash(const void *data, size_t len)
{
	struct hash h;

	crypto_generichash(h.bytes, sizeof(h.bytes), data, len, NULL, 0);
	return h;
}

static struct hash naive_join(struct hash a, struct hash b)
{
	uint8_t data[1 + 2 * HASH_BYTES] = { 1 };

	memcpy(data + 1, a.bytes, HASH_BYTES);
	memcpy(data + 1 + HASH_BYTES, b.bytes, HASH_BYTES);
	return naive_hash(data, sizeof(data));
}

static size_t naive_split(size_t n)
{
	size_t k = 1;

	while (k * 2 < n)
		k *= 2;
	return k;
}

static struct hash naive_root(const struct hash *l, size_t n)
{
	const size_t k = naive_split(n);

	if (n == 0)
		return naive_hash(NULL, 0);
	return n == 1 ? l[0] : naive_join(naive_root(l, k), naive_root(l + k, n - k));
}

static size_t naive_path(const struct hash *l, size_t n, size_t i, struct hash *path)
{
	const size_t k = naive_split(n);
	size_t len;

	if (n == 1)
		return 0;
	len = i < k ? naive_path(l, k, i, path) : naive_path(l + k, n - k, i - k, path);
	path[len] = i < k ? naive_root(l + k, n - k) : naive_root(l, k);
	return len + 1;
}

static int setup(void **state)
{
	(void)state;
	if (sodium_init() < 0)
		return -1;
	for (size_t i = 0; i < SIZES; i++)
		leaves[i] = merkle_leaf(&i, sizeof(i));
	return 0;
}

static void leaves_are_prefixed(void **state)
{
	const uint8_t data[] = { 0, 'a', 'b' };
	const struct hash got = merkle_leaf(data + 1, 2), want = naive_hash(data, sizeof(data));

	(void)state;
	assert_true(merkle_equal(&got, &want));
}

static void roots(void **state)
{
	struct merkle m = { 0 };

	(void)state;
	for (size_t n = 0; n <= SIZES; n++) {
		const struct hash got = merkle_root(&m), want = naive_root(leaves, n);

		assert_true(merkle_equal(&got, &want));
		assert_int_equal(m.n, n);
		if (n < SIZES)
			merkle_add(&m, &leaves[n]);
	}
}

/* Leaves below `gone` are not to be asked for. */
struct source {
	uint64_t gone;
};

static int give_leaf(void *context, uint64_t i, struct hash *ret)
{
	const struct source *s = context;

	assert_true(i >= s->gone && i < SIZES);
	*ret = leaves[i];
	return 0;
}

static void proofs(void **state)
{
	struct source all = { 0 };

	(void)state;
	for (size_t n = 1; n <= SIZES; n++) {
		const struct hash root = naive_root(leaves, n);

		for (size_t i = 0; i < n; i++) {
			struct hash path[MERKLE_LEVELS], want[MERKLE_LEVELS];
			const int len = merkle_prove(give_leaf, &all, NULL, i, n, path);

			/* The naive one takes long: all of small trees, some of large ones. */
			if (n <= 70 || (n + i) % 37 == 0) {
				assert_int_equal(len, naive_path(leaves, n, i, want));
				assert_memory_equal(path, want, (size_t)len * sizeof(path[0]));
			}
			assert_int_equal(
				merkle_check(&leaves[i], i, n, path, (size_t)len, &root), 0);
		}
	}
}

static void proofs_without_old_leaves(void **state)
{
	struct merkle gone = { 0 };

	(void)state;
	for (size_t cut = 0; cut < 66; cut++) {
		struct source rest = { cut };

		for (size_t n = cut + 1; n <= 66; n++) {
			const struct hash root = naive_root(leaves, n);

			for (size_t i = cut; i < n; i += 1 + n % 3) {
				struct hash path[MERKLE_LEVELS];
				const int len = merkle_prove(give_leaf, &rest, &gone, i, n, path);

				assert_true(len >= 0);
				assert_int_equal(
					merkle_check(&leaves[i], i, n, path, (size_t)len, &root),
					0);
			}
		}
		if (cut) {
			struct hash path[MERKLE_LEVELS];

			assert_int_equal(
				merkle_prove(give_leaf, &rest, &gone, cut - 1, 66, path), -ENOENT);
		}
		merkle_add(&gone, &leaves[cut]);
	}
}

/* One bit anywhere, another place, another size, a step more or less: nothing passes. */
static void tampered_proofs(void **state)
{
	struct source all = { 0 };

	(void)state;
	for (size_t n = 1; n <= 40; n++) {
		const struct hash root = naive_root(leaves, n);

		for (size_t i = 0; i < n; i++) {
			struct hash path[MERKLE_LEVELS + 1] = { 0 };
			const size_t len = (size_t)merkle_prove(give_leaf, &all, NULL, i, n, path);

			for (size_t step = 0; step < len; step++) {
				path[step].bytes[n % HASH_BYTES] ^= 1;
				assert_int_equal(
					merkle_check(&leaves[i], i, n, path, len, &root), -EBADMSG);
				path[step].bytes[n % HASH_BYTES] ^= 1;
			}
			for (size_t j = 0; j < n + 2; j++) {
				if (j != i)
					assert_int_equal(
						merkle_check(&leaves[i], j, n, path, len, &root),
						-EBADMSG);
			}
			assert_int_equal(
				merkle_check(&leaves[i + 1], i, n, path, len, &root), -EBADMSG);
			assert_int_equal(
				merkle_check(&leaves[i], i, n, path, len + 1, &root), -EBADMSG);
			if (len)
				assert_int_equal(
					merkle_check(&leaves[i], i, n, path, len - 1, &root),
					-EBADMSG);
			assert_int_equal(merkle_check(&leaves[i], i, n, path, len, &leaves[i + 2]),
				-EBADMSG);
		}
	}
}

static void bounds(void **state)
{
	struct hash path[MERKLE_LEVELS + 1] = { 0 };
	struct source all = { 0 };

	(void)state;
	assert_int_equal(merkle_prove(give_leaf, &all, NULL, 0, 0, path), -EINVAL);
	assert_int_equal(merkle_prove(give_leaf, &all, NULL, 5, 5, path), -EINVAL);
	assert_int_equal(merkle_check(&leaves[0], 0, 0, path, 0, &leaves[0]), -EBADMSG);
	assert_int_equal(
		merkle_check(&leaves[0], 0, UINT64_MAX, path, MERKLE_LEVELS + 1, &leaves[0]),
		-EBADMSG);
	/* A tree of one leaf is that leaf. */
	assert_int_equal(merkle_check(&leaves[0], 0, 1, path, 0, &leaves[0]), 0);
}

static int fail_at_three(void *context, uint64_t i, struct hash *ret)
{
	(void)context;
	*ret = leaves[i];
	return i == 3 ? -EIO : 0;
}

static void failing_source(void **state)
{
	struct hash path[MERKLE_LEVELS];

	(void)state;
	assert_int_equal(merkle_prove(fail_at_three, NULL, NULL, 0, 8, path), -EIO);
	assert_int_equal(merkle_prove(fail_at_three, NULL, NULL, 3, 4, path), 2);
}

static void packing(void **state)
{
	struct merkle m = { 0 }, back;
	uint8_t bytes[MERKLE_PACKED_MAX];

	(void)state;
	for (size_t n = 0; n < SIZES; n++) {
		const size_t len = merkle_pack(&m, bytes);
		struct hash a, b;

		assert_int_equal(merkle_unpack(&back, n, bytes, len), 0);
		a = merkle_root(&m);
		b = merkle_root(&back);
		assert_true(merkle_equal(&a, &b));
		assert_int_equal(merkle_unpack(&back, n, bytes, len + 1), -EBADMSG);
		if (n)
			assert_int_equal(merkle_unpack(&back, 0, bytes, len), -EBADMSG);
		merkle_add(&m, &leaves[n]);
	}
	assert_int_equal(merkle_unpack(&back, UINT64_MAX, bytes, sizeof(bytes)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_are_prefixed),
		cmocka_unit_test(roots),
		cmocka_unit_test(proofs),
		cmocka_unit_test(proofs_without_old_leaves),
		cmocka_unit_test(tampered_proofs),
		cmocka_unit_test(bounds),
		cmocka_unit_test(failing_source),
		cmocka_unit_test(packing),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
