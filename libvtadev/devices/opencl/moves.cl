// SPDX-License-Identifier: Apache-2.0
/*
 * moves.cl - LOAD and STORE: rows between memory and scratchpads
 *
 * Rows go in pieces: 16 bytes of an element, or all of a smaller one, so a piece is in one page.
 * Each work-item has every n-th piece.
 */

/* Signed values of 2^@log bits each, low bits first, to bytes. */
static void unpack(__global char *to, __global const uchar *from, uint bytes, uint log)
{
	uint width = 1u << log, per_byte = 8u >> log;

	for (uint i = 0; i < bytes; i++)
		for (uint j = 0; j < per_byte; j++)
			*to++ = (char)(from[i] << (8 - width - j * width)) >> (8 - width);
}

/* @bytes of an element, from byte @at of it on, into element @e of the scratchpad. */
static void put(const struct core *c, uint type, uint e, uint at, __global const uchar *from,
		uint bytes)
{
	switch (type) {
	case UOP:
		c->uop[e] = *(__global const uint *)from;
		break;
	case WGT:
		unpack(c->wgt + (size_t)e * BLOCK * BLOCK + (at << (3 - LOG_WGT_WIDTH)), from, bytes,
		       LOG_WGT_WIDTH);
		break;
	case INP:
		unpack(c->inp + (size_t)e * LANES + (at << (3 - LOG_INP_WIDTH)), from, bytes,
		       LOG_INP_WIDTH);
		break;
	case ACC:
		for (uint i = 0; i < bytes; i += 4)
			c->acc[(size_t)e * LANES + (at + i) / 4] =
				*(__global const int *)(from + i);
		break;
	default:
		for (uint i = 0; i < bytes; i++)
			c->acc[(size_t)e * LANES + at + i] = (char)from[i];
		break;
	}
}

/* Returns true if 16 bytes of @type are copied as they are, or widened from bytes to integers. */
static bool is_plain(uint type)
{
	return type == WGT ? LOG_WGT_WIDTH == 3 :
	       type == INP ? LOG_INP_WIDTH == 3 : type == ACC || type == ACC_8BIT;
}

/* As put(), of 16 bytes of such a type. */
static void put_plain(const struct core *c, uint type, uint e, uint at, uint4 bytes)
{
	if (type == WGT)
		*(__global uint4 *)(c->wgt + (size_t)e * BLOCK * BLOCK + at) = bytes;
	else if (type == INP)
		*(__global uint4 *)(c->inp + (size_t)e * LANES + at) = bytes;
	else if (type == ACC)
		*(__global uint4 *)(c->acc + (size_t)e * LANES + at / 4) = bytes;
	else
		*(__global int16 *)(c->acc + (size_t)e * LANES + at) =
			convert_int16(as_char16(bytes));
}

/* The low bits of ACC's values, packed. */
static void take(const struct core *c, uint e, uint at, __global uchar *to, uint bytes)
{
	__global const int *from = c->acc + (size_t)e * LANES + (at << (3 - LOG_INP_WIDTH));
	uint width = 1u << LOG_INP_WIDTH, per_byte = 8u >> LOG_INP_WIDTH;

	if (LOG_INP_WIDTH == 3 && bytes == 16) {
		*(__global uchar16 *)to = convert_uchar16(*(__global const int16 *)from & 255);
		return;
	}
	for (uint i = 0; i < bytes; i++) {
		uint byte = 0;

		for (uint j = 0; j < per_byte; j++)
			byte |= ((uint)*from++ & ((1u << width) - 1)) << (j * width);
		to[i] = (uchar)byte;
	}
}

static void zero(const struct core *c, uint type, uint e)
{
	switch (type) {
	case UOP:
		c->uop[e] = 0;
		break;
	case WGT:
		for (uint i = 0; i < BLOCK * BLOCK; i++)
			c->wgt[(size_t)e * BLOCK * BLOCK + i] = 0;
		break;
	case INP:
		for (uint i = 0; i < LANES; i++)
			c->inp[(size_t)e * LANES + i] = 0;
		break;
	default:
		for (uint i = 0; i < LANES; i++)
			c->acc[(size_t)e * LANES + i] = 0;
		break;
	}
}

static void load_pads(const struct core *c, const struct vta_isa_move *m)
{
	uint width = m->x_pad_0 + m->x_size + m->x_pad_1;
	uint height = m->y_pad_0 + m->y_size + m->y_pad_1;

	for (uint n = ITEM; n < width * height; n += VTA_ITEMS) {
		uint y = n / width, x = n % width;

		if (y < m->y_pad_0 || y >= m->y_pad_0 + m->y_size || x < m->x_pad_0 ||
		    x >= m->x_pad_0 + m->x_size)
			zero(c, m->memory_type, m->sram_base + n);
	}
}

/* Rows of a move; @bounce: they are in the bounce, not in memory. */
struct rows {
	struct vta_isa_move insn;
	uint elem, piece, per_elem, per_row, left, pitch;
	uint allowed;
	bool bounce;
};

static struct rows rows_of(const struct vta_isa_move *m, bool load, bool bounce)
{
	uint elem = elem_bytes(m->memory_type), pitch = m->x_pad_0 + m->x_size + m->x_pad_1;
	uint piece = elem < 16 ? elem : 16;

	return (struct rows){
		*m, elem, piece, elem / piece, m->x_size * (elem / piece),
		m->sram_base + m->x_pad_0 + m->y_pad_0 * pitch, pitch,
		load ? VTA_ENTRY_READ : VTA_ENTRY_READ | VTA_ENTRY_WRITE, bounce
	};
}

/* Piece @n: where it is in memory, its element, and where in this it begins. */
struct piece {
	__global uchar *there;		/* NULL: in a page that is not the device's */
	uint e, at;
};

static struct piece piece_of(const struct core *c, const struct rows *r, uint n)
{
	uint y = n / r->per_row, x = n % r->per_row;
	struct piece p = {
		c->bounce + (size_t)n * r->piece, r->left + y * r->pitch + x / r->per_elem,
		x % r->per_elem * r->piece
	};
	ulong offset;

	if (r->bounce)
		return p;
	offset = place(c, (r->insn.dram_base + (ulong)y * r->insn.x_stride) * r->elem +
		       (ulong)x * r->piece, r->allowed);
	p.there = offset == NOWHERE ? 0 : c->memory + offset;
	return p;
}

/* Pieces of the rows from @first on. Returns false if memory of some is not the device's. */
static bool load_rows(const struct core *c, const struct rows *r, uint first, uint step)
{
	uint pieces = r->insn.y_size * r->per_row, type = r->insn.memory_type;
	bool found = true;

	for (uint n = first; n < pieces; n += step) {
		struct piece p = piece_of(c, r, n);

		found &= p.there != 0;
		if (p.there)
			put(c, type, p.e, p.at, p.there, r->piece);
	}
	return found;
}

static bool load_plain_rows(const struct core *c, const struct rows *r)
{
	uint pieces = r->insn.y_size * r->per_row, type = r->insn.memory_type;
	bool found = true;

	for (uint n = ITEM; n < pieces; n += AT_ONCE * VTA_ITEMS) {
		struct piece p[AT_ONCE];
		uint4 bytes[AT_ONCE];

		for (uint i = 0; i < AT_ONCE; i++) {
			p[i].there = 0;
			if (n + i * VTA_ITEMS >= pieces)
				continue;
			p[i] = piece_of(c, r, n + i * VTA_ITEMS);
			found &= p[i].there != 0;
			if (p[i].there)
				bytes[i] = *(__global const uint4 *)p[i].there;
		}
		for (uint i = 0; i < AT_ONCE; i++)
			if (p[i].there)
				put_plain(c, type, p[i].e, p[i].at, bytes[i]);
	}
	return found;
}

static bool store_rows(const struct core *c, const struct rows *r, uint first, uint step)
{
	uint pieces = r->insn.y_size * r->per_row;
	bool found = true;

	for (uint n = first; n < pieces; n += step) {
		struct piece p = piece_of(c, r, n);

		found &= p.there != 0;
		if (p.there)
			take(c, p.e, p.at, p.there, r->piece);
	}
	return found;
}

/* As store_rows(), of bytes; each work-item reads AT_ONCE pieces before it writes them. */
static bool store_plain_rows(const struct core *c, const struct rows *r)
{
	uint pieces = r->insn.y_size * r->per_row;
	bool found = true;

	for (uint n = ITEM; n < pieces; n += AT_ONCE * VTA_ITEMS) {
		struct piece p[AT_ONCE];
		int16 values[AT_ONCE];

		for (uint i = 0; i < AT_ONCE; i++) {
			p[i].there = 0;
			if (n + i * VTA_ITEMS >= pieces)
				continue;
			p[i] = piece_of(c, r, n + i * VTA_ITEMS);
			found &= p[i].there != 0;
			values[i] = *(__global const int16 *)(c->acc + (size_t)p[i].e * LANES +
							      p[i].at);
		}
		for (uint i = 0; i < AT_ONCE; i++)
			if (p[i].there)
				*(__global uchar16 *)p[i].there = convert_uchar16(values[i] & 255);
	}
	return found;
}

/*
 * The rows of a LOAD or STORE, by all work-items. Returns false if some memory is not the
 * device's: the host has to move the rows. Rows of a STORE that overlap are written in their
 * order, by one work-item.
 */
static bool move(const struct core *c, const struct vta_isa_move *m, bool load, bool bounce)
{
	struct rows r = rows_of(m, load, bounce);

	if (!m->x_size)
		return true;
	if (!load && !bounce && m->x_stride < m->x_size && m->y_size > 1)
		return ITEM || store_rows(c, &r, 0, 1);
	if (!load && r.piece == 16 && is_plain(INP))
		return store_plain_rows(c, &r);
	if (!load)
		return store_rows(c, &r, ITEM, VTA_ITEMS);
	if (m->y_pad_0 | m->y_pad_1 | m->x_pad_0 | m->x_pad_1)
		load_pads(c, m);
	if (r.piece == 16 && is_plain(m->memory_type))
		return load_plain_rows(c, &r);
	return load_rows(c, &r, ITEM, VTA_ITEMS);
}
