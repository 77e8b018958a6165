// SPDX-License-Identifier: GPL-2.0-only
// A module's sequencer: an instruction that faults INSN, BOUNDS or CYCLES is not started and pushes
// no token, and none is started while the core is halted. Each instruction that begins is checked,
// started at most once, and ends at most once. A token is popped only if it is there, and pushed
// only into room.
module sequence_of (
	input logic clk,
	input logic begin_run, insn_legal, insn_nothing, insn_fits, insn_loop, limited,
	input logic [31:0] insn_index,
	input logic [47:0] insn_cost,
	input logic [63:0] limit,
	input logic pop_prev, pop_next, push_prev, push_next,
	input logic prev_valid, next_valid, prev_room, next_room,
	input logic [63:0] prev_cycle, next_cycle,
	input logic check_done, check_outside, done, more
);
	logic insn_take, take_prev, take_next, give_prev, give_next, check, start, begun, stuck, empty;
	logic fault, finished;
	logic [3:0] fault_reason;
	logic [63:0] end_cycle, cycle, busy_cycles;
	logic started = 1'b0;
	logic halt = 1'b0;
	logic insn_valid = 1'b0;

	// ---- The instruction stays until it is taken; a fault halts the core in the next clock
	always_ff @(posedge clk) begin
		started <= 1'b1;
		halt <= fault & started;
		if (insn_take | halt | ~started) insn_valid <= 1'b0;
		else if (more) insn_valid <= 1'b1;
	end
	logic held = 1'b0;
	logic [7:0] kind;
	wire [7:0] kind_now = {insn_legal, insn_nothing, insn_fits, insn_loop, pop_prev, pop_next,
		push_prev, push_next};
	always_ff @(posedge clk) begin
		held <= insn_valid & ~insn_take & ~halt;
		kind <= kind_now;
	end
	always_comb begin
		if (~started) assume (begin_run);
		if (started) assume (~begin_run);
		if (held) assume (kind == kind_now);
	end

	vta_sequence dut (
		.clk, .halt, .begin_run, .cycle_limit(limited ? limit : 64'd0),
		.insn_idle(~insn_valid), .insn_valid, .insn_legal, .insn_nothing, .insn_fits,
		.insn_loop, .insn_index, .insn_cost, .pop_prev, .pop_next, .push_prev, .push_next,
		.insn_take, .prev_valid, .next_valid, .prev_empty(~prev_valid),
		.next_empty(~next_valid), .prev_room, .next_room, .prev_cycle, .next_cycle,
		.take_prev, .take_next, .give_prev, .give_next, .check, .check_done,
		.check_outside, .start, .done, .begun, .stuck, .empty, .fault, .fault_reason,
		.finished, .end_cycle, .cycle, .busy_cycles
	);

	// ---- A token that is there, and room, stay until they are used
	logic [3:0] there = '0;
	always_ff @(posedge clk) there <= {prev_valid & ~take_prev, next_valid & ~take_next,
		prev_room & ~give_prev, next_room & ~give_next};
	always_comb assume (~|(there & ~{prev_valid, next_valid, prev_room, next_room}));

	// ---- What has happened to the instruction in hand
	logic has_begun = 1'b0;
	logic has_started = 1'b0;
	always_ff @(posedge clk) begin
		has_begun <= started & (has_begun | begun) & ~insn_take & ~halt;
		has_started <= started & (has_started | start) & ~insn_take & ~halt;
	end

	(* hierconn *) wire [2:0] \dut.state ;
	localparam logic [2:0] Wait = 3'd0;
	(* hierconn *) wire \dut.may_go ;
	(* hierconn *) wire \dut.loop ;
	(* hierconn *) wire \dut.fits ;
	(* hierconn *) wire \dut.nothing ;
	localparam logic [2:0] Start = 3'd1;
	localparam logic [2:0] Run = 3'd4;
	localparam logic [2:0] Nothing = 3'd5;
	always_ff @(posedge clk) begin
		if (started) begin
			// The sequencer's own account of the same
			assert (has_begun == (\dut.state != Wait) & has_started == (\dut.state == Run));
			if (has_begun) assert (insn_valid & insn_legal & \dut.state <= Nothing);
			if (\dut.state == Nothing) assert (insn_nothing);
			if (\dut.may_go ) assert (insn_valid & insn_legal & ~has_begun);
			if (has_begun & \dut.state != Start)
				assert (\dut.loop == (insn_loop & ~insn_nothing) &
					\dut.fits == (insn_loop | insn_fits) & \dut.nothing == insn_nothing);
			if (has_started) assert (~insn_nothing);

			assert (~(fault & (start | finished | give_prev | give_next)));
			if (halt) assert (~(start | begun | check | finished | fault));
			if (start) assert (has_begun & ~has_started & insn_legal & ~insn_nothing);
			if (start & insn_loop) assert (check_done & ~check_outside);
			if (start & ~insn_loop) assert (insn_fits);
			if (begun) assert (~has_begun & insn_valid & insn_legal);
			if (finished) assert (has_begun & (has_started | insn_nothing));
			if (take_prev) assert (prev_valid & begun);
			if (take_next) assert (next_valid & begun);
			if (begun & push_prev) assert (prev_room);
			if (begun & push_next) assert (next_room);
			if (give_prev | give_next) assert (finished);
		end
	end
endmodule
