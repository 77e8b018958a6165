// SPDX-License-Identifier: Apache-2.0
// Executes a module's instructions one after the other: waits for tokens, accounts for cycles,
// checks, starts the module's unit, and pushes tokens (docs/isa.md, 3 and 9).
module vta_sequence (
	input logic clk,
	input logic halt,
	input logic begin_run,
	input logic [63:0] cycle_limit,		// 0: none
	// The instruction
	input logic insn_idle,
	input logic insn_valid,
	input logic insn_legal,
	input logic insn_nothing,
	input logic insn_fits,
	input logic insn_loop,
	input logic [31:0] insn_index,
	input logic [47:0] insn_cost,
	input logic pop_prev, pop_next, push_prev, push_next,	// its flags
	output logic insn_take,
	// Token queues; flags for a neighbour that is not there are 0
	input logic prev_valid, next_valid,	// a token is there
	input logic prev_empty, next_empty,	// none is there, or on its way
	input logic prev_room, next_room,
	input logic [63:0] prev_cycle, next_cycle,
	output logic take_prev, take_next, give_prev, give_next,
	// The unit
	output logic check,			// a loop's bounds are to be checked
	input logic check_done, check_outside,
	output logic start,
	input logic done,
	// State
	output logic begun,			// an instruction begins
	output logic stuck,			// the first one waits for a token, or for room
	output logic empty,			// there is none
	output logic fault,
	output logic [3:0] fault_reason,
	// Counts
	output logic finished,			// an instruction has ended,
	output logic [63:0] end_cycle,		// at this cycle
	output logic [63:0] cycle,		// at which the last one had ended
	output logic [63:0] busy_cycles
);
	localparam logic [2:0] Wait = 3'd0;
	localparam logic [2:0] Start = 3'd1;
	localparam logic [2:0] End = 3'd2;
	localparam logic [2:0] Limit = 3'd3;
	localparam logic [2:0] Run = 3'd4;
	localparam logic [2:0] Nothing = 3'd5;	// the instruction moved tokens alone, and ends

	logic [2:0] state;
	logic [63:0] early, token, begin_cycle;
	logic [64:0] latest;			// cycle to begin at within the limit; below 0: none
	logic over;

	wire tokens = (~pop_prev | prev_valid) & (~pop_next | next_valid) &
		(~push_prev | prev_room) & (~push_next | next_room);
	wire lacking = (pop_prev & prev_empty) | (pop_next & next_empty) |
		(push_prev & ~prev_room) | (push_next & ~next_room);
	// In a register: no one else takes the tokens and the room that there are.
	logic may_go;
	wire go = may_go & ~halt;

	assign begun = go;
	assign take_prev = go & pop_prev;
	assign take_next = go & pop_next;
	assign check = go & insn_loop & ~insn_nothing;
	assign stuck = state == Wait & insn_valid & insn_legal & lacking;
	assign empty = state == Wait & insn_idle;

	// ---- Cycles
	wire [64:0] sum = 65'(begin_cycle) + 65'(insn_cost);
	wire [64:0] busy_sum = 65'(busy_cycles) + 65'(insn_cost);
	wire [63:0] arrival = 64'(insn_index) + 64'd1;
	wire [63:0] from_prev = pop_prev ? prev_cycle : 64'd0;
	wire [63:0] from_next = pop_next ? next_cycle : 64'd0;

	// ---- Checks, in the order of docs/isa.md, 3
	logic loop, fits, nothing;		// of the instruction, which stays as it is meanwhile
	wire checked = ~loop | check_done;
	wire outside = loop ? check_outside : ~fits;
	wire judged = state == Limit & checked;
	wire illegal = state == Wait & insn_valid & ~insn_legal;

	assign fault = ~halt & (illegal | (judged & (outside | over)));
	assign fault_reason = illegal ? vta_isa_pkg::FAULT_INSN :
		outside ? vta_isa_pkg::FAULT_BOUNDS : vta_isa_pkg::FAULT_CYCLES;

	wire passed = judged & ~outside & ~over & ~halt;
	assign start = passed & ~nothing;
	assign finished = state[2] & (state[0] | done) & ~halt;	// Nothing, or the end of Run
	assign insn_take = finished;
	assign give_prev = finished & push_prev;
	assign give_next = finished & push_next;

	always_ff @(posedge clk) begin
		if (state == Wait) begin
			early <= arrival > cycle ? arrival : cycle;
			token <= from_prev > from_next ? from_prev : from_next;
		end
		if (state == Start) begin
			loop <= insn_loop & ~insn_nothing;
			fits <= insn_fits | insn_loop;
			nothing <= insn_nothing;
			begin_cycle <= early > token ? early : token;
			latest <= 65'(cycle_limit) - 65'(insn_cost);
		end
		if (state == End) begin
			end_cycle <= sum[64] ? '1 : sum[63:0];
			over <= |cycle_limit & (latest[64] | begin_cycle > latest[63:0]);
		end

		may_go <= state == Wait & insn_valid & insn_legal & tokens & ~may_go & ~halt & ~begin_run;
		if (begin_run | halt) begin
			state <= Wait;
		end else begin
			unique case (state)
				Wait: if (go) state <= Start;
				Start: state <= End;
				End: state <= Limit;
				Limit: if (passed) state <= nothing ? Nothing : Run;
				default: if (finished) state <= Wait;
			endcase
		end
		if (begin_run) begin
			cycle <= '0;
			busy_cycles <= '0;
		end else if (finished) begin
			cycle <= end_cycle;
			busy_cycles <= busy_sum[64] ? '1 : busy_sum[63:0];
		end
	end
endmodule
