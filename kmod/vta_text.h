/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vta_text.h - text in a buffer of a fixed size
 */
#ifndef VTA_TEXT_H
#define VTA_TEXT_H

#include <linux/kernel.h>
#include <linux/types.h>

/**
 * struct vta_text - a text that is being written
 * @buf: where
 * @size: bytes of it
 * @len: bytes written; what has no room is left out
 */
struct vta_text {
	char *buf;
	size_t size;
	size_t len;
};

__printf(2, 3)
static inline void vta_print(struct vta_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text->len += vscnprintf(text->buf + text->len, text->size - text->len, format, args);
	va_end(args);
}

#endif /* VTA_TEXT_H */
