// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest memory map: an array of ranges sorted by bus address that never
 * overlap, searched by bisection.
 */
#define _GNU_SOURCE 1	/* lock kinds */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "vfu_dma.h"

static_assert(sizeof(size_t) == 8, "a range of guest memory fits a size_t");

struct dma_range {
	uint64_t iova;
	uint64_t last;		/* inclusive: a range may end at 2^64 - 1 */
	uint8_t *ptr;		/* NULL: known, but no memory is shared */
	void *map;		/* whole pages of the file around it */
	size_t map_size;
	uint32_t flags;
	bool lost;		/* the file has no such memory any more */
};

struct vfu_dma {
	pthread_rwlock_t lock;		/* Protects: all below but faults */
	struct dma_range *ranges;	/* sorted by iova */
	size_t count;
	size_t room;
	bool enabled;
	atomic_uint_fast64_t faults;
	atomic_uint lost;		/* ranges, ever */
};

/* ---- Memory that is not there ---- */

/* The map that this thread accesses between vfu_dma_begin() and vfu_dma_end(). */
static _Thread_local struct vfu_dma *accessed;
static _Thread_local unsigned int lost_before;

static struct dma_range *range_of(struct vfu_dma *dma, const void *addr)
{
	for (size_t i = 0; dma && i < dma->count; i++) {
		struct dma_range *r = &dma->ranges[i];

		if (r->ptr && (uintptr_t)addr - (uintptr_t)r->map < r->map_size)
			return r;
	}
	return NULL;
}

/*
 * A file that shrank, a full tmpfs, no huge pages left. Other memory takes the place, so that the
 * access ends; the range is lost, which vfu_dma_end() reports. Ranges do not change meanwhile, as
 * the thread has the lock.
 */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	struct dma_range *r = range_of(accessed, info->si_addr);
	int saved = errno;

	(void)context;
	if (r && mmap(r->map, r->map_size, PROT_READ | PROT_WRITE,
		      MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == r->map) {
		__atomic_store_n(&r->lost, true, __ATOMIC_RELAXED);
		atomic_fetch_add(&accessed->lost, 1);
	} else {
		signal(sig, SIG_DFL);	/* the access is made again, and ends the process */
	}
	errno = saved;
}

static void catch_sigbus(void)
{
	struct sigaction action = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO };

	sigaction(SIGBUS, &action, NULL);
}

struct vfu_dma *vfu_dma_new(void)
{
	struct vfu_dma *dma = calloc(1, sizeof(*dma));
	pthread_rwlockattr_t attr;

	if (!dma)
		return NULL;
	catch_sigbus();
	/* Engines that read without a pause must not starve an unmap. */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr,
				      PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&dma->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	return dma;
}

void vfu_dma_free(struct vfu_dma *dma)
{
	if (!dma)
		return;
	vfu_dma_unmap_all(dma);
	pthread_rwlock_destroy(&dma->lock);
	free(dma->ranges);
	free(dma);
}

static size_t range_size(const struct dma_range *r)
{
	return r->last - r->iova + 1;
}

/* The index of the first range that ends at or after iova. */
static size_t find_range(const struct vfu_dma *dma, uint64_t iova)
{
	size_t lo = 0, hi = dma->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (dma->ranges[mid].last < iova)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool make_room(struct vfu_dma *dma)
{
	size_t room = dma->room ? dma->room * 2 : 16;
	struct dma_range *ranges;

	if (dma->count < dma->room)
		return true;
	ranges = reallocarray(dma->ranges, room, sizeof(*ranges));
	if (!ranges)
		return false;
	dma->ranges = ranges;
	dma->room = room;
	return true;
}

/*
 * Sets the size of huge pages. A page beyond the end of the file is not there. A FUSE file's
 * pages come from a process, which may never give them.
 */
static int check_file(int fd, uint64_t offset, uint64_t size, size_t *page)
{
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return -errno;
	if (!S_ISREG(st.st_mode) || fs.f_type == FUSE_SUPER_MAGIC)
		return -EINVAL;
	if (offset > (uint64_t)st.st_size ||
	    size > (uint64_t)st.st_size - offset)
		return -EINVAL;
	if (fs.f_type == HUGETLBFS_MAGIC)
		*page = (size_t)fs.f_bsize;
	return 0;
}

/* Huge pages are mapped and unmapped whole, whatever part of them the range is. */
static int map_file(struct dma_range *r, int fd, uint64_t offset)
{
	size_t page = VFU_DMA_PAGE, before;
	int prot = 0;
	int ret;
	void *ptr;

	ret = check_file(fd, offset, range_size(r), &page);
	if (ret)
		return ret;
	before = offset % page;
	r->map_size = (before + range_size(r) + page - 1) / page * page;
	if (r->flags & VFU_DMA_READ)
		prot |= PROT_READ;
	if (r->flags & VFU_DMA_WRITE)
		prot |= PROT_WRITE;
	ptr = mmap(NULL, r->map_size, prot, MAP_SHARED | MAP_NORESERVE, fd,
		   (off_t)(offset - before));
	if (ptr == MAP_FAILED)
		return -errno;
	r->map = ptr;
	r->ptr = r->map;
	r->ptr += before;
	return 0;
}

static int insert_range(struct vfu_dma *dma, struct dma_range *r, int fd,
			uint64_t offset)
{
	size_t at = find_range(dma, r->iova);
	int ret;

	if (at < dma->count && dma->ranges[at].iova <= r->last)
		return -EEXIST;
	if (dma->count >= VFU_DMA_MAX_MAPS)
		return -ENOSPC;
	if (!make_room(dma))
		return -ENOMEM;
	if (fd >= 0) {
		ret = map_file(r, fd, offset);
		if (ret)
			return ret;
	}
	memmove(dma->ranges + at + 1, dma->ranges + at,
		(dma->count - at) * sizeof(*dma->ranges));
	dma->ranges[at] = *r;
	dma->count++;
	return 0;
}

int vfu_dma_map(struct vfu_dma *dma, uint64_t iova, uint64_t size,
		uint32_t flags, int fd, uint64_t offset)
{
	struct dma_range r = {
		.iova = iova,
		.last = iova + size - 1,
		.flags = flags,
	};
	int ret;

	if (!size || r.last < iova)
		return -EINVAL;
	if ((iova | size | offset) % VFU_DMA_PAGE)
		return -EINVAL;
	if (!flags || (flags & ~(VFU_DMA_READ | VFU_DMA_WRITE)))
		return -EINVAL;

	pthread_rwlock_wrlock(&dma->lock);
	ret = insert_range(dma, &r, fd, offset);
	pthread_rwlock_unlock(&dma->lock);
	return ret;
}

static void drop_ranges(struct vfu_dma *dma, size_t first, size_t n)
{
	size_t i;

	for (i = first; i < first + n; i++)
		if (dma->ranges[i].ptr)
			munmap(dma->ranges[i].map, dma->ranges[i].map_size);
	memmove(dma->ranges + first, dma->ranges + first + n,
		(dma->count - first - n) * sizeof(*dma->ranges));
	dma->count -= n;
}

static int unmap_locked(struct vfu_dma *dma, uint64_t iova, uint64_t last)
{
	size_t first = find_range(dma, iova);
	size_t end = first;

	while (end < dma->count && dma->ranges[end].iova <= last)
		end++;
	if (end == first)
		return 0;
	if (dma->ranges[first].iova < iova || dma->ranges[end - 1].last > last)
		return -EINVAL;
	drop_ranges(dma, first, end - first);
	return 0;
}

int vfu_dma_unmap(struct vfu_dma *dma, uint64_t iova, uint64_t size)
{
	uint64_t last = iova + size - 1;
	int ret;

	if (!size || last < iova)
		return -EINVAL;
	pthread_rwlock_wrlock(&dma->lock);
	ret = unmap_locked(dma, iova, last);
	pthread_rwlock_unlock(&dma->lock);
	return ret;
}

void vfu_dma_unmap_all(struct vfu_dma *dma)
{
	pthread_rwlock_wrlock(&dma->lock);
	if (dma->count)
		drop_ranges(dma, 0, dma->count);
	pthread_rwlock_unlock(&dma->lock);
}

void vfu_dma_enable(struct vfu_dma *dma, bool on)
{
	pthread_rwlock_wrlock(&dma->lock);
	dma->enabled = on;
	pthread_rwlock_unlock(&dma->lock);
}

unsigned int vfu_dma_count(struct vfu_dma *dma)
{
	unsigned int n;

	pthread_rwlock_rdlock(&dma->lock);
	n = (unsigned int)dma->count;
	pthread_rwlock_unlock(&dma->lock);
	return n;
}

uint64_t vfu_dma_faults(struct vfu_dma *dma)
{
	return atomic_load_explicit(&dma->faults, memory_order_relaxed);
}

void vfu_dma_begin(struct vfu_dma *dma)
{
	pthread_rwlock_rdlock(&dma->lock);
	accessed = dma;
	lost_before = atomic_load(&dma->lost);
}

static void count_fault(struct vfu_dma *dma)
{
	atomic_fetch_add_explicit(&dma->faults, 1, memory_order_relaxed);
}

int vfu_dma_end(struct vfu_dma *dma)
{
	int err = atomic_load(&dma->lost) == lost_before ? 0 : -EFAULT;

	if (err)
		count_fault(dma);
	accessed = NULL;
	pthread_rwlock_unlock(&dma->lock);
	return err;
}

/* vfu_dma_at without counting the refusal. */
static void *lookup_range(struct vfu_dma *dma, uint64_t iova, size_t *len,
			  uint32_t flags, int *err)
{
	const struct dma_range *r;
	size_t at, left;

	*err = 0;
	if (!dma->enabled) {
		*err = -EPERM;
		return NULL;
	}
	at = find_range(dma, iova);
	r = at < dma->count ? &dma->ranges[at] : NULL;
	if (!r || r->iova > iova || !r->ptr || __atomic_load_n(&r->lost, __ATOMIC_RELAXED)) {
		*err = -EFAULT;
		return NULL;
	}
	if ((r->flags & flags) != flags) {
		*err = -EACCES;
		return NULL;
	}
	left = r->last - iova + 1;
	if (*len > left)
		*len = left;
	return r->ptr + (iova - r->iova);
}

void *vfu_dma_at(struct vfu_dma *dma, uint64_t iova, size_t *len,
		 uint32_t flags, int *err)
{
	void *ptr = lookup_range(dma, iova, len, flags, err);

	if (!ptr)
		count_fault(dma);
	return ptr;
}

/* All of [iova, iova + len) is accessible: nothing is moved otherwise. */
static int check_span(struct vfu_dma *dma, uint64_t iova, size_t len,
		      uint32_t flags)
{
	int err = 0;

	if (iova + len < iova && iova + len != 0)
		return -EFAULT;
	while (len) {
		size_t run = len;

		if (!lookup_range(dma, iova, &run, flags, &err))
			return err;
		iova += run;
		len -= run;
	}
	return 0;
}

/* Reads into dst, or writes from src when dst is NULL. */
static int copy_range(struct vfu_dma *dma, uint64_t iova, void *dst, const void *src,
		      size_t len)
{
	uint32_t flags = dst ? VFU_DMA_READ : VFU_DMA_WRITE;
	int err, lost;

	vfu_dma_begin(dma);
	err = check_span(dma, iova, len, flags);
	if (err)
		count_fault(dma);
	while (!err && len) {
		size_t run = len;
		void *mem = lookup_range(dma, iova, &run, flags, &err);

		if (!mem)
			break;	/* lost just now */
		if (dst) {
			memcpy(dst, mem, run);
			dst = (uint8_t *)dst + run;
		} else {
			memcpy(mem, src, run);
			src = (const uint8_t *)src + run;
		}
		iova += run;
		len -= run;
	}
	lost = vfu_dma_end(dma);
	return err ? err : lost;
}

int vfu_dma_read(struct vfu_dma *dma, uint64_t iova, void *buf, size_t len)
{
	return copy_range(dma, iova, buf, NULL, len);
}

int vfu_dma_write(struct vfu_dma *dma, uint64_t iova, const void *buf,
		  size_t len)
{
	return copy_range(dma, iova, NULL, buf, len);
}

/* Ranges are page aligned: an aligned word never spans two of them. */
static uint64_t *word_at(struct vfu_dma *dma, uint64_t iova, uint32_t flags,
			 int *err)
{
	size_t len = sizeof(uint64_t);

	return vfu_dma_at(dma, iova, &len, flags, err);
}

int vfu_dma_write64(struct vfu_dma *dma, uint64_t iova, uint64_t val)
{
	uint64_t *word;
	int err, lost;

	if (iova % sizeof(val))
		return -EINVAL;
	vfu_dma_begin(dma);
	word = word_at(dma, iova, VFU_DMA_WRITE, &err);
	if (word)
		__atomic_store_n(word, htole64(val), __ATOMIC_RELEASE);
	lost = vfu_dma_end(dma);
	return err ? err : lost;
}

int vfu_dma_read64(struct vfu_dma *dma, uint64_t iova, uint64_t *val)
{
	uint64_t *word;
	int err, lost;

	if (iova % sizeof(*val))
		return -EINVAL;
	vfu_dma_begin(dma);
	word = word_at(dma, iova, VFU_DMA_READ, &err);
	if (word)
		*val = le64toh(__atomic_load_n(word, __ATOMIC_ACQUIRE));
	lost = vfu_dma_end(dma);
	return err ? err : lost;
}
