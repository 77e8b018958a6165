// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parsers of the library and vtactl for texts and records of the kernel and the card:
 * the configuration, a fault's record as a sentence, a line of the kernel's trace.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "dev.h"
#include "tracefs.h"
#include "vta.h"
#include "vtadev.h"

static void read_info(const uint8_t *data, size_t size)
{
	struct vta_info raw = { 0 };
	struct vtadev_info info = { 0 };

	memcpy(&raw, data, size < sizeof(raw) ? size : sizeof(raw));
	if (!info_derive(&raw, &info) && (!info.batch || !info.block || !info.elem_bytes_max))
		abort();
}

static void read_fault(const uint8_t *data, size_t size)
{
	struct vtadev_fault fault = { 0 };
	char *text = malloc(VTADEV_FAULT_TEXT_MAX);
	int len;

	memcpy(&fault, data, size < sizeof(fault) ? size : sizeof(fault));
	len = vtadev_fault_text(&fault, text, VTADEV_FAULT_TEXT_MAX);
	/* It promises that it fits. */
	if (!text || len <= 0 || len >= VTADEV_FAULT_TEXT_MAX || (size_t)len != strlen(text))
		abort();
	free(text);
}

static void read_line(const uint8_t *data, size_t size)
{
	char *line = malloc(size + 1);

	if (!line)
		abort();
	memcpy(line, data, size);
	line[size] = '\0';
	json_object_put(tracefs_parse(line));
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % 3) {
	case 0:
		read_info(data + 1, size - 1);
		break;
	case 1:
		read_fault(data + 1, size - 1);
		break;
	default:
		read_line(data + 1, size - 1);
		break;
	}
	return 0;
}
