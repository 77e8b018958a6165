// SPDX-License-Identifier: GPL-2.0-only
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pool_image.h"
#include "vta_isa.h"

/* Offsets in the model, the arena, and the host's memory. */
enum { WEIGHTS_AT = 64, WEIGHTS_BYTES = 64 };
enum { Y_AT = 0, W_AT = 16, ARENA_BYTES = 32 };
enum { IN = 0, BACK = 64, OUT = 128, WEIGHTS = 192, HOST_BYTES = 256 };

uint8_t pool_weight(unsigned int i)
{
	return (uint8_t)(7 * i + 1);
}

static uint32_t put_insn(uint8_t *model, uint32_t at, struct vta_isa_insn insn)
{
	const uint64_t words[2] = { htole64(insn.word[0]), htole64(insn.word[1]) };

	memcpy(model + at, words, sizeof(words));
	return at + sizeof(words);
}

/* One element of memory @type, at its start on the chip. @head: opcode | flags. */
static struct vta_isa_insn move(unsigned int head, enum vta_isa_memory type, uint32_t addr,
				uint32_t element)
{
	return vta_isa_pack_move(head, &(struct vta_isa_move){
		.memory_type = type, .dram_base = addr / element, .y_size = 1, .x_size = 1,
	});
}

static struct vta_isa_insn gemm(const struct pool_program *p)
{
	const struct vta_isa_config config = VTA_ISA_CONFIG_OF(p->core);
	const struct vta_isa_shape shape = vta_isa_shape(&config);

	return vta_isa_pack_loop(&shape, 0, &(struct vta_isa_loop){
		.uop_end = 1, .iter_out = p->outer, .iter_in = p->inner,
	});
}

static struct vtaimage_stream fill_model(const struct pool_program *p, uint8_t *model)
{
	uint32_t at = 0;

	for (unsigned int i = 0; i < POOL_BYTES; i++)
		model[WEIGHTS_AT + 4 * i] = pool_weight(i);
	if (p->outer)
		at = put_insn(model, at, gemm(p));
	at = put_insn(model, at, move(VTA_ISA_LOAD | (p->deadlock ? 0 : VTA_ISA_PUSH_NEXT),
				      VTA_ISA_ACC, VTAIMAGE_MODEL + WEIGHTS_AT,
				      p->core->acc_bytes));
	at = put_insn(model, at, move(VTA_ISA_STORE | VTA_ISA_POP_PREV, VTA_ISA_OUT,
				      VTAIMAGE_ARENA + W_AT, p->core->inp_bytes));
	return (struct vtaimage_stream){ 0, at / VTA_ISA_INSN_BYTES, p->cycles };
}

static struct vtaimage_tensor tensor(const char *name, enum vtaimage_role role, uint32_t type,
				     uint32_t at)
{
	struct vtaimage_tensor t = {
		.role = role, .offset = at, .bytes = POOL_BYTES, .segment = VTAIMAGE_IN_HOST,
		.layout = VTAIMAGE_PLAIN, .type = type, .rank = 1,
		.dims = { type == VTACPU_F32 ? POOL_BYTES / 4 : POOL_BYTES },
	};

	snprintf(t.name, sizeof(t.name), "%s", name);
	return t;
}

static struct vtaimage_step copy(struct vtaimage_place dst, struct vtaimage_place src)
{
	return (struct vtaimage_step){ .kind = VTAIMAGE_COPY, .dst = dst, .src = src,
				       .bytes = POOL_BYTES };
}

static struct vtaimage_place host(uint32_t at)
{
	return (struct vtaimage_place){ VTAIMAGE_IN_HOST, at };
}

static struct vtaimage_place arena(uint32_t at)
{
	return (struct vtaimage_place){ VTAIMAGE_IN_ARENA, at };
}

/* A copy, by clipping to limits that no value reaches. */
static struct vtaimage_step by_cpu(void)
{
	struct vtaimage_step step = {
		.kind = VTAIMAGE_CPU, .kernel = VTACPU_UNARY_F32, .io = { host(BACK), host(OUT) },
	};

	step.params.unary_f32 = (struct vtacpu_unary_f32){
		.count = POOL_BYTES / 4, .act = { VTACPU_ACT_CLIP, -1e30f, 1e30f },
	};
	return step;
}

/* Values of the step that takes long, in memory behind the rest. */
#define LONG_VALUES	500000u
#define LONG_BYTES	(LONG_VALUES * 4)

static struct vtaimage_step long_by_cpu(void)
{
	struct vtaimage_step step = {
		.kind = VTAIMAGE_CPU, .kernel = VTACPU_UNARY_F32,
		.io = { host(HOST_BYTES), host(HOST_BYTES + LONG_BYTES) },
	};

	step.params.unary_f32 = (struct vtacpu_unary_f32){
		.count = LONG_VALUES, .act = { VTACPU_ACT_CLIP, -1e30f, 1e30f },
	};
	return step;
}

uint8_t *pool_image(const struct pool_program *p, size_t *size, struct vtaimage *image)
{
	const uint32_t type = p->cpu ? VTACPU_F32 : VTACPU_I8;
	const struct vtaimage_tensor tensors[] = {
		tensor("w", VTAIMAGE_OUTPUT, VTACPU_I8, WEIGHTS),
		tensor("x", VTAIMAGE_INPUT, type, IN),
		tensor("y", VTAIMAGE_OUTPUT, type, p->cpu ? OUT : BACK),
	};
	const struct vtaimage_step steps[] = {
		copy(arena(Y_AT), host(IN)), { .kind = VTAIMAGE_RUN },
		copy(host(BACK), arena(Y_AT)), copy(host(WEIGHTS), arena(W_AT)), by_cpu(),
		long_by_cpu(),
	};
	const uint32_t model_bytes = WEIGHTS_AT + WEIGHTS_BYTES + p->more_weights;
	uint8_t *model = calloc(1, model_bytes), *bytes = NULL;
	struct vtaimage_stream stream;

	if (!model)
		return NULL;
	stream = fill_model(p, model);
	const struct vtaimage_source source = {
		.core = p->core, .name = "pool", .model = model, .model_bytes = model_bytes,
		.arena_bytes = ARENA_BYTES,
		.host_bytes = HOST_BYTES + (p->long_cpu ? 2 * LONG_BYTES : 0),
		.streams = &stream, .stream_count = 1,
		.steps = steps, .step_count = p->long_cpu ? 6 : p->cpu ? 5 : 4,
		.tensors = tensors, .tensor_count = 3,
	};

	*size = vtaimage_size(&source);
	bytes = *size ? malloc(*size) : NULL;
	if (bytes && vtaimage_write(&source, bytes, *size, image)) {
		fprintf(stderr, "the program is not valid: %s\n", image->why);
		free(bytes);
		bytes = NULL;
	}
	free(model);
	return bytes;
}
