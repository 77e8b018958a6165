/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h - threads of the library
 */
#ifndef VTADEV_THREAD_H
#define VTADEV_THREAD_H

#include <pthread.h>
#include <signal.h>

/* pthread_create() with all signals blocked: the program's own threads handle its signals. */
static inline int thread_create(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}

#endif /* VTADEV_THREAD_H */
