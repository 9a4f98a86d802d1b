/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A mutex that is held to the end of a block: auto_lock held = lock_take(&x->lock); */
#include <pthread.h>

static inline pthread_mutex_t *lock_take(pthread_mutex_t *m)
{
	(void)pthread_mutex_lock(m);
	return m;
}

static inline void lock_drop(pthread_mutex_t **m)
{
	(void)pthread_mutex_unlock(*m);
}
#define auto_lock __attribute__((cleanup(lock_drop), unused)) pthread_mutex_t *
