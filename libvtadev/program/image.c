// SPDX-License-Identifier: Apache-2.0
/* Program images: what making and reading one share. */
#include "image.h"

const char * const image_config_names[CONFIG_FIELDS] = {
	"LOG_INP_WIDTH", "LOG_WGT_WIDTH", "LOG_ACC_WIDTH", "LOG_BATCH", "LOG_BLOCK",
	"LOG_UOP_BUFF_SIZE", "LOG_INP_BUFF_SIZE", "LOG_WGT_BUFF_SIZE", "LOG_ACC_BUFF_SIZE",
};

const uint32_t image_part_size[IMAGE_PARTS] = {
	[PART_STREAMS] = STREAM_SIZE, [PART_RELOCS] = 4, [PART_TENSORS] = TENSOR_SIZE,
	[PART_STEPS] = STEP_SIZE, [PART_WORDS] = 4, [PART_PREPROCESS] = PREPROCESS_SIZE,
	[PART_LABELS] = 1, [PART_REPORT] = 1, [PART_REPORT_JSON] = 1, [PART_CONSTS] = 1,
	[PART_MODEL] = 1,
};

const enum image_part image_variant_part[VARIANT_PARTS] = {
	PART_TENSORS, PART_STREAMS, PART_RELOCS, PART_STEPS, PART_PREPROCESS, PART_REPORT,
	PART_REPORT_JSON,
};

unsigned int *image_config(struct vtaops_core *core, unsigned int i)
{
	unsigned int *const fields[CONFIG_FIELDS] = {
		&core->log_inp_width, &core->log_wgt_width, &core->log_acc_width,
		&core->log_batch, &core->log_block, &core->log_uop_buff_size,
		&core->log_inp_buff_size, &core->log_wgt_buff_size, &core->log_acc_buff_size,
	};

	return fields[i];
}

/*
 * The CRC-32 of IEEE 802.3, four bytes at a time: of[n][b] is the remainder of byte b with n bytes
 * of zeros behind it ("slicing by 4"). On the stack, as nothing here has memory of its own.
 */
#define CRC_POLYNOMIAL	0xedb88320u	/* reflected */
#define CRC_SLICES	4

struct crc {
	uint32_t of[CRC_SLICES][256];
	uint32_t remainder;
};

static void crc_begin(struct crc *crc)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t rest = byte;

		for (int bit = 0; bit < 8; bit++)
			rest = rest >> 1 ^ (rest & 1 ? CRC_POLYNOMIAL : 0);
		crc->of[0][byte] = rest;
	}
	for (int n = 1; n < CRC_SLICES; n++)
		for (uint32_t byte = 0; byte < 256; byte++) {
			uint32_t before = crc->of[n - 1][byte];

			crc->of[n][byte] = before >> 8 ^ crc->of[0][before & 0xff];
		}
	crc->remainder = 0xffffffffu;
}

static void crc_add(struct crc *crc, const uint8_t *data, size_t size)
{
	uint32_t rest = crc->remainder;

	for (; size >= CRC_SLICES; size -= CRC_SLICES, data += CRC_SLICES) {
		rest ^= get32(data);
		rest = crc->of[3][rest & 0xff] ^ crc->of[2][rest >> 8 & 0xff] ^
		       crc->of[1][rest >> 16 & 0xff] ^ crc->of[0][rest >> 24];
	}
	while (size--)
		rest = rest >> 8 ^ crc->of[0][(rest ^ *data++) & 0xff];
	crc->remainder = rest;
}

uint32_t image_crc(const uint8_t *data, size_t size)
{
	static const uint8_t zero[4];
	struct crc crc;

	crc_begin(&crc);
	crc_add(&crc, data, AT_CRC);
	crc_add(&crc, zero, sizeof(zero));
	crc_add(&crc, data + AT_CRC + 4, size - AT_CRC - 4);
	return ~crc.remainder;
}

uint32_t image_align(const struct vtaops_core *core)
{
	uint32_t align = 64;

	align = core->inp_bytes > align ? core->inp_bytes : align;
	align = core->wgt_bytes > align ? core->wgt_bytes : align;
	return core->acc_bytes > align ? core->acc_bytes : align;
}

bool image_access(const struct vtaops_core *core, uint64_t word0, uint64_t word1,
		  struct image_access *access)
{
	const uint32_t bytes[] = {
		[VTA_ISA_UOP] = 4, [VTA_ISA_WGT] = core->wgt_bytes, [VTA_ISA_INP] = core->inp_bytes,
		[VTA_ISA_ACC] = core->acc_bytes, [VTA_ISA_OUT] = core->inp_bytes,
		[VTA_ISA_ACC_8BIT] = core->batch * core->block,
	};
	unsigned int op = word0 & 7, type = word0 >> 7 & 7;
	uint64_t rows = word1 & 0xffff, cols = word1 >> 16 & 0xffff, stride = word1 >> 32 & 0xffff;

	*access = (struct image_access) { .store = op == 1 };
	if (op > 4)
		return false;
	if (op > 1 || !cols)
		return true;
	if (type > VTA_ISA_ACC_8BIT || (access->store ? type != VTA_ISA_OUT : type == VTA_ISA_OUT))
		return false;
	access->any = rows != 0;
	access->element_bytes = bytes[type];
	access->dram = (uint32_t)(word0 >> DRAM_SHIFT);
	/* Rows may overlap; the last ends last. */
	access->end = access->dram + (rows ? rows - 1 : 0) * stride + cols;
	return true;
}

int image_bad(struct vtaimage *image, const char *why)
{
	return image_say(image, why, "", 0, 0);
}

int image_say(struct vtaimage *image, const char *format, const char *name, uint32_t a,
	      uint32_t b)
{
	size_t at = 0;

	for (; *format && at + 12 < sizeof(image->why); format++) {
		char digits[12];
		unsigned int i = sizeof(digits);

		if (*format == '@') {
			for (const char *c = name; *c && at + 12 < sizeof(image->why); c++)
				image->why[at++] = *c;
			continue;
		}
		if (*format != '#') {
			image->why[at++] = *format;
			continue;
		}
		do {
			digits[--i] = (char)('0' + a % 10);
			a /= 10;
		} while (a);
		while (i < sizeof(digits))
			image->why[at++] = digits[i++];
		a = b;
	}
	image->why[at] = '\0';
	return -VTAOPS_EINVAL;
}
