// SPDX-License-Identifier: Apache-2.0
// The VTA core: fetches a stream of instructions and executes it in its three modules.
//
// It has a port for commands, a port to memory by device addresses, and counters. docs/rtl.md
// describes them; docs/isa.md is normative for what a stream does.
module vta_core #(
	// The configuration, by the names of vta_config.json
	parameter int LOG_INP_WIDTH = 3,
	parameter int LOG_WGT_WIDTH = 3,
	parameter int LOG_ACC_WIDTH = 5,
	parameter int LOG_BATCH = 0,
	parameter int LOG_BLOCK = 4,
	parameter int LOG_UOP_BUFF_SIZE = 15,
	parameter int LOG_INP_BUFF_SIZE = 15,
	parameter int LOG_WGT_BUFF_SIZE = 18,
	parameter int LOG_ACC_BUFF_SIZE = 17,
	// The hardware: output values computed at once, and depths of queues
	parameter int LOG_LANES = 4,
	parameter int LOG_TOKENS = 8,
	parameter int LOG_WAITING = 8
) (
	input logic clk,
	input logic reset,			// scratchpads are undefined until COMMAND_CLEAR
	// Commands (vta_control)
	input logic command,
	input logic [1:0] command_kind,		// vta_isa_pkg::COMMAND_*
	input logic [31:0] command_address,
	input logic [31:0] command_count,	// RUN: instructions
	input logic [63:0] command_limit,	// RUN: cycles, or 0
	input logic command_keep,
	output logic command_ready,
	input logic stop,
	output logic done,
	output logic stopped,
	output logic faulted,
	output logic [3:0] fault_reason,
	output logic [3:0] fault_access,
	output logic [31:0] fault_address,
	output logic [31:0] fault_index,
	output logic [127:0] fault_insn,
	// Counters of the run: cycles by docs/isa.md, 9, and the clocks that it took
	output logic [63:0] cycles,
	output logic [63:0] load_cycles,
	output logic [63:0] compute_cycles,
	output logic [63:0] store_cycles,
	output logic [63:0] insns,
	output logic [63:0] gemm_uops,
	output logic [63:0] alu_uops,
	output logic [63:0] clocks,
	// Memory: a read is of 1 to 256 bytes and a write of 1 to 16, from any address on
	output logic memory_request,
	input logic memory_request_ready,
	output logic memory_request_write,
	output logic [31:0] memory_request_address,
	output logic [8:0] memory_request_length,
	output logic [3:0] memory_request_access,	// vta_isa_pkg::ACCESS_*
	output logic [127:0] memory_request_data,
	// Responses, in the order of requests: of a read 16 bytes at a time, of a write one; a fault
	// is the last of its request
	input logic memory_response,
	output logic memory_response_ready,
	input logic memory_response_last,
	input logic memory_response_fault,
	input logic [3:0] memory_response_reason,
	input logic [31:0] memory_response_address,
	input logic [127:0] memory_response_data
);
	// ---- Sizes that follow from the configuration (contract/vta_isa.h)
	localparam int InpBits = 1 << LOG_INP_WIDTH;
	localparam int WgtBits = 1 << LOG_WGT_WIDTH;
	localparam int LogInpBytes = LOG_BATCH + LOG_BLOCK + LOG_INP_WIDTH - 3;
	localparam int LogWgtBytes = 2 * LOG_BLOCK + LOG_WGT_WIDTH - 3;
	localparam int LogAccBytes = LOG_BATCH + LOG_BLOCK + LOG_ACC_WIDTH - 3;
	localparam int LogUopDepth = LOG_UOP_BUFF_SIZE - 2;
	localparam int LogInpDepth = LOG_INP_BUFF_SIZE - LogInpBytes;
	localparam int LogWgtDepth = LOG_WGT_BUFF_SIZE - LogWgtBytes;
	localparam int LogAccDepth = LOG_ACC_BUFF_SIZE - LogAccBytes;
	localparam int LogSrcDepth = vta_isa_pkg::max(LogInpDepth, LogAccDepth);

	// ---- Words of scratchpads: a row of inputs, of weights for all lanes, of the lanes' values
	localparam int LogUopWord = 5;
	localparam int LogInpWord = LOG_BLOCK + LOG_INP_WIDTH;
	localparam int LogWgtWord = LOG_LANES + LOG_BLOCK + LOG_WGT_WIDTH;
	localparam int LogAccWord = LOG_LANES + LOG_ACC_WIDTH;
	localparam int LogInpWords = LogInpDepth + LOG_BATCH;
	localparam int LogWgtWords = LogWgtDepth + LOG_BLOCK - LOG_LANES;

	if (LOG_INP_WIDTH < 1 || LOG_INP_WIDTH > 3) begin : gen_inp_width
		$error("LOG_INP_WIDTH is 1 to 3");
	end
	if (LOG_WGT_WIDTH < 1 || LOG_WGT_WIDTH > 3) begin : gen_wgt_width
		$error("LOG_WGT_WIDTH is 1 to 3");
	end
	if (LOG_ACC_WIDTH != 5) begin : gen_acc_width
		$error("LOG_ACC_WIDTH is 5");
	end
	if (LOG_BATCH < 0 || LOG_BATCH > 8 || LOG_BLOCK < 1 || LOG_BLOCK > 8) begin : gen_block
		$error("LOG_BATCH is 0 to 8, LOG_BLOCK 1 to 8");
	end
	if (LogInpBytes < 0) begin : gen_inp_bytes
		$error("LOG_BATCH + LOG_BLOCK + LOG_INP_WIDTH is 3 or more");
	end
	if (LogUopDepth < 0 || LogUopDepth > 16 || LogInpDepth < 0 || LogInpDepth > 16 ||
	    LogWgtDepth < 0 || LogWgtDepth > 16 || LogAccDepth < 0 || LogAccDepth > 16) begin : gen_depth
		$error("a scratchpad has 1 to 65536 elements");
	end
	if (37 + 2 * LogUopDepth > 64 || 4 * LogAccDepth + 20 > 64 ||
	    2 * (LogAccDepth + LogInpDepth + LogWgtDepth) > 64 ||
	    LogAccDepth + LogSrcDepth + LogWgtDepth > 32) begin : gen_fields
		$error("the fields of an instruction or a micro-op are too wide");
	end
	if (LOG_LANES < 0 || LOG_LANES > LOG_BLOCK || LOG_LANES > 7) begin : gen_lanes
		$error("LOG_LANES is 0 to LOG_BLOCK, and at most 7");
	end
	if (LOG_TOKENS < 3 || LOG_TOKENS > 16 || LOG_WAITING < 3 || LOG_WAITING > 16) begin : gen_queues
		$error("LOG_TOKENS and LOG_WAITING are 3 to 16");
	end

	// ---- Control
	logic halt, quiet, begin_run, keep, running;
	logic clear, save, restore, port_idle;
	logic [31:0] address;
	logic state_active, state_done, state_fault;
	logic [3:0] state_reason;
	logic [31:0] state_fault_address;
	logic fetch_idle, fetch_faulted;
	logic [3:0] fetch_reason;
	logic [31:0] fetch_fault_address, fetched;
	logic [2:0] stuck, empty, check_fault, unit_fault;
	logic [3 * 4 - 1:0] check_reason, unit_reason, unit_access;
	logic [3 * 32 - 1:0] index, unit_address;
	logic [3 * 128 - 1:0] insn;
	logic [31:0] insn_count;
	logic [63:0] cycle_limit;

	vta_control control (
		.clk, .reset, .command, .command_kind, .command_address, .command_keep,
		.ready(command_ready), .stop, .done, .stopped, .faulted, .fault_reason,
		.fault_access, .fault_address, .fault_index, .fault_insn, .halt, .quiet, .begin_run, .keep,
		.clear, .save, .restore, .address, .running, .port_idle, .state_done, .state_fault,
		.state_reason, .state_address(state_fault_address), .fetch_idle, .fetch_faulted,
		.fetch_reason, .fetch_address(fetch_fault_address), .fetched,
		.module_stuck(stuck), .module_empty(empty), .module_fault(check_fault),
		.module_reason(check_reason), .module_index(index), .module_insn(insn), .unit_fault,
		.unit_reason, .unit_access, .unit_address
	);
	always_ff @(posedge clk) begin
		if (command_ready & command) begin
			insn_count <= command_count;
			cycle_limit <= command_limit;
		end
	end

	// ---- The memory port: fetching, load module, compute module, writes, the state's header
	localparam int Fetch = 0;
	localparam int Load = 1;
	localparam int Fill = 2;
	localparam int Write = 3;
	localparam int Header = 4;
	localparam int Clients = 5;
	localparam logic [Clients - 1:0] Writes = Clients'(1) << Write;

	logic [Clients - 1:0] request, request_ready, response, response_ready;
	logic [31:0] fetch_address, load_address, fill_address, store_address, header_address;
	logic [31:0] save_address;
	logic [8:0] fetch_length, load_length, fill_length, store_length, save_length;
	logic [3:0] fill_access;
	logic [127:0] store_data, save_data;
	logic store_request, save_request;
	wire [Clients * 32 - 1:0] request_address = {header_address,
		state_active ? save_address : store_address, fill_address, load_address,
		fetch_address};
	wire [Clients * 9 - 1:0] request_length = {9'd32, state_active ? save_length : store_length,
		fill_length, load_length, fetch_length};

	// The store unit does nothing while vta_state is active, and the other way round.
	assign request[Write] = save_request | store_request;
	assign response_ready[Fetch] = 1'b1;
	assign response_ready[Write] = 1'b1;
	assign response_ready[Header] = 1'b1;

	// Requests wait in registers for their turn.
	logic [Clients - 1:0] waiting, waiting_ready;
	logic [Clients * 32 - 1:0] waiting_address;
	logic [Clients * 9 - 1:0] waiting_length;
	logic [127:0] waiting_data;

	for (genvar n = 0; n < Clients; n++) begin : gen_waiting
		if (n == Write) begin : gen_write
			vta_slice #(.WIDTH(128 + 32 + 9)) slice (
				.clk, .clear(halt), .send(request[n]), .send_ready(request_ready[n]),
				.send_data({state_active ? save_data : store_data,
					request_address[32 * n +: 32], request_length[9 * n +: 9]}),
				.valid(waiting[n]), .ready(waiting_ready[n]),
				.data({waiting_data, waiting_address[32 * n +: 32],
					waiting_length[9 * n +: 9]})
			);
		end else begin : gen_read
			vta_slice #(.WIDTH(32 + 9)) slice (
				.clk, .clear(halt), .send(request[n]), .send_ready(request_ready[n]),
				.send_data({request_address[32 * n +: 32],
					request_length[9 * n +: 9]}),
				.valid(waiting[n]), .ready(waiting_ready[n]),
				.data({waiting_address[32 * n +: 32], waiting_length[9 * n +: 9]})
			);
		end
	end

	vta_port #(.CLIENTS(Clients)) port (
		.clk, .reset, .halt(quiet), .request(waiting), .request_ready(waiting_ready),
		.request_write(Writes), .request_address(waiting_address),
		.request_length(waiting_length),
		.request_access({vta_isa_pkg::ACCESS_STATE,
			state_active ? vta_isa_pkg::ACCESS_STATE : vta_isa_pkg::ACCESS_STORE,
			state_active ? vta_isa_pkg::ACCESS_STATE : fill_access,
			state_active ? vta_isa_pkg::ACCESS_STATE : vta_isa_pkg::ACCESS_LOAD,
			vta_isa_pkg::ACCESS_INSN}),
		.request_data(waiting_data), .response, .response_ready,
		.memory_request, .memory_request_ready, .memory_request_write,
		.memory_request_address, .memory_request_length, .memory_request_access,
		.memory_request_data, .memory_response, .memory_response_ready,
		.memory_response_last, .idle(port_idle)
	);

	// ---- Fetching, and the modules' queues
	logic [2:0] queue_push, queue_pop, begun, has_begun;
	logic [159:0] fetched_insn;

	vta_fetch #(.LOG_WAITING(LOG_WAITING)) fetch (
		.clk, .halt, .begin_run, .address, .insn_count, .request(request[Fetch]),
		.request_ready(request_ready[Fetch]), .request_address(fetch_address),
		.request_length(fetch_length), .response(response[Fetch]),
		.response_last(memory_response_last), .response_fault(memory_response_fault),
		.response_reason(memory_response_reason),
		.response_address(memory_response_address),
		.response_data(memory_response_data), .push(queue_push), .insn(fetched_insn),
		.pop(has_begun), .idle(fetch_idle), .faulted(fetch_faulted),
		.fault_reason(fetch_reason), .fault_address(fetch_fault_address), .fetched
	);

	// ---- Token queues: load to compute and back, compute to store and back
	localparam int LoadToCompute = 0;
	localparam int ComputeToLoad = 1;
	localparam int ComputeToStore = 2;
	localparam int StoreToCompute = 3;

	logic [3:0] token_push, token_pop, token_valid, token_room, token_none;
	logic [4 * 64 - 1:0] token_push_cycle, token_cycle;
	logic [127:0] token_counts, tokens_restored;
	logic tokens_restore;

	for (genvar n = 0; n < 4; n++) begin : gen_tokens
		logic [LOG_TOKENS:0] count;

		vta_tokens #(.LOG_TOKENS(LOG_TOKENS)) tokens (
			.clk, .begin_run(begin_run | clear), .keep(keep & ~clear), .restore(tokens_restore),
			.restore_count(tokens_restored[32 * n +: 32]), .push(token_push[n]),
			.push_cycle(token_push_cycle[64 * n +: 64]), .room(token_room[n]),
			.none(token_none[n]),
			.valid(token_valid[n]), .cycle(token_cycle[64 * n +: 64]),
			.pop(token_pop[n]), .count
		);
		assign token_counts[32 * n +: 32] = 32'(count);
	end

	// ---- The modules' sequencers, and the tokens of each
	localparam int ModuleLoad = 0;
	localparam int ModuleCompute = 1;
	localparam int ModuleStore = 2;

	logic [2:0] insn_loop, nothing, start, unit_done, finished;
	logic [2:0] has_prev, has_next, prev_valid, next_valid, prev_none, next_none;
	logic [2:0] prev_room, next_room, pop_prev, pop_next, give_prev, give_next, check;
	logic [3 * 64 - 1:0] prev_cycle, next_cycle, end_cycle, busy_cycles;
	logic [3 * 34 - 1:0] elements;
	logic scan_done, scan_outside;
	wire unused_elements = &{1'b0, elements};
	logic [31:0] dst_most, src_most, wgt_most;

	assign has_prev = 3'b110;
	assign has_next = 3'b011;
	assign prev_valid = {token_valid[ComputeToStore], token_valid[LoadToCompute], 1'b0};
	assign next_valid = {1'b0, token_valid[StoreToCompute], token_valid[ComputeToLoad]};
	wire [3:0] none_comes = token_none & ~token_push;
	wire [3:0] room_stays = token_room & ~token_push;
	assign prev_none = {none_comes[ComputeToStore], none_comes[LoadToCompute], 1'b0};
	assign next_none = {1'b0, none_comes[StoreToCompute], none_comes[ComputeToLoad]};
	assign prev_room = {room_stays[StoreToCompute], room_stays[ComputeToLoad], 1'b0};
	assign next_room = {1'b0, room_stays[ComputeToStore], room_stays[LoadToCompute]};
	assign prev_cycle = {token_cycle[64 * ComputeToStore +: 64],
		token_cycle[64 * LoadToCompute +: 64], 64'd0};
	assign next_cycle = {64'd0, token_cycle[64 * StoreToCompute +: 64],
		token_cycle[64 * ComputeToLoad +: 64]};
	// A token is popped in the clock after its instruction has begun, and pushed in the clock after
	// that has ended.
	always_ff @(posedge clk) begin
		token_pop <= {pop_next[ModuleCompute], pop_prev[ModuleStore], pop_next[ModuleLoad],
			pop_prev[ModuleCompute]};
		token_push <= {give_prev[ModuleStore], give_next[ModuleCompute],
			give_prev[ModuleCompute], give_next[ModuleLoad]};
		has_begun <= begun;
	end

	logic [2:0] legal, fits, insn_valid, insn_idle;
	logic [3 * 48 - 1:0] cost;
	logic [3 * 64 - 1:0] insn_end;

	assign token_push_cycle[64 * LoadToCompute +: 64] = insn_end[64 * ModuleLoad +: 64];
	assign token_push_cycle[64 * ComputeToLoad +: 64] = insn_end[64 * ModuleCompute +: 64];
	assign token_push_cycle[64 * ComputeToStore +: 64] = insn_end[64 * ModuleCompute +: 64];
	assign token_push_cycle[64 * StoreToCompute +: 64] = insn_end[64 * ModuleStore +: 64];

	for (genvar n = 0; n < 3; n++) begin : gen_module
		logic queue_valid, take;
		logic [159:0] queue_data;
		logic [LOG_WAITING:0] queue_count;
		logic [31:0] dst_last, src_last, wgt_last;
		logic prepare_idle;

		vta_fifo #(.WIDTH(160), .LOG_DEPTH(LOG_WAITING)) queue (
			.clk, .clear(halt | begin_run), .push(queue_push[n]),
			.push_data(fetched_insn), .valid(queue_valid), .data(queue_data),
			.pop(queue_pop[n]), .count(queue_count)
		);
		vta_prepare #(
			.LOG_INP_BYTES(LogInpBytes), .LOG_WGT_BYTES(LogWgtBytes),
			.LOG_ACC_BYTES(LogAccBytes), .LOG_UOP_DEPTH(LogUopDepth),
			.LOG_INP_DEPTH(LogInpDepth), .LOG_WGT_DEPTH(LogWgtDepth),
			.LOG_ACC_DEPTH(LogAccDepth)
		) prepare (
			.clk, .clear(halt | begin_run), .queue_valid, .queue_data,
			.queue_pop(queue_pop[n]), .idle(prepare_idle), .valid(insn_valid[n]), .take,
			.insn(insn[128 * n +: 128]), .index(index[32 * n +: 32]), .legal(legal[n]),
			.nothing(nothing[n]), .fits(fits[n]), .cost(cost[48 * n +: 48]),
			.elements(elements[34 * n +: 34]), .dst_most(dst_last), .src_most(src_last),
			.wgt_most(wgt_last)
		);
		assign insn_idle[n] = prepare_idle & ~|queue_count;
		if (n == ModuleCompute) begin : gen_most
			assign dst_most = dst_last;
			assign src_most = src_last;
			assign wgt_most = wgt_last;
		end else begin : gen_no_most
			wire unused = &{1'b0, dst_last, src_last, wgt_last};
		end

		vta_sequence sequence_of (
			.clk, .halt(quiet), .begin_run, .cycle_limit, .insn_idle(insn_idle[n]),
			.insn_valid(insn_valid[n]), .insn_legal(legal[n]),
			.insn_nothing(nothing[n]), .insn_fits(fits[n]), .insn_loop(insn_loop[n]),
			.insn_index(index[32 * n +: 32]), .insn_cost(cost[48 * n +: 48]),
			.pop_prev(insn[128 * n + vta_isa_pkg::BIT_POP_PREV] & has_prev[n]),
			.pop_next(insn[128 * n + vta_isa_pkg::BIT_POP_NEXT] & has_next[n]),
			.push_prev(insn[128 * n + vta_isa_pkg::BIT_PUSH_PREV] & has_prev[n]),
			.push_next(insn[128 * n + vta_isa_pkg::BIT_PUSH_NEXT] & has_next[n]),
			.insn_take(take), .prev_valid(prev_valid[n]), .next_valid(next_valid[n]),
			.prev_empty(prev_none[n]), .next_empty(next_none[n]),
			.prev_room(prev_room[n]), .next_room(next_room[n]),
			.prev_cycle(prev_cycle[64 * n +: 64]),
			.next_cycle(next_cycle[64 * n +: 64]), .take_prev(pop_prev[n]),
			.take_next(pop_next[n]), .give_prev(give_prev[n]), .give_next(give_next[n]),
			.check(check[n]), .check_done(scan_done), .check_outside(scan_outside),
			.start(start[n]), .done(unit_done[n]), .begun(begun[n]), .stuck(stuck[n]),
			.empty(empty[n]), .fault(check_fault[n]),
			.fault_reason(check_reason[4 * n +: 4]), .finished(finished[n]),
			.end_cycle(insn_end[64 * n +: 64]), .cycle(end_cycle[64 * n +: 64]),
			.busy_cycles(busy_cycles[64 * n +: 64])
		);
	end

	// ---- Fields of the three instructions in hand
	logic [2:0] load_memory, fill_memory, unit_memory, alu_opcode;
	logic [15:0] load_sram, load_y, load_x, load_stride, fill_sram, fill_y, fill_x, fill_stride;
	logic [15:0] store_sram, store_y, store_x, store_stride;
	logic [31:0] load_dram, fill_dram, store_dram;
	logic [3:0] load_pad_y0, load_pad_y1, load_pad_x0, load_pad_x1;
	logic [3:0] fill_pad_y0, fill_pad_y1, fill_pad_x0, fill_pad_x1;
	logic reset_acc, alu, use_imm;
	logic [15:0] uop_bgn, imm, dst_factor_out, dst_factor_in, src_factor_out, src_factor_in;
	logic [15:0] wgt_factor_out, wgt_factor_in;
	logic [16:0] uop_end;
	logic [13:0] iter_out, iter_in;

	assign insn_loop[ModuleLoad] = 1'b0;
	assign insn_loop[ModuleStore] = 1'b0;

	/* verilator lint_off PINCONNECTEMPTY */
	vta_decode #(
		.LOG_UOP_DEPTH(LogUopDepth), .LOG_INP_DEPTH(LogInpDepth),
		.LOG_WGT_DEPTH(LogWgtDepth), .LOG_ACC_DEPTH(LogAccDepth)
	) decode_load (
		.insn(insn[128 * ModuleLoad +: 128]), .opcode(), .pop_prev(), .pop_next(),
		.push_prev(), .push_next(), .move(), .loop(), .alu(), .legal(),
		.memory(load_memory), .sram_base(load_sram), .dram_base(load_dram),
		.y_size(load_y), .x_size(load_x), .x_stride(load_stride), .y_pad_0(load_pad_y0),
		.y_pad_1(load_pad_y1), .x_pad_0(load_pad_x0), .x_pad_1(load_pad_x1), .reset(),
		.uop_bgn(), .uop_end(), .iter_out(), .iter_in(), .dst_factor_out(),
		.dst_factor_in(), .src_factor_out(), .src_factor_in(), .wgt_factor_out(),
		.wgt_factor_in(), .alu_opcode(), .use_imm(), .imm()
	);
	vta_decode #(
		.LOG_UOP_DEPTH(LogUopDepth), .LOG_INP_DEPTH(LogInpDepth),
		.LOG_WGT_DEPTH(LogWgtDepth), .LOG_ACC_DEPTH(LogAccDepth)
	) decode_compute (
		.insn(insn[128 * ModuleCompute +: 128]), .opcode(), .pop_prev(), .pop_next(),
		.push_prev(), .push_next(), .move(), .loop(insn_loop[ModuleCompute]), .alu,
		.legal(), .memory(fill_memory), .sram_base(fill_sram), .dram_base(fill_dram),
		.y_size(fill_y), .x_size(fill_x), .x_stride(fill_stride), .y_pad_0(fill_pad_y0),
		.y_pad_1(fill_pad_y1), .x_pad_0(fill_pad_x0), .x_pad_1(fill_pad_x1),
		.reset(reset_acc), .uop_bgn, .uop_end, .iter_out, .iter_in, .dst_factor_out,
		.dst_factor_in, .src_factor_out, .src_factor_in, .wgt_factor_out, .wgt_factor_in,
		.alu_opcode, .use_imm, .imm
	);
	vta_decode #(
		.LOG_UOP_DEPTH(LogUopDepth), .LOG_INP_DEPTH(LogInpDepth),
		.LOG_WGT_DEPTH(LogWgtDepth), .LOG_ACC_DEPTH(LogAccDepth)
	) decode_store (
		.insn(insn[128 * ModuleStore +: 128]), .opcode(), .pop_prev(), .pop_next(),
		.push_prev(), .push_next(), .move(), .loop(), .alu(), .legal(), .memory(),
		.sram_base(store_sram), .dram_base(store_dram), .y_size(store_y),
		.x_size(store_x), .x_stride(store_stride), .y_pad_0(), .y_pad_1(), .x_pad_0(),
		.x_pad_1(), .reset(), .uop_bgn(), .uop_end(), .iter_out(), .iter_in(),
		.dst_factor_out(), .dst_factor_in(), .src_factor_out(), .src_factor_in(),
		.wgt_factor_out(), .wgt_factor_in(), .alu_opcode(), .use_imm(), .imm()
	);
	/* verilator lint_on PINCONNECTEMPTY */

	// ---- The load units: of the load module, and of the compute module; vta_state has them both
	// while no run is executed
	logic load_go, fill_go, unit_zero, load_start, fill_start;
	logic [16:0] unit_elements;
	logic [32:0] state_place;
	logic load_write, load_write_zero, fill_write, fill_write_zero;
	logic [2:0] load_write_memory, fill_write_memory;
	logic [23:0] load_write_word, fill_write_word;
	logic [9:0] load_write_part, fill_write_part;
	logic load_done, fill_done, loop_done, load_fault, fill_fault;
	logic [3:0] load_reason, fill_reason;
	logic [31:0] load_fault_address, fill_fault_address;

	// Units start in the clock after their instruction has passed its checks. What they get of it, or
	// of vta_state, is in registers, so vta_state's start comes a clock later.
	logic loop_start, store_start, load_begin, fill_begin, state_load, state_fill;
	always_ff @(posedge clk) begin
		load_start <= start[ModuleLoad] & ~halt;
		fill_start <= start[ModuleCompute] & ~insn_loop[ModuleCompute] & ~halt;
		loop_start <= start[ModuleCompute] & insn_loop[ModuleCompute] & ~halt;
		store_start <= start[ModuleStore] & ~halt;
		{state_load, state_fill} <= {load_go, fill_go};
		load_begin <= (start[ModuleLoad] | state_load) & ~halt;
		fill_begin <= ((start[ModuleCompute] & ~insn_loop[ModuleCompute]) | state_fill) & ~halt;
	end
	assign unit_done[ModuleLoad] = load_done;
	assign unit_done[ModuleCompute] = fill_done | loop_done;

	assign fill_access = fill_memory == vta_isa_pkg::MEMORY_UOP ? vta_isa_pkg::ACCESS_UOP :
		vta_isa_pkg::ACCESS_LOAD;

	// Memory, place in it and in the scratchpad, rows, columns, padding
	localparam int FieldBits = 3 + 33 + 16 + 16 + 17 + 16;
	logic of_state, zero;
	logic [FieldBits - 1:0] load_fields, fill_fields;
	logic [15:0] load_pads, fill_pads;
	wire [FieldBits - 1:0] state_fields = {unit_memory, state_place, 16'd0, 16'd1, unit_elements,
		16'd0};
	always_ff @(posedge clk) begin
		of_state <= state_active;
		zero <= state_active & unit_zero;
		load_fields <= state_active ? state_fields :
			{load_memory, 1'b0, load_dram, load_sram, load_y, 1'b0, load_x, load_stride};
		fill_fields <= state_active ? state_fields :
			{fill_memory, 1'b0, fill_dram, fill_sram, fill_y, 1'b0, fill_x, fill_stride};
		load_pads <= {load_pad_y0, load_pad_y1, load_pad_x0, load_pad_x1} & {16{~state_active}};
		fill_pads <= {fill_pad_y0, fill_pad_y1, fill_pad_x0, fill_pad_x1} & {16{~state_active}};
	end

	vta_load #(
		.LOG_UOP_WORD(LogUopWord), .LOG_INP_WORD(LogInpWord), .LOG_WGT_WORD(LogWgtWord),
		.LOG_ACC_WORD(LogAccWord), .LOG_INP_BYTES(LogInpBytes),
		.LOG_WGT_BYTES(LogWgtBytes), .LOG_ACC_BYTES(LogAccBytes)
	) load (
		.clk, .halt, .start(load_begin), .zero, .memory(load_fields[FieldBits - 3 +: 3]),
		.dram_base(load_fields[65 +: 33]), .sram_base(load_fields[49 +: 16]), .bytes(of_state),
		.y_size(load_fields[33 +: 16]), .x_size(load_fields[16 +: 17]),
		.x_stride(load_fields[15:0]), .y_pad_0(load_pads[15:12]),
		.y_pad_1(load_pads[11:8]), .x_pad_0(load_pads[7:4]), .x_pad_1(load_pads[3:0]),
		.done(load_done), .fault(load_fault),
		.fault_reason(load_reason), .fault_address(load_fault_address),
		.request(request[Load]), .request_ready(request_ready[Load]),
		.request_address(load_address), .request_length(load_length),
		.response(response[Load]), .response_ready(response_ready[Load]),
		.response_last(memory_response_last), .response_fault(memory_response_fault),
		.response_reason(memory_response_reason),
		.response_address(memory_response_address), .write(load_write),
		.write_memory(load_write_memory), .write_zero(load_write_zero),
		.write_word(load_write_word), .write_part(load_write_part)
	);
	vta_load #(
		.LOG_UOP_WORD(LogUopWord), .LOG_INP_WORD(LogInpWord), .LOG_WGT_WORD(LogWgtWord),
		.LOG_ACC_WORD(LogAccWord), .LOG_INP_BYTES(LogInpBytes),
		.LOG_WGT_BYTES(LogWgtBytes), .LOG_ACC_BYTES(LogAccBytes)
	) fill (
		.clk, .halt, .start(fill_begin), .zero, .memory(fill_fields[FieldBits - 3 +: 3]),
		.dram_base(fill_fields[65 +: 33]), .sram_base(fill_fields[49 +: 16]), .bytes(of_state),
		.y_size(fill_fields[33 +: 16]), .x_size(fill_fields[16 +: 17]),
		.x_stride(fill_fields[15:0]), .y_pad_0(fill_pads[15:12]),
		.y_pad_1(fill_pads[11:8]), .x_pad_0(fill_pads[7:4]), .x_pad_1(fill_pads[3:0]),
		.done(fill_done), .fault(fill_fault),
		.fault_reason(fill_reason), .fault_address(fill_fault_address),
		.request(request[Fill]), .request_ready(request_ready[Fill]),
		.request_address(fill_address), .request_length(fill_length),
		.response(response[Fill]), .response_ready(response_ready[Fill]),
		.response_last(memory_response_last), .response_fault(memory_response_fault),
		.response_reason(memory_response_reason),
		.response_address(memory_response_address), .write(fill_write),
		.write_memory(fill_write_memory), .write_zero(fill_write_zero),
		.write_word(fill_write_word), .write_part(fill_write_part)
	);

	// What they write is in registers, too.
	logic inp_write, wgt_write, uop_write, acc_write, acc_8bit, load_zero, fill_zero;
	logic [23:0] load_word, fill_word;
	logic [9:0] load_part, fill_part;
	logic [127:0] write_data;
	always_ff @(posedge clk) begin
		inp_write <= load_write & load_write_memory == vta_isa_pkg::MEMORY_INP;
		wgt_write <= load_write & load_write_memory == vta_isa_pkg::MEMORY_WGT;
		uop_write <= fill_write & fill_write_memory == vta_isa_pkg::MEMORY_UOP;
		acc_write <= fill_write & fill_write_memory != vta_isa_pkg::MEMORY_UOP;
		acc_8bit <= fill_write_memory == vta_isa_pkg::MEMORY_ACC_8BIT;
		{load_zero, load_word, load_part} <= {load_write_zero, load_write_word, load_write_part};
		{fill_zero, fill_word, fill_part} <= {fill_write_zero, fill_write_word, fill_write_part};
		write_data <= memory_response_data;
	end

	// ---- The scratchpads but for the accumulators
	logic loop_uop_read, scan_read, pad_read, inp_read, wgt_read;
	logic [15:0] loop_uop, scan_uop;
	logic [23:0] pad_word, inp_word, wgt_word;
	logic [(1 << LogUopWord) - 1:0] uop_data;
	logic [(1 << LogInpWord) - 1:0] inp_data;
	logic [(1 << LogWgtWord) - 1:0] wgt_data;

	vta_pad #(.LOG_WORD(LogUopWord), .LOG_WORDS(LogUopDepth)) uop_pad (
		.clk, .write(uop_write), .write_zero(fill_zero), .write_word(fill_word),
		.write_part(fill_part), .write_data,
		.read(pad_read | scan_read | loop_uop_read),
		.read_word(state_active ? pad_word : {8'd0, scan_read ? scan_uop : loop_uop}),
		.read_data(uop_data)
	);
	vta_pad #(.LOG_WORD(LogInpWord), .LOG_WORDS(LogInpWords)) inp_pad (
		.clk, .write(inp_write), .write_zero(load_zero), .write_word(load_word),
		.write_part(load_part), .write_data,
		.read(pad_read | inp_read), .read_word(state_active ? pad_word : inp_word),
		.read_data(inp_data)
	);
	vta_pad #(.LOG_WORD(LogWgtWord), .LOG_WORDS(LogWgtWords)) wgt_pad (
		.clk, .write(wgt_write), .write_zero(load_zero), .write_word(load_word),
		.write_part(load_part), .write_data,
		.read(pad_read | wgt_read), .read_word(state_active ? pad_word : wgt_word),
		.read_data(wgt_data)
	);
	// Bits above a micro-op's fields are not kept.
	localparam int UopBits = LogAccDepth + LogSrcDepth + LogWgtDepth;
	wire [31:0] uop_kept = uop_data & 32'((33'd1 << UopBits) - 33'd1);
	wire [15:0] uop_dst = 16'(vta_isa_pkg::field(64'(uop_data), 0, LogAccDepth));
	wire [15:0] uop_src = 16'(vta_isa_pkg::field(64'(uop_data), LogAccDepth, LogSrcDepth));
	wire [15:0] uop_wgt = 16'(vta_isa_pkg::field(64'(uop_data), LogAccDepth + LogSrcDepth,
		LogWgtDepth));

	// vta_scan has them a clock later.
	logic [15:0] scan_dst, scan_src, scan_wgt;
	always_ff @(posedge clk) {scan_dst, scan_src, scan_wgt} <= {uop_dst, uop_src, uop_wgt};

	// ---- The compute module
	logic uop_executed, acc_valid, save_acc_read, store_read;
	logic [23:0] store_word;
	logic [(InpBits << LOG_LANES) - 1:0] store_word_data;
	logic [(1 << LogAccWord) - 1:0] acc_data;

	vta_scan #(
		.LOG_UOP_DEPTH(LogUopDepth), .LOG_INP_DEPTH(LogInpDepth),
		.LOG_WGT_DEPTH(LogWgtDepth), .LOG_ACC_DEPTH(LogAccDepth)
	) scan (
		.clk, .halt, .forget(uop_write),
		.check(check[ModuleCompute]), .uop_bgn, .uop_end,
		.use_src(alu ? ~use_imm : ~reset_acc), .use_wgt(~alu & ~reset_acc),
		.src_is_acc(alu), .dst_most, .src_most, .wgt_most, .read(scan_read),
		.read_uop(scan_uop), .dst(scan_dst), .src(scan_src), .wgt(scan_wgt),
		.done(scan_done), .outside(scan_outside)
	);

	vta_compute #(
		.LOG_BATCH(LOG_BATCH), .LOG_BLOCK(LOG_BLOCK), .LOG_LANES(LOG_LANES),
		.INP_BITS(InpBits), .WGT_BITS(WgtBits), .LOG_ACC_DEPTH(LogAccDepth)
	) compute (
		.clk, .halt, .start(loop_start), .done(loop_done), .alu,
		.reset(reset_acc), .use_imm, .alu_opcode, .imm, .uop_bgn, .uop_end, .iter_out,
		.iter_in, .dst_factor_out, .dst_factor_in, .src_factor_out, .src_factor_in,
		.wgt_factor_out, .wgt_factor_in, .uop_executed, .uop_read(loop_uop_read),
		.uop_index(loop_uop), .uop_dst, .uop_src, .uop_wgt, .inp_read, .inp_word,
		.inp(inp_data), .wgt_read, .wgt_word, .wgt(wgt_data),
		.fill(acc_write), .fill_zero, .fill_8bit(acc_8bit), .fill_word, .fill_part,
		.fill_data(write_data), .store_read, .store_word,
		.store_data(store_word_data), .save_read(save_acc_read), .save_word(pad_word),
		.save_valid(acc_valid), .save_data(acc_data)
	);

	// ---- The store module
	logic store_fault;
	logic [3:0] store_reason;
	logic [31:0] store_fault_address;

	vta_store #(
		.LOG_LANES(LOG_LANES), .LOG_WIDTH(LOG_INP_WIDTH), .LOG_BYTES(LogInpBytes)
	) store (
		.clk, .halt, .start(store_start), .sram_base(store_sram),
		.dram_base(store_dram), .y_size(store_y), .x_size(store_x),
		.x_stride(store_stride), .elements(elements[34 * ModuleStore +: 24]),
		.done(unit_done[ModuleStore]), .fault(store_fault), .fault_reason(store_reason),
		.fault_address(store_fault_address), .read(store_read), .read_word(store_word),
		.read_data(store_word_data), .request(store_request),
		.request_ready(request_ready[Write]),
		.request_address(store_address), .request_length(store_length),
		.request_data(store_data), .response(response[Write] & ~state_active),
		.response_fault(memory_response_fault), .response_reason(memory_response_reason),
		.response_address(memory_response_address)
	);

	assign unit_fault = {store_fault, fill_fault, load_fault};
	assign unit_reason = {store_reason, fill_reason, load_reason};
	assign unit_access = {vta_isa_pkg::ACCESS_STORE, fill_access, vta_isa_pkg::ACCESS_LOAD};
	assign unit_address = {store_fault_address, fill_fault_address, load_fault_address};

	// ---- The state between runs
	vta_state #(
		.LOG_UOP_WORD(LogUopWord), .LOG_INP_WORD(LogInpWord), .LOG_WGT_WORD(LogWgtWord),
		.LOG_ACC_WORD(LogAccWord), .LOG_INP_BYTES(LogInpBytes),
		.LOG_WGT_BYTES(LogWgtBytes), .LOG_ACC_BYTES(LogAccBytes),
		.LOG_UOP_DEPTH(LogUopDepth), .LOG_INP_DEPTH(LogInpDepth),
		.LOG_WGT_DEPTH(LogWgtDepth), .LOG_ACC_DEPTH(LogAccDepth)
	) state (
		.clk, .reset, .halt, .clear, .save, .restore, .address, .active(state_active),
		.done(state_done), .fault(state_fault), .fault_reason(state_reason),
		.fault_address(state_fault_address), .load_start, .fill_start, .loop_start,
		.load_memory, .fill_memory,
		.load_end(17'(load_sram) + elements[34 * ModuleLoad +: 17]),
		.fill_end(17'(fill_sram) + elements[34 * ModuleCompute +: 17]),
		.tokens(token_counts), .tokens_restore, .tokens_restored, .unit_zero,
		.unit_memory, .unit_elements, .unit_address(state_place), .load_go, .fill_go,
		.unit_done(load_done | fill_done), .unit_fault(load_fault | fill_fault),
		.unit_reason(load_fault ? load_reason : fill_reason),
		.unit_fault_address(load_fault ? load_fault_address : fill_fault_address),
		.pad_read, .pad_word, .uop_data(uop_kept), .inp_data, .wgt_data, .acc_read(save_acc_read),
		.acc_valid, .acc_data, .header_request(request[Header]),
		.header_request_ready(request_ready[Header]), .header_address,
		.header_response(response[Header]), .header_last(memory_response_last),
		.response_fault(memory_response_fault), .response_reason(memory_response_reason),
		.response_address(memory_response_address), .response_data(memory_response_data),
		.write_request(save_request),
		.write_request_ready(request_ready[Write]),
		.write_address(save_address), .write_length(save_length),
		.write_data(save_data), .write_response(response[Write] & state_active)
	);

	// ---- Counters
	wire [63:0] cycle_load = end_cycle[64 * ModuleLoad +: 64];
	wire [63:0] cycle_compute = end_cycle[64 * ModuleCompute +: 64];
	wire [63:0] cycle_store = end_cycle[64 * ModuleStore +: 64];
	logic [63:0] cycle_most, cycle_other;
	logic [1:0] more_insns;			// ended in the clock before
	logic more_gemm, more_alu;		// a micro-op begun in it
	assign load_cycles = busy_cycles[64 * ModuleLoad +: 64];
	assign compute_cycles = busy_cycles[64 * ModuleCompute +: 64];
	assign store_cycles = busy_cycles[64 * ModuleStore +: 64];

	always_ff @(posedge clk) begin
		cycle_most <= cycle_load > cycle_compute ? cycle_load : cycle_compute;
		cycle_other <= cycle_store;
		cycles <= cycle_most > cycle_other ? cycle_most : cycle_other;
		more_insns <= 2'(finished[0]) + 2'(finished[1]) + 2'(finished[2]);
		more_gemm <= uop_executed & ~alu & ~reset_acc;
		more_alu <= uop_executed & alu;
		if (begin_run) begin
			insns <= '0;
			gemm_uops <= '0;
			alu_uops <= '0;
			clocks <= '0;
		end else begin
			insns <= insns + 64'(more_insns);
			if (more_gemm) gemm_uops <= gemm_uops + 64'd1;
			if (more_alu) alu_uops <= alu_uops + 64'd1;
			if (running) clocks <= clocks + 64'd1;
		end
	end
endmodule
