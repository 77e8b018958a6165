/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The extension module vtadev._core: cards, arrays and loaded programs as Python objects.
 * vtadev/__init__.py has the part that needs no C: futures, batches, event loops.
 *
 * Only the limited API of Python 3.11 is used: one binary serves all later versions.
 * Functions follow Python's rule: NULL or -1 with an exception set.
 *
 * THREADS. Every field of an object is read and written with the GIL held, which is
 * released around what waits or computes. FORK. A child must not touch the queues and
 * buffers of its parent: owner_check() refuses them, and deallocation leaves them alone.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API	0x030b0000
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "vtadev.h"
#include "vtaprog.h"

/* ---- Errors (error.c) ---- */

/* Adds Error, Fault and Lost, and the names of reasons and causes. */
int error_init(PyObject *module);

/* The exception for what the library returned, with a sentence of its own; returns NULL. */
PyObject *error_set(int err, const char *text);

/* The same for a card, whose loss has a cause. @dev may be NULL. */
PyObject *error_set_card(int err, struct vtadev *dev);

/* The exception for a queue that has halted. */
PyObject *error_set_fault(const struct vtadev_fault *fault);

/* ---- Cards (device.c) ---- */

struct device {
	PyObject_HEAD
	struct vtadev *dev;	/* NULL: closed */
	unsigned int users;	/* calls that use @dev without the GIL: the last one closes it */
	bool closing;
	pid_t owner;		/* the process that opened it */
};

extern PyTypeObject *device_type;
int device_init(PyObject *module);

/*
 * The open card, until device_leave(); NULL and an exception if it is closed, or is the
 * parent process's.
 */
struct vtadev *device_enter(struct device *device);
void device_leave(struct device *device);

/* -1 and an exception in another process than @owner, which opened the card. */
int owner_check(pid_t owner);

/* ---- Arrays (array.c) ---- */

#define ARRAY_RANK_MAX	VTACPU_RANK_MAX

/* Values with a shape, exported by the buffer protocol. */
struct array {
	PyObject_HEAD
	void *data;
	/* One of these has the values: */
	void *owned;		/* what PyMem_Free() takes, or NULL */
	void *managed;		/* struct DLManagedTensor, or NULL */
	PyObject *base;		/* the array that this is a part of, or NULL */
	bool readonly;
	int rank;
	Py_ssize_t itemsize;
	Py_ssize_t shape[ARRAY_RANK_MAX], strides[ARRAY_RANK_MAX];	/* strides in bytes */
	char format[2];		/* of the struct module */
	PyObject *name;		/* of the tensor, or None */
	double scale;		/* a value represents scale * (value - zero); 0: not known */
	int zero;
};

extern PyTypeObject *array_type;
int array_init(PyObject *module);

/* A new object without values. */
struct array *array_alloc(void);

/* A new C-contiguous array of @rank dimensions, its values not set. */
struct array *array_new(const char *format, Py_ssize_t itemsize, int rank,
			const Py_ssize_t *shape);

/* A contiguous copy of the values of @array. */
struct array *array_copy(struct array *array);

/* dlpack.c: an array of what a __dlpack__() gives, without a copy. */
PyObject *dlpack_wrap(PyObject *method);
void dlpack_release(void *managed);

/* The methods __dlpack__() and __dlpack_device__() of an array. */
PyObject *dlpack_give(PyObject *array, PyObject *args, PyObject *keywords);
PyObject *dlpack_device(PyObject *array, PyObject *none);

/* ---- Values of tensors (tensor.c) ---- */

int tensor_init(PyObject *module);

/* 'i', 'u', 'f' or '?': the kind of a format's values; 0: another. */
char tensor_kind(const char *format);

/* The object itself if it has a buffer, or else an array of what its __dlpack__() gives. */
PyObject *tensor_buffer(PyObject *module, PyObject *object);

/* stack((name, format, shape, scale, zero), images): an array of these images. */
PyObject *tensor_stack(PyObject *module, PyObject *args);

/* quantise.c: quantise(values, format, scale, zero): an array of integers. */
PyObject *tensor_quantise(PyObject *module, PyObject *args);

/* Copy @object's values to the program's place for them, packed as the card wants them. */
int tensor_put(const struct vtaops_core *core, const struct vtaimage_tensor *t, void *to,
	       PyObject *object);

/* A new array of the values at @from. */
PyObject *tensor_get(const struct vtaops_core *core, const struct vtaimage_tensor *t,
		     const struct vtaimage_tensor *part,
		     const void *from);

/* (name, format, shape, scale, zero) */
PyObject *tensor_describe(const struct vtaimage_tensor *t);

/* ---- Program images (image.c) ---- */

struct image {
	PyObject_HEAD
	PyObject *bytes;
	struct vtaimage image;	/* points into @bytes */
};

extern PyTypeObject *image_type;
int image_init(PyObject *module);

/* ---- Loaded programs (slot.c) ---- */

int slot_init(PyObject *module);

/* ---- Pools of cards (pool.c) ---- */

int pool_init(PyObject *module);

/*
 * The number of names in a tuple of str, of VTADEV_POOL_CARDS_MAX at most; they live as long as it.
 * -1 and an exception if it has none, or too many.
 */
int pool_names(PyObject *cards, const char **names);

/* ---- Measurements (bench.c) ---- */

/* bench(image, cards, depth, warmup, runs, ns, inputs): struct vtadev_bench_result as a tuple */
PyObject *bench_rate(PyObject *module, PyObject *args);

/* bench_parts(image, card, runs, inputs): struct vtadev_bench_parts as a tuple */
PyObject *bench_one(PyObject *module, PyObject *args);

/* Values of a program's inputs, in its order, plain. */
struct inputs {
	struct iovec *io;
	unsigned int count;
};

/*
 * Take the values of a tuple of objects, or none of None. Returns 0, or -1 and an exception;
 * inputs_free() after both.
 */
int inputs_take(struct inputs *inputs, const struct vtaimage *image, PyObject *objects);
void inputs_free(struct inputs *inputs);

/* ---- Profiles (profile.c) ---- */

/*
 * profile(image, device, cuts, runs, inputs): the median run without a profile in ns, its error in
 * ns, and the parts of the median run as (step, insn, begin, end, cycles)
 */
PyObject *profile_run(PyObject *module, PyObject *args);
