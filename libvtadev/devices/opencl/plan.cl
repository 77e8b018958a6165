// SPDX-License-Identifier: Apache-2.0
/*
 * plan.cl - the order of instructions: fetching, decoding, tokens, cycles
 *
 * All work-items decode a block of instructions at once. Work-item 0 then puts them in order, by
 * their tokens. This needs their words alone, so it is done for a block before its first
 * instruction is executed. A plan ends with an instruction that faults.
 */

static struct vta_isa_insn insn_of(const uint *words)
{
	return (struct vta_isa_insn) { { words[0] | (ulong)words[1] << 32,
					 words[2] | (ulong)words[3] << 32 } };
}

static uint module_of(uint word)
{
	uint op = word & 7, type = word >> 7 & 7;

	if (op == STORE)
		return TO_STORE;
	return op == LOAD && (type == INP || type == WGT) ? TO_LOAD_MODULE : TO_COMPUTE;
}

/* ---- Decoding ---- */

static bool move_legal(const struct vta_isa_move *m, bool store)
{
	if (!m->x_size)
		return true;
	if (store)
		return m->memory_type == OUT &&
		       !(m->x_pad_0 | m->x_pad_1 | m->y_pad_0 | m->y_pad_1);
	return m->memory_type <= ACC || m->memory_type == ACC_8BIT;
}

static bool move_fits(const struct vta_isa_move *m)
{
	ulong width = m->x_pad_0 + m->x_size + m->x_pad_1;
	ulong height = m->y_pad_0 + m->y_size + m->y_pad_1;
	ulong depth = m->memory_type == UOP ? 1ul << LOG_UOP :
		      m->memory_type == WGT ? 1ul << LOG_WGT :
		      m->memory_type == INP ? 1ul << LOG_INP : 1ul << LOG_ACC;

	return !m->x_size || !height || m->sram_base + width * height <= depth;
}

static void decode_move(struct vta_planned *p, struct vta_isa_move *m)
{
	struct vta_isa_insn insn = insn_of(p->command.words);

	vta_isa_unpack_move(&insn, m);
	if (!move_legal(m, (p->command.words[0] & 7) == STORE))
		p->reason = FAULT_INSN;
	else if (!move_fits(m))
		p->reason = FAULT_BOUNDS;
	p->cycles = vta_isa_move_cycles(m, elem_bytes(m->memory_type));
}

static void decode_loop(struct vta_planned *p, struct vta_isa_loop *l)
{
	const struct vta_isa_shape shape = SHAPE;
	struct vta_isa_insn insn = insn_of(p->command.words);

	vta_isa_unpack_loop(&shape, &insn, l);
	if (l->alu && l->alu_opcode > MUL)
		p->reason = FAULT_INSN;
	else if (vta_isa_loop_count(l) && l->uop_end > 1u << LOG_UOP)
		p->reason = FAULT_BOUNDS;
	p->cycles = vta_isa_loop_cycles(l);
}

/* Of @p, the command is set. */
static void decode(struct vta_planned *p)
{
	struct vta_isa_move move;
	struct vta_isa_loop loop;

	p->reason = 0;
	p->cycles = 1;
	switch (p->command.words[0] & 7) {
	case LOAD:
	case STORE:
		decode_move(p, &move);
		break;
	case GEMM:
	case ALU:
		decode_loop(p, &loop);
		break;
	case FINISH:
		break;
	default:
		p->reason = FAULT_INSN;
		break;
	}
}

/*
 * Decodes the next block, if the last one is used up: the host's code, or the device's own, up to
 * a page's end. Returns how many instructions it has.
 */
static uint refill(const struct core *c, __local struct vta_group *g)
{
	__local const struct vta_state *s = &g->s;
	ulong addr = s->insn_addr + (ulong)s->fetched * 16;
	ulong there = place(c, addr, VTA_ENTRY_READ);
	__global const uint *from = (__global const uint *)(c->memory + there);
	uint count = PAGE_INSNS - (uint)(addr / 16 % PAGE_INSNS);

	if (s->block_at < s->block_count)
		return 0;
	count = min(min(count, VTA_PLAN), s->insn_count - s->fetched);
	if (s->fetched - s->code_first < s->code_count) {
		from = c->code + (s->fetched - s->code_first) * 4;
		count = min(VTA_PLAN, s->code_first + s->code_count - s->fetched);
	} else if (there == NOWHERE) {
		count = 0;
	}
	for (uint i = ITEM; i < count; i += VTA_ITEMS) {
		struct vta_planned p;

		for (uint w = 0; w < 4; w++)
			p.command.words[w] = from[i * 4 + w];
		p.command.index = s->fetched + i;
		decode(&p);
		g->plan.block[i] = p;
	}
	return count;
}

/* Unpacks the instructions of the plan. */
static void unpack_plan(__local struct vta_group *g)
{
	for (uint i = ITEM; i < g->s.planned; i += VTA_ITEMS) {
		struct vta_planned p = g->plan.entries[i];
		struct vta_isa_move move;
		struct vta_isa_loop loop;

		if ((p.command.words[0] & 7) <= STORE) {
			decode_move(&p, &move);
			g->unpacked[i].move = move;
		} else {
			decode_loop(&p, &loop);
			g->unpacked[i].loop = loop;
		}
	}
}

/* ---- Tokens ---- */

/*
 * The token queue that flag @n of an instruction means: pop_prev, pop_next, push_prev,
 * push_next. 0 and 1 are between load and compute, 2 and 3 between compute and store.
 */
static uint token_queue(uint module, uint n)
{
	switch (module) {
	case TO_LOAD_MODULE:
		return n == 1 ? 1 : n == 3 ? 0 : NO_QUEUE;
	case TO_COMPUTE:
		return n == 0 ? 0 : n == 1 ? 3 : n == 2 ? 1 : 2;
	default:
		return n == 0 ? 2 : n == 2 ? 3 : NO_QUEUE;
	}
}

/* The queue that flag @n asks for, if it is set. */
static uint flagged(uint word, uint n)
{
	return word >> (3 + n) & 1 ? token_queue(module_of(word), n) : NO_QUEUE;
}

/* Returns true if the tokens of an instruction are there, or @reason says that it faults. */
static bool can_move(__local const struct vta_state *s, uint word, uint reason)
{
	if (!(word & FLAGS) || reason == FAULT_INSN)
		return true;
	for (uint n = 0; n < 4; n++) {
		uint q = flagged(word, n), count;

		if (q == NO_QUEUE)
			continue;
		count = s->tokens[q] + s->kept[q];
		if (n < 2 ? !count : count == VTA_TOKENS)
			return false;
	}
	return true;
}

static ulong pop(const struct core *c, __local struct vta_group *g, uint q)
{
	__local struct vta_state *s = &g->s;
	uint head;

	if (s->kept[q]) {
		s->kept[q]--;
		return 0;
	}
	head = s->token_head[q]++;
	if (s->tokens[q]-- <= VTA_NEAR)
		return g->plan.near[q * VTA_NEAR + head % VTA_NEAR];
	return c->tokens[q * VTA_TOKENS + head % VTA_TOKENS];
}

static void push(const struct core *c, __local struct vta_group *g, uint q, ulong end)
{
	uint at = g->s.token_head[q] + g->s.tokens[q]++;

	g->plan.near[q * VTA_NEAR + at % VTA_NEAR] = end;
	c->tokens[q * VTA_TOKENS + at % VTA_TOKENS] = end;
}

/* ---- Order ---- */

static void fault(__local struct vta_state *s, uint reason, const struct vta_command *cmd)
{
	s->status = VTA_FAULTED;
	s->reason = reason;
	s->insn_index = cmd->index;
	for (uint i = 0; i < 4; i++)
		s->insn[i] = cmd->words[i];
}

static bool first_can_move(__local const struct vta_state *s, uint m)
{
	struct vta_planned p;

	if (can_move(s, s->first[m].words[0], 0))
		return true;
	p.command = s->first[m];
	decode(&p);
	return p.reason == FAULT_INSN;
}

/* The module whose first instruction is the oldest, of those that can move if asked for. */
static uint oldest(__local const struct vta_state *s, bool can)
{
	uint best = VTA_MODULES;

	for (uint m = 0; m < VTA_MODULES; m++)
		if (s->waiting[m] && (!can || first_can_move(s, m)) &&
		    (best == VTA_MODULES || s->first[m].index < s->first[best].index))
			best = m;
	return best;
}

static void enqueue(const struct core *c, __local struct vta_state *s, uint m,
		    struct vta_command cmd)
{
	uint n = s->waiting[m]++;

	if (!n)
		s->first[m] = cmd;
	else
		c->waiting[m * VTA_WAITING + (s->wait_head[m] + n) % VTA_WAITING] = cmd;
}

static struct vta_command dequeue(const struct core *c, __local struct vta_state *s, uint m)
{
	struct vta_command cmd = s->first[m];

	s->wait_head[m] = (s->wait_head[m] + 1) % VTA_WAITING;
	if (--s->waiting[m])
		s->first[m] = c->waiting[m * VTA_WAITING + s->wait_head[m]];
	return cmd;
}

/* Takes and gives its tokens. It ends by docs/isa.md, section 9. */
static void append(const struct core *c, __local struct vta_group *g, struct vta_planned p)
{
	__local struct vta_state *s = &g->s;
	uint word = p.command.words[0], m = module_of(word);
	ulong start = max((ulong)p.command.index + 1, (ulong)s->free[m]), end;

	for (uint n = 0; !p.reason && word & FLAGS && n < 2; n++) {
		uint q = flagged(word, n);

		if (q != NO_QUEUE)
			start = max(start, pop(c, g, q));
	}
	end = start + p.cycles < start ? ~0ul : start + p.cycles;
	if (!p.reason && s->cycle_limit && end > s->cycle_limit)
		p.reason = FAULT_CYCLES;
	for (uint n = 2; !p.reason && word & FLAGS && n < 4; n++) {
		uint q = flagged(word, n);

		if (q != NO_QUEUE)
			push(c, g, q, end);
	}
	s->free[m] = end;
	p.cycles = end;
	g->plan.entries[s->planned++] = p;
}

/* Plans the next instruction that can move, or lets one wait. Returns false if there is none. */
static bool plan_next(const struct core *c, __local struct vta_group *g)
{
	__local struct vta_state *s = &g->s;
	uint waiting = s->waiting[0] + s->waiting[1] + s->waiting[2];
	uint m = waiting ? oldest(s, true) : VTA_MODULES;
	struct vta_planned p;

	if (m < VTA_MODULES) {
		p.command = dequeue(c, s, m);
		decode(&p);
		append(c, g, p);
		return !p.reason;
	}
	if (s->block_at == s->block_count || waiting == VTA_WAITING)
		return false;
	p = g->plan.block[s->block_at++];
	s->fetched++;
	m = module_of(p.command.words[0]);
	if (!s->waiting[m] && can_move(s, p.command.words[0], p.reason)) {
		append(c, g, p);
		return !g->plan.entries[s->planned - 1].reason;
	}
	enqueue(c, s, m, p.command);
	return true;
}

/* No module can move, and nothing more is to be fetched. */
static void conclude(__local struct vta_state *s)
{
	uint m = oldest(s, false);
	struct vta_command cmd;

	if (s->fetch_reason) {
		s->status = VTA_FAULTED;
		s->reason = s->fetch_reason;
		s->insn_index = s->insn_count;
	} else if (m < VTA_MODULES) {
		cmd = s->first[m];
		fault(s, FAULT_DEADLOCK, &cmd);
	} else {
		s->status = VTA_DONE;
	}
}

/* By work-item 0: a plan of the block, which has @fresh instructions if it is new. */
static void make_plan(const struct core *c, __local struct vta_group *g, uint fresh)
{
	__local struct vta_state *s = &g->s;

	if (fresh) {
		s->block_at = 0;
		s->block_count = fresh;
	}
	s->taken = 0;
	s->planned = 0;
	while (s->planned < VTA_PLAN && plan_next(c, g))
		;
	if (s->planned)
		return;
	if (s->fetched == s->insn_count ||
	    s->waiting[0] + s->waiting[1] + s->waiting[2] == VTA_WAITING)
		conclude(s);
	else if (!fresh && s->block_at == s->block_count)
		s->status = VTA_FETCH;
}
