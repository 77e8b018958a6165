// SPDX-License-Identifier: GPL-2.0-only
/* flat.c - plain memory for a core (see flat.h) */

#include <stdlib.h>
#include <string.h>

#include "flat.h"

static uint8_t *flat_at(const struct flat *flat, uint32_t addr, size_t len, uint32_t *fault_addr)
{
	uint64_t end = (uint64_t)flat->base + flat->size;

	if (addr < flat->base || addr >= end) {
		*fault_addr = addr;
		return NULL;
	}
	if (addr + (uint64_t)len > end) {
		*fault_addr = (uint32_t)end;
		return NULL;
	}
	return flat->bytes + (addr - flat->base);
}

static enum vta_fault_reason refusal(const struct flat *flat)
{
	return flat->refusal ? flat->refusal : VTA_FAULT_PAGE;
}

static enum vta_fault_reason flat_read(void *priv, uint32_t addr, void *buf, size_t len,
				       enum vta_access access, uint32_t *fault_addr)
{
	const uint8_t *at = flat_at(priv, addr, len, fault_addr);
	struct flat *flat = priv;

	if (!at)
		return refusal(flat);
	memcpy(buf, at, len);
	if (access == VTA_ACCESS_INSN)
		flat->fetched += len;
	return VTA_FAULT_NONE;
}

static enum vta_fault_reason flat_write(void *priv, uint32_t addr, const void *buf, size_t len,
					enum vta_access access, uint32_t *fault_addr)
{
	uint8_t *at = flat_at(priv, addr, len, fault_addr);
	const struct flat *flat = priv;

	(void)access;
	if (!at)
		return refusal(flat);
	memcpy(at, buf, len);
	return VTA_FAULT_NONE;
}

static bool flat_stop(void *priv)
{
	struct flat *flat = priv;

	flat->stops++;
	return flat->stop_after && flat->stops >= flat->stop_after;
}

const struct core_mem_ops flat_ops = {
	.read = flat_read,
	.write = flat_write,
	.stop = flat_stop,
};

void flat_init(struct flat *flat, uint32_t base, uint32_t size, const uint8_t *image)
{
	*flat = (struct flat){ .bytes = malloc(size), .base = base, .size = size };
	if (!flat->bytes)
		abort();
	memcpy(flat->bytes, image, size);
}

void flat_free(struct flat *flat)
{
	free(flat->bytes);
}
