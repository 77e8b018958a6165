// SPDX-License-Identifier: Apache-2.0
/*
 * local_mem.c - the memory of a card in the process, by 32-bit device addresses
 *
 * A buffer is whole pages at a device address. The card accesses memory with a lock held
 * for reading, a piece at a time; a buffer is taken away with all of them held for writing.
 * So when the free of a buffer returns, no run can access the buffer any longer.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fd.h"
#include "local_impl.h"

#define SPACE_END	(1ull << 32)
#define ALIGN_MAX	(1ull << 30)

#ifndef MADV_POPULATE_READ	/* Linux 5.14 */
#define MADV_POPULATE_READ	22
#define MADV_POPULATE_WRITE	23
#endif

static void destroy_locks(struct local_space *space, unsigned int n)
{
	while (n--)
		pthread_rwlock_destroy(&space->locks[n].lock);
}

static int init_locks(struct local_space *space)
{
	pthread_rwlockattr_t attr;
	int err = pthread_rwlockattr_init(&attr);
	unsigned int i;

	if (err)
		return -err;
	/* Two engines that take turns to read must not keep a free waiting. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	for (i = 0; i < LOCAL_SPACE_LOCKS && !err; i++)
		err = pthread_rwlock_init(&space->locks[i].lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	if (err)
		destroy_locks(space, i - 1);
	return -err;
}

static void lock_for_writing(struct local_space *space)
{
	for (unsigned int i = 0; i < LOCAL_SPACE_LOCKS; i++)
		pthread_rwlock_wrlock(&space->locks[i].lock);
}

static void unlock_for_writing(struct local_space *space)
{
	for (unsigned int i = 0; i < LOCAL_SPACE_LOCKS; i++)
		pthread_rwlock_unlock(&space->locks[i].lock);
}

/* The lock that the calling thread reads with. */
static pthread_rwlock_t *own_lock(struct local_space *space)
{
	static atomic_uint threads;
	static __thread unsigned int thread;

	if (!thread)
		thread = atomic_fetch_add(&threads, 1) % LOCAL_SPACE_LOCKS + 1;
	return &space->locks[thread - 1].lock;
}

int local_space_init(struct local *card)
{
	struct local_space *space = &card->space;
	int err;

	space->ops = card->ops;
	space->device = card->device;
	err = local_arena_init(space, card->info.mem_size);
	if (err)
		return err;
	err = init_locks(space);
	if (err)
		local_arena_destroy(space);
	return err;
}

static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

/* ---- The map; with the lock ---- */

/* The first that ends behind @addr; count if there is none. */
static size_t index_of(const struct local_space *space, uint64_t addr)
{
	size_t low = 0, high = space->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct local_mem *mem = space->mems[mid];

		if (mem->addr + mem->size > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Find an address at which @size bytes fit; 0 if there is none. */
static uint64_t find_hole(const struct local_space *space, uint64_t size, uint64_t align)
{
	uint64_t addr = round_up(1, align);

	for (size_t i = 0; i < space->count; i++) {
		const struct local_mem *mem = space->mems[i];

		if (addr + size <= mem->addr)
			return addr;
		addr = round_up(mem->addr + mem->size, align);
	}
	return addr + size <= SPACE_END ? addr : 0;
}

/* Puts it at @addr, or where there is room if that is 0. */
static int insert(struct local *card, struct local_mem *mem, uint64_t addr, uint64_t align)
{
	struct local_space *space = &card->space;
	size_t at;

	if (mem->flags & VTA_BUF_CARD && mem->size > card->info.mem_size - space->card_bytes)
		return -ENOSPC;
	if (space->count == space->room) {
		size_t room = space->room ? 2 * space->room : 16;
		struct local_mem **more = realloc(space->mems, room * sizeof(struct local_mem *));

		if (!more)
			return -ENOMEM;
		space->mems = more;
		space->room = room;
	}
	if (!addr)
		addr = find_hole(space, mem->size, align);
	if (!addr)
		return -ENOSPC;
	at = index_of(space, addr);
	if (at < space->count && space->mems[at]->addr < addr + mem->size)
		return -EEXIST;

	mem->addr = (uint32_t)addr;
	mem->handle = ++space->last_handle;
	memmove(&space->mems[at + 1], &space->mems[at],
		(space->count - at) * sizeof(struct local_mem *));
	space->mems[at] = mem;
	space->count++;
	if (mem->flags & VTA_BUF_CARD)
		space->card_bytes += mem->size;
	return 0;
}

/* Takes it from the map. The caller drops the rest of it. */
static struct local_mem *remove_at(struct local_space *space, size_t at)
{
	struct local_mem *mem = space->mems[at];

	if (mem->flags & VTA_BUF_CARD)
		space->card_bytes -= mem->size;
	space->count--;
	memmove(&space->mems[at], &space->mems[at + 1],
		(space->count - at) * sizeof(struct local_mem *));
	return mem;
}

/* And the device's own memory, if it is that. */
static struct local_mem *take_out(struct local_space *space, size_t at)
{
	struct local_mem *mem = remove_at(space, at);

	if (mem->kind == LOCAL_MEM_DEVICE)
		local_arena_free(space, mem);
	return mem;
}

static struct local_mem *by_handle(const struct local_space *space, uint32_t handle, size_t *at)
{
	for (size_t i = 0; i < space->count; i++) {
		if (space->mems[i]->handle == handle) {
			*at = i;
			return space->mems[i];
		}
	}
	return NULL;
}

/* ---- Memory behind it ---- */

/* With a file, so that it can be exported; without one if there are too many open. */
static int make_memory(struct local_mem *mem)
{
	int fd = fd_above_streams(memfd_create("vtadev", MFD_CLOEXEC));
	void *ptr;

	if (fd >= 0 && ftruncate(fd, (off_t)mem->size)) {
		close(fd);
		return -ENOMEM;
	}
	ptr = mmap(NULL, mem->size, PROT_READ | PROT_WRITE,
		   MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (ptr == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	mem->ptr = ptr;
	mem->fd = fd;
	mem->kind = LOCAL_MEM_MADE;
	return 0;
}

static bool is_devices(const struct local *card, const struct local_mem *mem)
{
	return card->ops->map && mem->flags & VTA_BUF_CARD;
}

/* The device's own memory is made when it has its place. */
static int back(const struct local *card, struct local_mem *mem)
{
	if (mem->size > SIZE_MAX)
		return -ENOMEM;
	if (!is_devices(card, mem))
		return make_memory(mem);
	mem->kind = LOCAL_MEM_DEVICE;
	mem->fd = -1;
	return 0;
}

static void drop_memory(struct local_mem *mem)
{
	if (mem->kind == LOCAL_MEM_MADE || mem->kind == LOCAL_MEM_IMPORTED)
		munmap(mem->ptr, (size_t)mem->size);
	if (mem->fd >= 0)
		close(mem->fd);
	free(mem);
}

void local_space_destroy(struct local *card)
{
	struct local_space *space = &card->space;

	while (space->count)
		drop_memory(take_out(space, space->count - 1));
	free(space->mems);
	local_arena_destroy(space);
	destroy_locks(space, LOCAL_SPACE_LOCKS);
}

/* ---- Requests ---- */

static bool place_ok(uint64_t addr, uint64_t align, uint64_t size, bool fixed)
{
	uint64_t page = page_size();

	if (align & (align - 1) || align > ALIGN_MAX || size >= SPACE_END)
		return false;
	if (!fixed)
		return !addr;
	return addr && !(addr % page) && (!align || !(addr % align)) && addr + size <= SPACE_END;
}

static uint64_t at_least_a_page(uint64_t align)
{
	return align > page_size() ? align : page_size();
}

/* Its place, and memory there if that is the device's own. */
static int put_in_place(struct local *card, struct local_mem *mem, uint64_t addr, uint64_t align)
{
	struct local_space *space = &card->space;
	int err = insert(card, mem, addr, at_least_a_page(align));

	if (err || mem->kind != LOCAL_MEM_DEVICE)
		return err;
	err = local_arena_alloc(space, mem);
	if (err)
		remove_at(space, index_of(space, mem->addr));
	return err;
}

/* Gives memory that could be made (no @err) its place; else it is gone. */
static int place_mem(struct local *card, struct local_mem *mem, int err, uint64_t addr,
		     uint64_t align)
{
	if (err) {
		free(mem);
		return err;
	}
	lock_for_writing(&card->space);
	err = put_in_place(card, mem, addr, align);
	unlock_for_writing(&card->space);
	if (err)
		drop_memory(mem);
	return err;
}

int local_buf_alloc(struct local *card, struct vta_buf_alloc *req)
{
	struct local_mem *mem;
	int err;

	if (req->flags & ~(VTA_BUF_CARD | VTA_BUF_FIXED | VTA_BUF_READONLY) || !req->size ||
	    !place_ok(req->addr, req->align, req->size, req->flags & VTA_BUF_FIXED))
		return -EINVAL;
	if (req->flags & VTA_BUF_CARD && req->size > card->info.mem_size)
		return -ENOSPC;
	mem = calloc(1, sizeof(*mem));
	if (!mem)
		return -ENOMEM;
	mem->size = round_up(req->size, page_size());
	mem->flags = req->flags & ~VTA_BUF_FIXED;
	err = place_mem(card, mem, back(card, mem), req->addr, req->align);
	if (err)
		return err;
	req->size = mem->size;
	req->addr = mem->addr;
	req->mmap_offset = (uintptr_t)mem->ptr;
	req->handle = mem->handle;
	return 0;
}

int local_buf_free(struct local *card, const struct vta_buf_free *req)
{
	struct local_space *space = &card->space;
	struct local_mem *mem;
	size_t at = 0;

	if (req->pad)
		return -EINVAL;
	lock_for_writing(space);
	mem = by_handle(space, req->handle, &at);
	if (mem)
		take_out(space, at);
	unlock_for_writing(space);
	if (!mem)
		return -ENOENT;
	drop_memory(mem);
	return 0;
}

/* Check that all of it is mapped, on kernels without a call that populates it. */
static int check_mapped(void *ptr, size_t size)
{
	unsigned char *vec = malloc(size / page_size() + 1);
	int ret;

	if (!vec)
		return -ENOMEM;
	ret = mincore(ptr, size, vec);
	free(vec);
	return ret ? -EFAULT : 0;
}

/* Check that the program itself may access the memory that the card is to access. */
static int check_memory(void *ptr, size_t size, bool write)
{
	if (!madvise(ptr, size, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return 0;
	if (errno != EINVAL)
		return -EFAULT;
	if (write && !madvise(ptr, size, MADV_POPULATE_READ))
		return -EACCES;
	/* Memory that a driver maps, and a kernel before 5.14, cannot be distinguished here. */
	return check_mapped(ptr, size);
}

int local_buf_pin(struct local *card, struct vta_buf_pin *req)
{
	uint64_t page = page_size(), skip = req->user_addr % page;
	struct local_mem *mem;
	int err;

	if (req->flags & ~(VTA_BUF_FIXED | VTA_BUF_READONLY) || !req->size ||
	    req->size >= SPACE_END ||
	    !place_ok(req->addr, req->align, skip + req->size, req->flags & VTA_BUF_FIXED))
		return -EINVAL;
	if (req->user_addr > UINTPTR_MAX - skip - req->size)
		return -EFAULT;
	mem = calloc(1, sizeof(*mem));
	if (!mem)
		return -ENOMEM;
	mem->size = round_up(skip + req->size, page);
	mem->ptr = (uint8_t *)(uintptr_t)(req->user_addr - skip);
	mem->flags = req->flags & VTA_BUF_READONLY;
	mem->kind = LOCAL_MEM_PINNED;
	mem->fd = -1;
	err = check_memory(mem->ptr, (size_t)mem->size, !(req->flags & VTA_BUF_READONLY));
	err = place_mem(card, mem, err, req->addr, req->align);
	if (err)
		return err;
	req->addr = mem->addr + skip;
	req->handle = mem->handle;
	return 0;
}

/* A descriptor of the same memory that can be written, or cannot. */
static int open_again(int fd, bool write)
{
	char path[32];
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
	if (again < 0 && write)
		again = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return again < 0 ? -errno : again;
}

static int export(const struct local_mem *mem, bool write)
{
	if (!mem)
		return -ENOENT;
	if (mem->fd < 0 || mem->kind != LOCAL_MEM_MADE)
		return -EOPNOTSUPP;
	if (write && mem->flags & VTA_BUF_READONLY)
		return -EACCES;
	return open_again(mem->fd, write);
}

int local_buf_export(struct local *card, struct vta_buf_export *req)
{
	struct local_space *space = &card->space;
	size_t at;
	int fd;

	if (req->flags & ~(uint32_t)(O_CLOEXEC | O_RDWR))
		return -EINVAL;
	local_begin(space);
	fd = export(by_handle(space, req->handle, &at), req->flags & O_RDWR);
	local_end(space);
	if (fd < 0)
		return fd;
	req->fd = fd;
	return 0;
}

/* Maps the file for the card: a buffer's of such a card, or a dma-buf. */
static int map_file(struct local_mem *mem, int fd, bool write)
{
	int mode = fcntl(fd, F_GETFL);
	struct stat st;
	off_t size;
	void *ptr;

	if (mode < 0 || fstat(fd, &st))
		return -EBADF;
	if (write && (mode & O_ACCMODE) == O_RDONLY)
		return -EACCES;
	size = lseek(fd, 0, SEEK_END);
	if (S_ISDIR(st.st_mode) || size <= 0 || (uint64_t)size >= SPACE_END)
		return -EINVAL;
	mem->size = round_up((uint64_t)size, page_size());
	ptr = mmap(NULL, (size_t)mem->size, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
		   fd, 0);
	if (ptr == MAP_FAILED)
		return errno == ENOMEM ? -ENOMEM : -EINVAL;
	mem->ptr = ptr;
	mem->kind = LOCAL_MEM_IMPORTED;
	mem->fd = -1;
	return 0;
}

int local_buf_import(struct local *card, struct vta_buf_import *req)
{
	struct local_mem *mem;
	int err;

	if (req->flags & ~(VTA_BUF_FIXED | VTA_BUF_READONLY) || req->pad ||
	    !place_ok(req->addr, req->align, 1, req->flags & VTA_BUF_FIXED))
		return -EINVAL;
	mem = calloc(1, sizeof(*mem));
	if (!mem)
		return -ENOMEM;
	mem->flags = req->flags & VTA_BUF_READONLY;
	err = map_file(mem, req->fd, !(req->flags & VTA_BUF_READONLY));
	if (!err && req->addr + mem->size > SPACE_END) {
		munmap(mem->ptr, (size_t)mem->size);
		err = -EINVAL;
	}
	err = place_mem(card, mem, err, req->addr, req->align);
	if (err)
		return err;
	req->size = mem->size;
	req->addr = mem->addr;
	req->handle = mem->handle;
	return 0;
}

/* ---- The card's accesses ---- */

void local_begin(struct local_space *space)
{
	pthread_rwlock_rdlock(own_lock(space));
}

void local_end(struct local_space *space)
{
	pthread_rwlock_unlock(own_lock(space));
}

enum vta_fault_reason local_find_piece(struct local_space *space, uint64_t addr, bool write,
				       struct local_piece *piece)
{
	size_t at = index_of(space, addr);
	const struct local_mem *mem;
	uint64_t left;

	if (addr >= SPACE_END || at == space->count || space->mems[at]->addr > addr)
		return VTA_FAULT_PAGE;
	mem = space->mems[at];
	if (write && mem->flags & VTA_BUF_READONLY)
		return VTA_FAULT_PERM;
	left = mem->addr + mem->size - addr;
	piece->len = piece->len < left ? piece->len : (size_t)left;
	piece->ptr = mem->ptr ? mem->ptr + (addr - mem->addr) : NULL;
	piece->offset = mem->offset + (addr - mem->addr);
	return VTA_FAULT_NONE;
}

void local_copy_rows(struct local_space *space, const struct vtadev_device_rows *rows)
{
	if (space->ops->copy(space->device, rows))
		atomic_store(&space->broken, true);
}

static struct vtadev_device_rows one_row(size_t len)
{
	return (struct vtadev_device_rows){
		.dst.pitch = len, .src.pitch = len, .width = len, .rows = 1
	};
}

void local_get(struct local_space *space, const struct local_piece *piece, void *dst)
{
	struct vtadev_device_rows rows = one_row(piece->len);

	if (piece->ptr) {
		memmove(dst, piece->ptr, piece->len);
		return;
	}
	rows.dst.ptr = dst;
	rows.src.offset = piece->offset;
	local_copy_rows(space, &rows);
}

void local_put(struct local_space *space, const struct local_piece *piece, const void *src)
{
	struct vtadev_device_rows rows = one_row(piece->len);

	if (piece->ptr) {
		memmove(piece->ptr, src, piece->len);
		return;
	}
	rows.dst.offset = piece->offset;
	rows.src.ptr = (void *)src;
	local_copy_rows(space, &rows);
}

/* Between @ptr and memory at @addr. @allowed: also what streams may only read is written. */
static enum vta_fault_reason transfer(struct local_space *space, uint64_t addr, uint8_t *ptr,
				      size_t len, bool write, bool allowed, uint32_t *fault_addr)
{
	enum vta_fault_reason reason = VTA_FAULT_NONE;
	struct local_piece piece;

	local_begin(space);
	for (; len; ptr += piece.len, addr += piece.len, len -= piece.len) {
		piece.len = len;
		reason = local_find_piece(space, addr, write && !allowed, &piece);
		if (reason)
			break;
		if (write)
			local_put(space, &piece, ptr);
		else
			local_get(space, &piece, ptr);
	}
	local_end(space);
	*fault_addr = (uint32_t)addr;
	return reason;
}

enum vta_fault_reason local_read(struct local_space *space, uint64_t addr, void *dst, size_t len,
				 uint32_t *fault_addr)
{
	return transfer(space, addr, dst, len, false, false, fault_addr);
}

enum vta_fault_reason local_write(struct local_space *space, uint64_t addr, const void *src,
				  size_t len, uint32_t *fault_addr)
{
	return transfer(space, addr, (uint8_t *)src, len, true, false, fault_addr);
}

int local_transfer(struct local *card, uint32_t addr, void *ptr, size_t len, bool write)
{
	uint32_t fault_addr;
	int cancel, err = 0;

	/* The device's copy() has the lock, and may call what is a cancellation point. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (transfer(&card->space, addr, ptr, len, write, true, &fault_addr)) {
		err = -EFAULT;
	} else if (atomic_load(&card->space.broken)) {
		pthread_mutex_lock(&card->lock);
		local_lose(card);
		pthread_mutex_unlock(&card->lock);
		err = -ENODEV;
	}
	pthread_setcancelstate(cancel, NULL);
	return err;
}

enum vta_fault_reason local_read64(struct local_space *space, uint32_t addr, uint64_t *value)
{
	struct local_piece piece = { .len = sizeof(*value) };
	enum vta_fault_reason reason;

	local_begin(space);
	reason = local_find_piece(space, addr, false, &piece);
	if (!reason && piece.ptr)
		*value = __atomic_load_n((const uint64_t *)piece.ptr, __ATOMIC_ACQUIRE);
	else if (!reason)
		local_get(space, &piece, value);
	local_end(space);
	return reason;
}

enum vta_fault_reason local_write64(struct local_space *space, uint32_t addr, uint64_t value)
{
	struct local_piece piece = { .len = sizeof(value) };
	enum vta_fault_reason reason;

	local_begin(space);
	reason = local_find_piece(space, addr, true, &piece);
	if (!reason && piece.ptr)
		__atomic_store_n((uint64_t *)piece.ptr, value, __ATOMIC_RELEASE);
	else if (!reason)
		local_put(space, &piece, &value);
	local_end(space);
	return reason;
}
