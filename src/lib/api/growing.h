/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Structs of the host that begin with their size and may grow from one version to the next: a
 * shorter one is older, and what it has not is zero; a longer one is newer, and must ask for
 * nothing that this library does not know.
 */
#include <stddef.h>

/*
 * Fills `known` bytes at ret. -EINVAL: there is no size, or none that makes sense. -E2BIG: it asks
 * for something that is not known here. *ret is untouched then.
 */
int growing_read(void *ret, size_t known, const void *from, size_t size);
