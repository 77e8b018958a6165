// SPDX-License-Identifier: Apache-2.0
// The card: docs/hardware.md without the PCI function around it, and without kept state.
//
// It has a port for accesses to its registers, channels to the bus and to card memory (vta_mmu), and
// one for interrupts. docs/rtl.md describes them.
module vta_card #(
	parameter int QUEUES = 16,
	parameter int CONTEXTS = 16,
	parameter int LOG_MEM = 26,		// bytes of card memory; 0: none
	parameter int DOORBELL_SHIFT = 16,
	parameter int LOG_PAGES = 5,		// entries of the TLB
	parameter int LOG_TABLES = 3,
	parameter int LOG_TAGS = 5,
	parameter int VECTORS = 257,
	// The core (vta_core)
	parameter int LOG_INP_WIDTH = 3,
	parameter int LOG_WGT_WIDTH = 3,
	parameter int LOG_ACC_WIDTH = 5,
	parameter int LOG_BATCH = 0,
	parameter int LOG_BLOCK = 4,
	parameter int LOG_UOP_BUFF_SIZE = 15,
	parameter int LOG_INP_BUFF_SIZE = 15,
	parameter int LOG_WGT_BUFF_SIZE = 18,
	parameter int LOG_ACC_BUFF_SIZE = 17,
	parameter int LOG_LANES = 4,
	parameter int LOG_TOKENS = 8,
	parameter int LOG_WAITING = 8
) (
	input logic clk,
	input logic power_on,			// reset of all
	input logic function_reset,
	input logic [63:0] now,			// TIME
	input logic [31:0] heartbeat, clock_khz, hardware_version,
	input logic [63:0] serial,
	input logic short_lines,
	// Accesses to registers (vta_registers)
	input logic access, access_write, access_doorbell, access_bad, access_first, access_second,
	input logic access_peek,
	input logic [27:0] access_offset,
	input logic [31:0] access_data,
	output logic access_done,
	output logic [31:0] access_value,
	// The bus and card memory (vta_mmu)
	input logic bus_on,
	output logic bus_request,
	input logic bus_request_ready,
	output logic bus_request_write,
	output logic [63:0] bus_request_address,
	output logic [8:0] bus_request_length,
	output logic [LOG_TAGS:0] bus_request_tag,
	output logic bus_request_last,
	output logic [127:0] bus_request_data,
	input logic bus_response,
	input logic bus_response_last,		// of the read
	input logic [LOG_TAGS:0] bus_response_tag,
	input logic bus_response_fault,
	input logic [127:0] bus_response_data,
	output logic mem_request,
	input logic mem_request_ready,
	output logic mem_request_write,
	output logic [63:0] mem_request_address,
	output logic [8:0] mem_request_length,
	output logic [LOG_TAGS - 1:0] mem_request_tag,
	output logic mem_request_last,
	output logic [127:0] mem_request_data,
	input logic mem_response,
	output logic mem_response_ready,
	input logic mem_response_last,
	input logic [LOG_TAGS - 1:0] mem_response_tag,
	input logic [127:0] mem_response_data,
	// Interrupts
	output logic message,
	input logic message_ready,
	output logic [8:0] message_vector,
	input logic message_refused,		// the function has not been given this vector
	// Nothing happens until something comes from outside
	output logic ready,
	output logic quiet
);
	localparam int LogQueues = $clog2(QUEUES > 1 ? QUEUES : 2);
	localparam int LogContexts = $clog2(CONTEXTS > 1 ? CONTEXTS : 2);
	localparam int Counters = 31;
	localparam int Core = 0;
	localparam int CopyRead = 1;
	localparam int CopyWrite = 2;
	localparam int Front = 3;
	localparam int Clients = 4;

	// ---- Reset
	logic reset, reset_mmu, reset_request, queues_clearing, registers_clearing;
	logic asks_bus, asks_mem, bus_taken, mem_taken;
	logic [1:0] arbiter_ready;
	wire mem_answered = mem_response & mem_response_ready & mem_response_last;
	wire bus_answered = bus_response & (bus_response_last | bus_response_fault);
	vta_reset resets (
		.clk, .power_on, .function_reset, .reset_request, .bus_on, .reset, .reset_mmu,
		.cleared(~queues_clearing & ~registers_clearing & &arbiter_ready), .ready,
		.asks({asks_mem, asks_bus}), .request({mem_request, bus_request}),
		.request_ready({mem_request_ready, bus_request_ready}),
		.request_write({mem_request_write, bus_request_write}),
		.request_last({mem_request_last, bus_request_last}), .taken({mem_taken, bus_taken}),
		.answered({mem_answered, bus_answered})
	);
	logic function_reset_kept;
	always_ff @(posedge clk) begin
		if (power_on) function_reset_kept <= 1'b1;
		else if (function_reset) function_reset_kept <= 1'b1;
		else if (ready) function_reset_kept <= 1'b0;
	end

	// ---- Signals between the parts
	logic queue_access, queue_write, queue_peek, queue_doorbell, queue_done, queue_bad;
	logic [LogQueues - 1:0] queue_index, served;
	logic [4:0] queue_word, setting_word;
	logic [31:0] queue_data, queue_value, setting, arm_vector;
	logic count_doorbell, count_arm, arm_message, change_ready, change_message;
	logic [CONTEXTS - 1:0] context_enabled;
	logic [QUEUES - 1:0] wants;
	logic [3:0] change;
	logic [1:0] change_unit, unit, engine_dropped;
	logic [63:0] seq;
	logic unwritten, faulting, overflow, stopping, live, idle, in_ready, held, check, waiting;
	logic dropped, offered, any_busy, enable, completing;
	wire serving = enable & ready;

	logic weight, weight_done, renewed, root_write, root_enable, invalidate, invalidate_all;
	logic invalidating, halted, completed, event_message, counters_clear;
	logic [LogContexts - 1:0] weight_group, arbiter_group;
	logic [7:0] weight_value, root_context, invalidate_context;
	logic [63:14] root_address;
	logic [31:0] event_vector, front_vector;
	logic count_read, count_write, count_bad;
	logic [4:0] counter_index;
	logic [63:0] counter_value;

	logic [1:0] arbiter_request, arbiter_chosen, arbiter_none, arbiter_any;
	logic [2:0] arbiter_kind;
	logic [LogQueues - 1:0] arbiter_queue;
	logic [63:0] arbiter_value;
	logic [15:0] arbiter_result, arbiter_look;

	logic [1:0] engine_start, engine_close, engine_busy, engine_ended, engine_done, engine_stop;
	logic [1:0] engine_late;
	logic [61:0] engine_moves;
	logic [2 * LogQueues - 1:0] engine_queue;
	logic [127:0] engine_number, engine_since, engine_began, engine_cycles;
	logic [7:0] engine_reason, engine_access;
	logic [63:0] engine_address, engine_index;
	logic [255:0] engine_insn;
	logic [511:0] descriptor;
	logic [7:0] context_of;
	logic [63:0] cycle_limit, time_limit;

	// ---- Registers and queues
	vta_registers #(
		.QUEUES(QUEUES), .CONTEXTS(CONTEXTS), .LOG_MEM(LOG_MEM),
		.DOORBELL_SHIFT(DOORBELL_SHIFT), .COUNTERS(Counters),
		.CONFIG0({12'd0, 4'(LOG_BLOCK), 4'(LOG_BATCH), 4'(LOG_ACC_WIDTH), 4'(LOG_WGT_WIDTH),
			4'(LOG_INP_WIDTH)}),
		.CONFIG1({8'(LOG_ACC_BUFF_SIZE), 8'(LOG_WGT_BUFF_SIZE), 8'(LOG_INP_BUFF_SIZE),
			8'(LOG_UOP_BUFF_SIZE)}),
		// 0 is a depth of 2^16.
		.CONFIG2({16'd0, 8'(LOG_WAITING & 15), 8'(LOG_TOKENS & 15)})
	) registers (
		.clk, .reset, .power_on, .now, .heartbeat, .clock_khz, .hardware_version, .serial,
		.access, .access_write, .access_doorbell, .access_bad, .access_first,
		.access_second, .access_peek, .access_offset, .access_data, .access_done, .access_value,
		.count_read, .count_write, .count_bad, .queue_access, .queue_write,
		.queue_peek, .queue_doorbell, .queue_index, .queue_word, .queue_data, .queue_done, .queue_value,
		.queue_bad, .context_enabled, .root_write, .root_context, .root_enable,
		.root_address, .renewed, .invalidate, .invalidate_all, .invalidate_context,
		.invalidating, .weight, .weight_done, .weight_group, .weight_value, .engine_moves,
		.engine_queue, .engine_number, .engine_since, .enable, .reset_request, .ready,
		.busy(any_busy), .halted, .event_message, .event_vector, .counters_clear,
		.counter_index, .counter_value, .clearing(registers_clearing)
	);

	logic [1:0] look_priority;
	vta_queues #(.QUEUES(QUEUES), .CONTEXTS(CONTEXTS)) queues (
		.clk, .reset, .clearing(queues_clearing), .access(queue_access),
		.access_write(queue_write), .access_peek(queue_peek), .access_doorbell(queue_doorbell),
		.access_queue(queue_index), .access_word(queue_word), .access_data(queue_data),
		.access_done(queue_done), .access_value(queue_value), .access_bad(queue_bad),
		.count_doorbell, .count_arm, .arm_interrupt(arm_message), .arm_vector,
		.context_enabled, .serving, .fatal(1'b0), .wants, .front_queue(served),
		.front_completing(completing), .change,
		.change_ready, .change_unit, .change_interrupt(change_message),
		.front_word(setting_word), .front_setting(setting), .front_seq(seq),
		.front_unwritten(unwritten), .front_faulting(faulting), .front_overflow(overflow),
		.front_stopping(stopping), .front_live(live), .front_idle(idle),
		.front_ready(in_ready), .front_held(held), .front_check(check),
		.front_waiting(waiting), .front_dropped(dropped), .front_offered(offered),
		.front_unit(unit), .engine_queue, .engine_dropped,
		.look_queue(LogQueues'(arbiter_at ? arbiter_look[15:8] : arbiter_look[7:0])),
		.look_priority, .any_busy
	);
	// One arbiter chooses at a time.
	logic arbiter_at;
	logic [1:0] priority_read;
	always_ff @(posedge clk) begin
		if (|arbiter_request) arbiter_at <= arbiter_request[1];
		priority_read <= look_priority;
	end

	for (genvar e = 0; e < 2; e++) begin : gen_engine
		vta_arbiter #(.QUEUES(QUEUES), .GROUPS(CONTEXTS)) arbiter (
			.clk, .reset, .request(arbiter_request[e]), .request_ready(arbiter_ready[e]),
			.request_kind(arbiter_kind), .request_queue(arbiter_queue),
			.request_group(arbiter_group), .request_value(arbiter_value),
			.chosen(arbiter_chosen[e]), .chosen_none(arbiter_none[e]),
			.chosen_queue(arbiter_result[e * 8 +: 8]),
			.look_queue(arbiter_look[e * 8 +: 8]), .look_priority(priority_read),
			.any(arbiter_any[e])
		);
		vta_engine #(.LOG_QUEUES(LogQueues)) engine (
			.clk, .reset, .now, .on(bus_on), .start(engine_start[e]),
			.start_queue(served), .start_number(seq + 64'd1), .start_limit(time_limit),
			.close(engine_close[e]), .dropped(engine_dropped[e]), .done(engine_done[e]),
			.stop(engine_stop[e]), .timed_out(engine_late[e]), .busy(engine_busy[e]),
			.ended(engine_ended[e]), .moves(engine_moves[e * 31 +: 31]),
			.at_queue(engine_queue[e * LogQueues +: LogQueues]),
			.number(engine_number[e * 64 +: 64]), .since(engine_since[e * 64 +: 64]),
			.began(engine_began[e * 64 +: 64])
		);
	end

	// ---- The front end
	logic front_request, front_request_ready, front_write, front_begin, front_direct;
	logic front_acknowledge;
	logic front_response;
	logic [7:0] front_context;
	logic [63:0] front_address;
	logic [8:0] front_length;
	logic [127:0] front_data;
	logic front_message, working;
	logic [Clients - 1:0] client_request, client_ready, client_acknowledge, client_response;
	logic response_last, response_fault;
	logic [3:0] response_reason;
	logic [31:0] response_address;
	logic [127:0] response_data;

	vta_front #(.QUEUES(QUEUES), .GROUPS(CONTEXTS)) front (
		.clk, .reset, .now, .serving, .fatal(1'b0), .wants, .served, .change, .change_ready,
		.change_unit, .change_interrupt(change_message), .setting_word, .setting, .seq, .unwritten,
		.faulting, .overflow, .stopping, .live, .idle, .ready(in_ready), .held, .check,
		.waiting, .dropped, .offered, .unit, .arbiter_request, .arbiter_ready,
		.arbiter_kind, .arbiter_queue, .arbiter_group, .arbiter_value, .arbiter_chosen,
		.arbiter_chosen_none(arbiter_none), .arbiter_chosen_queue(arbiter_result),
		.arbiter_any, .engine_start, .descriptor, .context_of, .cycle_limit, .time_limit,
		.engine_busy, .engine_ended, .engine_queue, .engine_begin(engine_began),
		.engine_reason, .engine_access, .engine_address, .engine_index, .engine_insn,
		.engine_cycles, .engine_close, .weight, .weight_done, .weight_group,
		.weight_value, .request(front_request), .request_ready(front_request_ready),
		.request_write(front_write), .request_begin(front_begin),
		.request_direct(front_direct),
		.request_context(front_context), .request_address(front_address),
		.request_length(front_length), .request_data(front_data),
		.acknowledge(front_acknowledge), .response(front_response), .response_last,
		.response_fault, .response_reason, .response_address, .response_data,
		.message(front_message), .message_vector(front_vector), .completing, .halted, .completed, .working
	);

	// ---- The copy engine
	logic copy_done, copy_fault, copy_source, unused_copy_busy;
	logic [3:0] copy_reason;
	logic [31:0] copy_address, copy_rows;
	logic copy_read, copy_read_begin, copy_write, copy_write_begin;
	logic [31:0] copy_read_address, copy_write_address;
	logic [8:0] copy_read_length, copy_write_length;
	logic [127:0] copy_data;
	logic [7:0] copy_context, run_context;
	logic [28:0] copy_row;
	vta_copy copy (
		.clk, .reset, .start(engine_start[1]),
		.fill(descriptor[7:0] == vta_card_pkg::OP_FILL), .dst(descriptor[159:128]),
		.src(descriptor[191:160]), .width(descriptor[223:192]), .rows(descriptor[255:224]),
		.dst_pitch(descriptor[287:256]),
		.src_pitch(descriptor[7:0] == vta_card_pkg::OP_FILL ? 32'd0 : descriptor[319:288]),
		.stop(engine_stop[1]), .busy(unused_copy_busy), .done(copy_done), .fault(copy_fault),
		.fault_source(copy_source), .fault_reason(copy_reason),
		.fault_address(copy_address), .finished_rows(copy_rows), .read(copy_read),
		.read_ready(client_ready[CopyRead]), .read_begin(copy_read_begin),
		.read_address(copy_read_address), .read_length(copy_read_length),
		.read_response(client_response[CopyRead]), .read_last(response_last),
		.read_fault(response_fault), .read_reason(response_reason),
		.read_fault_address(response_address), .read_data(response_data),
		.write(copy_write), .write_ready(client_ready[CopyWrite]),
		.write_begin(copy_write_begin), .write_address(copy_write_address),
		.write_length(copy_write_length), .write_data(copy_data),
		.acknowledge(client_acknowledge[CopyWrite]),
		.write_fault(client_response[CopyWrite]), .write_reason(response_reason),
		.write_fault_address(response_address)
	);
	// Cycles by definition: 16, and for each finished row 1 and one for each 16 bytes.
	logic copy_ended, copy_failed, copy_from_source;
	logic [3:0] copy_kept_reason;
	logic [31:0] copy_kept_address;
	logic [63:0] copy_product, copy_cycles;
	logic [1:0] copy_late;
	always_ff @(posedge clk) begin
		if (engine_start[1]) begin
			copy_context <= context_of;
			copy_row <= 29'd1 + 29'(descriptor[223:196]) + 29'(|descriptor[195:192]);
		end
		if (copy_done) begin
			copy_failed <= copy_fault;
			copy_from_source <= copy_source;
			copy_kept_reason <= copy_reason;
			copy_kept_address <= copy_address;
		end
		copy_late <= reset ? '0 : {copy_late[0], copy_done};
		copy_product <= 64'(copy_row) * 64'(copy_rows);
		copy_cycles <= copy_product + 64'(vta_card_pkg::COPY_LATENCY);
		copy_ended <= copy_late[1] & ~reset;
	end
	assign engine_done[1] = copy_ended;
	assign engine_reason[7:4] = engine_late[1] ? vta_card_pkg::FAULT_TIME :
		copy_failed ? copy_kept_reason : vta_isa_pkg::FAULT_NONE;
	assign engine_access[7:4] = engine_late[1] | ~copy_failed ? vta_isa_pkg::ACCESS_NONE :
		copy_from_source ? vta_card_pkg::ACCESS_COPY_SRC : vta_card_pkg::ACCESS_COPY_DST;
	assign engine_address[63:32] = engine_late[1] | ~copy_failed ? '0 : copy_kept_address;
	assign engine_index[63:32] = '1;
	assign engine_insn[255:128] = '0;

	// ---- The compute engine
	logic command, command_ready, core_stop, core_done, unused_core_stopped, core_faulted, switched;
	logic [1:0] command_kind;
	logic [31:0] command_address, command_count, core_address, core_index;
	logic [63:0] command_limit, core_cycles, core_insns, core_gemm, core_alu;
	logic [3:0] core_reason, core_access;
	logic [127:0] core_insn;
	logic core_request, core_write, core_response_ready;
	logic [31:0] core_request_address;
	logic [8:0] core_length;
	logic [127:0] core_data;
	wire core_answer = client_response[Core] | client_acknowledge[Core];
	vta_run run (
		.clk, .reset, .start(engine_start[0]), .start_address(descriptor[159:128]),
		.start_count(descriptor[191:160]), .start_limit(descriptor[255:192]),
		.queue_limit(cycle_limit), .start_context(context_of), .stop(engine_stop[0]),
		.done(engine_done[0]), .switched, .renew(renewed), .renew_context(root_context),
		.command, .command_kind, .command_address, .command_count, .command_limit,
		.command_ready, .core_stop, .core_done
	);
	logic [3:0] unused_memory_access;
	logic [63:0] unused_load, unused_compute, unused_store, unused_clocks;
	vta_core #(
		.LOG_INP_WIDTH(LOG_INP_WIDTH), .LOG_WGT_WIDTH(LOG_WGT_WIDTH),
		.LOG_ACC_WIDTH(LOG_ACC_WIDTH), .LOG_BATCH(LOG_BATCH), .LOG_BLOCK(LOG_BLOCK),
		.LOG_UOP_BUFF_SIZE(LOG_UOP_BUFF_SIZE), .LOG_INP_BUFF_SIZE(LOG_INP_BUFF_SIZE),
		.LOG_WGT_BUFF_SIZE(LOG_WGT_BUFF_SIZE), .LOG_ACC_BUFF_SIZE(LOG_ACC_BUFF_SIZE),
		.LOG_LANES(LOG_LANES), .LOG_TOKENS(LOG_TOKENS), .LOG_WAITING(LOG_WAITING)
	) core (
		.clk, .reset, .command, .command_kind, .command_address, .command_count,
		.command_limit, .command_keep(1'b0), .command_ready, .stop(core_stop),
		.done(core_done), .stopped(unused_core_stopped), .faulted(core_faulted),
		.fault_reason(core_reason), .fault_access(core_access),
		.fault_address(core_address), .fault_index(core_index), .fault_insn(core_insn),
		.cycles(core_cycles), .load_cycles(unused_load), .compute_cycles(unused_compute),
		.store_cycles(unused_store), .insns(core_insns), .gemm_uops(core_gemm),
		.alu_uops(core_alu), .clocks(unused_clocks), .memory_request(core_request),
		.memory_request_ready(client_ready[Core]), .memory_request_write(core_write),
		.memory_request_address(core_request_address),
		.memory_request_length(core_length), .memory_request_access(unused_memory_access),
		.memory_request_data(core_data), .memory_response(core_answer),
		.memory_response_ready(core_response_ready),
		.memory_response_last(client_acknowledge[Core] | response_last),
		.memory_response_fault(~client_acknowledge[Core] & response_fault),
		.memory_response_reason(response_reason),
		.memory_response_address(response_address), .memory_response_data(response_data)
	);
	logic run_failed;
	always_ff @(posedge clk) begin
		if (engine_start[0]) run_context <= context_of;
		if (engine_done[0]) run_failed <= core_faulted;
	end
	assign engine_reason[3:0] = engine_late[0] ? vta_card_pkg::FAULT_TIME :
		run_failed ? core_reason : vta_isa_pkg::FAULT_NONE;
	assign engine_access[3:0] = engine_late[0] | ~run_failed ? vta_isa_pkg::ACCESS_NONE :
		core_access;
	assign engine_address[31:0] = engine_late[0] | ~run_failed ? '0 : core_address;
	assign engine_index[31:0] = engine_late[0] | ~run_failed ? '1 : core_index;
	assign engine_insn[127:0] = engine_late[0] | ~run_failed ? '0 : core_insn;
	assign engine_cycles = {copy_cycles, core_cycles};

	// ---- Memory
	logic count_walk, count_hit, mmu_idle;
	assign client_request = {front_request, copy_write, copy_read, core_request};
	assign front_request_ready = client_ready[Front];
	assign front_acknowledge = client_acknowledge[Front];
	assign front_response = client_response[Front];
	vta_mmu #(
		.CLIENTS(Clients), .LOG_CLIENTS(2), .LOG_PAGES(LOG_PAGES), .LOG_TABLES(LOG_TABLES),
		.LOG_CONTEXTS(LogContexts), .LOG_MEM(LOG_MEM), .LOG_TAGS(LOG_TAGS)
	) mmu (
		.clk, .reset(reset_mmu | power_on), .short_lines, .request(client_request),
		.request_ready(client_ready),
		.request_write({front_write, 1'b1, 1'b0, core_write}),
		.request_begin({front_begin, copy_write_begin, copy_read_begin, 1'b0}),
		.request_direct({front_direct, 3'b000}),
		.request_context({front_context, copy_context, copy_context, run_context}),
		.request_address({front_address, 32'd0, copy_write_address, 32'd0,
			copy_read_address, 32'd0, core_request_address}),
		.request_length({front_length, copy_write_length, copy_read_length, core_length}),
		.request_data({front_data, copy_data, 128'd0, core_data}),
		.acknowledge(client_acknowledge),
		.acknowledge_ready({3'b111, core_response_ready}), .response(client_response),
		.response_ready({3'b111, core_response_ready}), .response_last, .response_fault,
		.response_reason, .response_address, .response_data, .bus_on(bus_on & ready),
		.bus_request(asks_bus), .bus_request_ready, .bus_request_write, .bus_request_address,
		.bus_request_length, .bus_request_tag, .bus_request_last, .bus_request_data,
		.bus_response, .bus_response_tag, .bus_response_fault, .bus_response_data,
		.mem_request(asks_mem), .mem_request_ready, .mem_request_write, .mem_request_address,
		.mem_request_length, .mem_request_tag, .mem_request_last, .mem_request_data,
		.mem_response, .mem_response_ready, .mem_response_tag, .mem_response_data,
		.root_write, .root_context(LogContexts'(root_context)), .root_enable, .root_address,
		.invalidate, .invalidate_all, .invalidate_context, .invalidating, .idle(mmu_idle), .count_walk,
		.count_hit
	);

	// ---- Interrupts
	logic message_waiting;
	vta_interrupts #(.VECTORS(VECTORS)) interrupts (
		.clk, .reset, .on(bus_on & ready), .due({event_message, arm_message, front_message}),
		.due_vector({event_vector, arm_vector, front_vector}), .message, .message_ready,
		.message_vector, .waiting(message_waiting)
	);

	// ---- Counters, by number
	logic [Counters * 64 - 1:0] add;
	wire [7:0] operation = descriptor[7:0];
	wire bus_read = bus_taken & ~bus_request_write;
	wire bus_written = bus_taken & bus_request_write & bus_request_last;
	wire mem_read = mem_taken & ~mem_request_write;
	wire mem_written = mem_taken & mem_request_write & mem_request_last;
	wire is_copy = operation == vta_card_pkg::OP_COPY;
	wire is_fill = operation == vta_card_pkg::OP_FILL;
	wire unused = &{1'b0, descriptor[511:320], descriptor[127:8]};
	logic [63:0] copy_bytes;
	always_ff @(posedge clk) copy_bytes <= 64'(descriptor[223:192]) * 64'(descriptor[255:224]);
	always_comb begin
		add = '0;
		add[0 * 64] = count_read;
		add[1 * 64] = count_write;
		add[2 * 64] = count_bad;
		add[3 * 64] = count_doorbell;
		add[4 * 64] = count_arm;
		add[5 * 64] = message & message_ready & ~message_refused;
		if (bus_read) add[6 * 64 +: 9] = bus_request_length;
		if (bus_written) add[7 * 64 +: 9] = bus_request_length;
		if (mem_read) add[8 * 64 +: 9] = mem_request_length;
		if (mem_written) add[9 * 64 +: 9] = mem_request_length;
		add[10 * 64] = count_walk;
		add[11 * 64] = count_hit;
		add[12 * 64] = invalidate;
		add[13 * 64] = completed;
		add[14 * 64] = completed & operation == vta_card_pkg::OP_RUN;
		add[15 * 64] = completed & is_copy;
		add[16 * 64] = completed & is_fill;
		if (completed & (is_copy | is_fill)) add[17 * 64 +: 64] = copy_bytes;
		if (engine_done[0]) begin
			add[18 * 64 +: 64] = core_insns;
			add[19 * 64 +: 64] = core_cycles;
			add[21 * 64 +: 64] = core_gemm;
			add[22 * 64 +: 64] = core_alu;
		end
		if (engine_done[1]) add[20 * 64 +: 64] = copy_cycles;
		add[23 * 64] = switched;
		add[24 * 64] = halted;
		add[25 * 64] = reset_request & ready;
		add[29 * 64] = engine_busy[0] & ~engine_ended[0];
		add[30 * 64] = engine_busy[1] & ~engine_ended[1];
	end
	vta_counters #(.COUNTERS(Counters)) counters (
		.clk, .reset(power_on | (reset_mmu & function_reset_kept)), .clear(counters_clear), .add,
		.index(counter_index), .value(counter_value)
	);

	assign quiet = ready & mmu_idle & ~working & &arbiter_ready & ~|(arbiter_any & {2{serving}}) &
		~|wants & ~|engine_busy & ~invalidating & ~message_waiting & ~access;
endmodule
