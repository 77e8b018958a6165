// SPDX-License-Identifier: Apache-2.0
/*
 * decide.cl - what work-item 0 of vta_stream decides: decoding, tokens, faults, cycles
 */

static struct vta_isa_insn insn_of(__local const struct vta_command *cmd)
{
	return (struct vta_isa_insn) { { cmd->words[0] | (ulong)cmd->words[1] << 32,
					 cmd->words[2] | (ulong)cmd->words[3] << 32 } };
}

static void decode_move(__local const struct vta_command *cmd, __local struct vta_move *m)
{
	struct vta_isa_insn insn = insn_of(cmd);
	struct vta_isa_move move;

	vta_isa_unpack_move(&insn, &move);
	m->insn = move;
	m->elem = elem_bytes(move.memory_type);
	m->bounce = 0;
}

static void decode_loop(__local const struct vta_command *cmd, __local struct vta_loop *l)
{
	const struct vta_isa_shape shape = SHAPE;
	struct vta_isa_insn insn = insn_of(cmd);
	struct vta_isa_loop loop;

	vta_isa_unpack_loop(&shape, &insn, &loop);
	l->insn = loop;
	l->done = 0;
	l->count = vta_isa_loop_count(&loop);
}

static uint module_of(__local const uint *words)
{
	uint op = words[0] & 7, type = words[0] >> 7 & 7;

	if (op == STORE)
		return TO_STORE;
	return op == LOAD && (type == INP || type == WGT) ? TO_LOAD_MODULE : TO_COMPUTE;
}

/* Known from the words alone. */
static bool legal(__local const uint *words)
{
	uint op = words[0] & 7, type = words[0] >> 7 & 7, pads = words[3] >> 16;
	uint log = 4 * LOG_ACC;

	switch (op) {
	case LOAD:
		return !(words[2] >> 16) || type <= ACC || type == ACC_8BIT;
	case STORE:
		return !(words[2] >> 16) || (type == OUT && !pads);
	case ALU:
		return ((words[2] | (ulong)words[3] << 32) >> log & 7) <= MUL;
	default:
		return op <= ALU;
	}
}

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
static uint flagged(__local const uint *words, uint n)
{
	return words[0] >> (3 + n) & 1 ? token_queue(module_of(words), n) : NO_QUEUE;
}

static bool can_move(__local const struct vta_state *s, __local const uint *words)
{
	if (!legal(words))
		return true;
	for (uint n = 0; n < 4; n++) {
		uint q = flagged(words, n);

		if (q == NO_QUEUE)
			continue;
		if (n < 2 ? !(s->tokens[q] + s->kept[q]) :
			    s->tokens[q] + s->kept[q] == VTA_TOKENS)
			return false;
	}
	return true;
}

static ulong pop(const struct core *c, __local struct vta_state *s, uint q)
{
	ulong pushed;

	if (s->kept[q]) {
		s->kept[q]--;
		return 0;
	}
	pushed = c->tokens[q * VTA_TOKENS + s->token_head[q]];
	s->token_head[q] = (s->token_head[q] + 1) % VTA_TOKENS;
	s->tokens[q]--;
	return pushed;
}

static void fault(__local struct vta_group *g, uint reason, __local const struct vta_command *cmd)
{
	__local struct vta_state *s = &g->s;

	s->status = VTA_FAULTED;
	s->reason = reason;
	s->insn_index = cmd->index;
	for (uint i = 0; i < 4; i++)
		s->insn[i] = cmd->words[i];
	g->todo = LEAVE;
}

/* The module whose first instruction is the oldest, of those that can move if asked for. */
static uint oldest(__local const struct vta_state *s, bool can)
{
	uint best = VTA_MODULES;

	for (uint m = 0; m < VTA_MODULES; m++)
		if (s->waiting[m] && (!can || can_move(s, s->first[m].words)) &&
		    (best == VTA_MODULES || s->first[m].index < s->first[best].index))
			best = m;
	return best;
}

static void enqueue(const struct core *c, __local struct vta_state *s, uint m)
{
	uint n = s->waiting[m]++;

	if (!n)
		s->first[m] = s->command;
	else
		c->waiting[m * VTA_WAITING + (s->wait_head[m] + n) % VTA_WAITING] = s->command;
}

static void dequeue(const struct core *c, __local struct vta_state *s, uint m)
{
	s->command = s->first[m];
	s->wait_head[m] = (s->wait_head[m] + 1) % VTA_WAITING;
	if (--s->waiting[m])
		s->first[m] = c->waiting[m * VTA_WAITING + s->wait_head[m]];
}

/* No module can move, and nothing more is to be fetched. */
static void conclude(__local struct vta_group *g)
{
	__local struct vta_state *s = &g->s;
	uint m = oldest(s, false);

	g->todo = LEAVE;
	if (s->fetch_reason) {
		s->status = VTA_FAULTED;
		s->reason = s->fetch_reason;
		s->insn_index = s->insn_count;
	} else if (m < VTA_MODULES) {
		fault(g, FAULT_DEADLOCK, &s->first[m]);
	} else {
		s->status = VTA_DONE;
	}
}

/* Takes the instruction at @fetched from the block; false if it is not there. */
static bool fetch(__local struct vta_group *g)
{
	__local struct vta_state *s = &g->s;
	uint at = s->fetched - g->block_first;

	if (at >= g->block_count)
		return false;
	for (uint i = 0; i < 4; i++)
		s->command.words[i] = g->block[at * 4 + i];
	s->command.index = s->fetched++;
	return true;
}

static void take_in_hand(__local struct vta_group *g, uint m)
{
	__local struct vta_state *s = &g->s;
	uint op = s->command.words[0] & 7;

	s->module = m;
	g->todo = LOOK;
	g->missing = 0;
	g->dst_min = g->src_min = g->gap = INT_MAX;
	g->dst_max = g->src_max = g->wgt_max = 0;
	g->src_is_dst = 1;
	if (!legal(s->command.words))
		fault(g, FAULT_INSN, &s->command);
	else if (op == LOAD || op == STORE)
		decode_move(&s->command, &s->move);
	else if (op == GEMM || op == ALU)
		decode_loop(&s->command, &s->loop);
}

/* The next instruction that can move, into hand; else @todo says why not. */
static void choose(const struct core *c, __local struct vta_group *g)
{
	__local struct vta_state *s = &g->s;

	for (;;) {
		uint m = oldest(s, true);

		if (m < VTA_MODULES) {
			dequeue(c, s, m);
			take_in_hand(g, m);
			return;
		}
		if (s->fetched == s->insn_count ||
		    s->waiting[0] + s->waiting[1] + s->waiting[2] == VTA_WAITING) {
			conclude(g);
			return;
		}
		if (!fetch(g)) {
			g->todo = REFILL;
			return;
		}
		m = module_of(s->command.words);
		if (!s->waiting[m] && can_move(s, s->command.words)) {
			take_in_hand(g, m);
			return;
		}
		enqueue(c, s, m);
	}
}

static void finish(const struct core *c, __local struct vta_state *s)
{
	uint op = s->command.words[0] & 7;

	for (uint n = 2; n < 4; n++) {
		uint q = flagged(s->command.words, n);

		if (q != NO_QUEUE)
			c->tokens[q * VTA_TOKENS +
				  (s->token_head[q] + s->tokens[q]++) % VTA_TOKENS] = s->end;
	}
	if (op == ALU)
		s->alu_uops += s->loop.count;
	if (op == GEMM && !s->loop.insn.reset)
		s->gemm_uops += s->loop.count;
	s->free[s->module] = s->end;
	s->cycles = s->cycles > s->end ? s->cycles : s->end;
	s->insns++;
	s->in_hand = 0;
}

static bool move_fits(__local const struct vta_isa_move *m)
{
	ulong width = m->x_pad_0 + m->x_size + m->x_pad_1;
	ulong height = m->y_pad_0 + m->y_size + m->y_pad_1;
	ulong depth = m->memory_type == UOP ? 1ul << LOG_UOP :
		      m->memory_type == WGT ? 1ul << LOG_WGT :
		      m->memory_type == INP ? 1ul << LOG_INP : 1ul << LOG_ACC;

	return !m->x_size || !height || m->sram_base + width * height <= depth;
}

/* All parts of an index grow with their loop's counter: its last sum is the largest. */
static bool loop_fits(__local const struct vta_group *g)
{
	__local const struct vta_isa_loop *l = &g->s.loop.insn;
	uint i = l->iter_out - 1, j = l->iter_in - 1;
	uint dst, src, wgt;

	if (!g->s.loop.count)
		return true;
	if (l->uop_end > 1u << LOG_UOP)
		return false;
	dst = g->dst_max + i * l->dst_factor_out + j * l->dst_factor_in;
	src = g->src_max + i * l->src_factor_out + j * l->src_factor_in;
	wgt = g->wgt_max + i * l->wgt_factor_out + j * l->wgt_factor_in;
	if (dst >= 1u << LOG_ACC)
		return false;
	if (l->alu)
		return l->use_imm || src < 1u << LOG_ACC;
	return l->reset || (src < 1u << LOG_INP && wgt < 1u << LOG_WGT);
}

/* Returns true if i * a + j * b + (0 to span - 1), over both loops, is never the same twice. */
static bool nested(__local const struct vta_isa_loop *l, uint a, uint b, uint span)
{
	uint ni = l->iter_out, nj = l->iter_in;

	return ((nj == 1 || b >= span) && (ni == 1 || a >= b * (nj - 1) + span)) ||
	       ((ni == 1 || a >= span) && (nj == 1 || b >= a * (ni - 1) + span));
}

/* Returns true if micro-ops may be executed in any order; false is always right. */
static bool independent(__local const struct vta_group *g)
{
	__local const struct vta_isa_loop *l = &g->s.loop.insn;
	uint over = l->dst_factor_out * (l->iter_out - 1) + l->dst_factor_in * (l->iter_in - 1);
	uint dst_end = g->dst_max + over;
	uint src_end = g->src_max + l->src_factor_out * (l->iter_out - 1) +
		       l->src_factor_in * (l->iter_in - 1);
	bool same = g->src_is_dst && l->src_factor_out == l->dst_factor_out &&
		    l->src_factor_in == l->dst_factor_in;

	if (!l->alu)
		return true;
	if (!l->use_imm && !same && g->src_min <= (int)dst_end && g->dst_min <= (int)src_end)
		return false;
	if (g->gap <= 0)
		return false;
	return nested(l, l->dst_factor_out, l->dst_factor_in, g->dst_max - g->dst_min + 1) ||
	       ((uint)g->gap > over && nested(l, l->dst_factor_out, l->dst_factor_in, 1));
}

static ulong cost(__local const struct vta_state *s)
{
	struct vta_isa_move move = s->move.insn;
	struct vta_isa_loop loop = s->loop.insn;

	switch (s->command.words[0] & 7) {
	case LOAD:
	case STORE:
		return vta_isa_move_cycles(&move, s->move.elem);
	case GEMM:
	case ALU:
		return vta_isa_loop_cycles(&loop);
	default:
		return 1;
	}
}

/* When it ends, by docs/isa.md, section 9. Takes its tokens. */
static ulong end_of(const struct core *c, __local struct vta_state *s)
{
	ulong start = (ulong)s->command.index + 1, more = cost(s);

	start = max(start, (ulong)s->free[s->module]);
	for (uint n = 0; n < 2; n++) {
		uint q = flagged(s->command.words, n);

		if (q != NO_QUEUE)
			start = max(start, pop(c, s, q));
	}
	return start + more < start ? ~0ul : start + more;
}

/* Multiplications, or what takes as long. */
static ulong work(ulong uops, bool is_alu)
{
	return uops * LANES * (is_alu ? 8 : BLOCK);
}

static void begin_move(__local struct vta_group *g, uint op)
{
	__local struct vta_state *s = &g->s;
	__local struct vta_move *m = &s->move;

	if (!m->insn.x_size || (op == STORE && !m->insn.y_size))
		return;
	g->todo = EXECUTE;
	m->bounce = g->missing;
	if (m->bounce && op == LOAD) {
		s->status = VTA_MOVE;
		g->todo = LEAVE;
	}
}

/* As much of the loop in hand as the budget has, at least a micro-op. */
static void begin_part(__local struct vta_group *g)
{
	__local struct vta_loop *l = &g->s.loop;
	ulong each = work(1, l->insn.alu), left = l->count - l->done;
	ulong n = min(left, max(g->budget / each, (ulong)1));

	g->part_end = l->done + n;
	g->budget -= (uint)min((ulong)g->budget, n * each);
	g->todo = EXECUTE;
}

static void begin_loop(__local struct vta_group *g)
{
	__local struct vta_loop *l = &g->s.loop;
	ulong all = work(l->count, l->insn.alu);

	if (!l->count)
		return;
	l->apart = independent(g);
	if (g->shared && all > g->budget) {
		g->s.status = VTA_WIDE;
		begin_part(g);
		return;
	}
	g->part_end = l->count;
	g->todo = EXECUTE;
	g->budget -= (uint)min((ulong)g->budget, all);
#ifndef VTA_TASK
	if (!g->shared && all >= VTA_WIDE_MIN) {
		g->s.status = VTA_WIDE;
		g->todo = LEAVE;
	}
#endif
}

/* Check the instruction that was decoded, and begin it. */
static void begin(const struct core *c, __local struct vta_group *g)
{
	__local struct vta_state *s = &g->s;
	uint op = s->command.words[0] & 7;
	bool moves = op == LOAD || op == STORE, loops = op == GEMM || op == ALU;

	if ((moves && !move_fits(&s->move.insn)) || (loops && !loop_fits(g))) {
		fault(g, FAULT_BOUNDS, &s->command);
		return;
	}
	s->end = end_of(c, s);
	if (s->cycle_limit && s->end > s->cycle_limit) {
		fault(g, FAULT_CYCLES, &s->command);
		return;
	}
	s->in_hand = 1;
	g->todo = NOTHING;
	if (moves)
		begin_move(g, op);
	else if (loops)
		begin_loop(g);
}

/* End of a launch of vta_wide that begins at @done. */
static ulong wide_end(const struct vta_loop *l)
{
	ulong chunk = VTA_CHUNK / work(1, l->insn.alu);

	return min(l->done + max(chunk, 1ul), (ulong)l->count);
}

/* A launch of vta_wide has been. */
static void count_wide(__local struct vta_group *g)
{
	struct vta_loop l = g->s.loop;

	g->s.loop.done = wide_end(&l);
	if (g->s.loop.done == l.count)
		g->s.status = VTA_RUN;
}

/* Continues after the other kernel has executed a loop, or the host has moved rows. */
static void resume(const struct core *c, __local struct vta_group *g)
{
	if ((g->s.command.words[0] & 7) == LOAD) {
		g->todo = EXECUTE;
		return;
	}
	finish(c, &g->s);
	choose(c, g);
}

