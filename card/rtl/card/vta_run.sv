// SPDX-License-Identifier: Apache-2.0
// Gives RUNs to the core, which has the state of one context at a time (docs/hardware.md, 6, "The
// core's state"): another one's RUN finds zeroes. Kept state is not offered (SAVE_SIZE is 0).
module vta_run (
	input logic clk,
	input logic reset,
	// The engine
	input logic start,
	input logic [31:0] start_address, start_count,
	input logic [63:0] start_limit, queue_limit,
	input logic [7:0] start_context,
	input logic stop,
	output logic done,
	output logic switched,			// another context's state was in the core
	// A context is enabled again: it is another one
	input logic renew,
	input logic [7:0] renew_context,
	// The core
	output logic command,
	output logic [1:0] command_kind,
	output logic [31:0] command_address, command_count,
	output logic [63:0] command_limit,
	input logic command_ready,
	output logic core_stop,
	input logic core_done
);
	localparam logic [2:0] Idle = 3'd0;
	localparam logic [2:0] Clear = 3'd1;
	localparam logic [2:0] Clearing = 3'd2;
	localparam logic [2:0] Run = 3'd3;
	localparam logic [2:0] Running = 3'd4;
	logic [2:0] state;

	logic used, stale;			// a context owns the state; it has become another
	logic [7:0] owner, context_of;
	wire owned = used & ~stale & owner == start_context;
	wire both = |start_limit & |queue_limit;
	wire least = start_limit < queue_limit;

	assign command = state == Clear | state == Run;
	assign command_kind = state == Clear ? vta_isa_pkg::COMMAND_CLEAR : vta_isa_pkg::COMMAND_RUN;
	assign core_stop = stop & state == Running;
	assign done = state == Running & core_done;

	always_ff @(posedge clk) begin
		switched <= start & used & ~owned & ~reset;
		if (start) begin
			context_of <= start_context;
			command_address <= start_address;
			command_count <= start_count;
			command_limit <= both ? (least ? start_limit : queue_limit) :
				start_limit | queue_limit;
		end
		if (reset) begin
			state <= Idle;
			used <= 1'b0;
			stale <= 1'b0;
		end else begin
			unique case (state)
				Idle: if (start) state <= owned ? Run : Clear;
				Clear: if (command_ready) state <= Clearing;
				Clearing: if (core_done) state <= Run;
				Run: if (command_ready) state <= Running;
				default: if (core_done) state <= Idle;
			endcase
			if (state == Clearing & core_done) begin
				used <= 1'b1;
				owner <= context_of;
				stale <= 1'b0;
			end
			if (renew & used & renew_context == owner) stale <= 1'b1;
		end
	end
endmodule
