// SPDX-License-Identifier: Apache-2.0
// A token queue: counts tokens, and remembers the cycle at which each was pushed.
//
// Tokens that a run finds count as pushed at cycle 0; these are a number, `found`.
module vta_tokens #(
	parameter int LOG_TOKENS = 8
) (
	input logic clk,
	input logic begin_run,
	input logic keep,		// with begin_run: the run finds the tokens that there are
	input logic restore,		// by a restore
	input logic [31:0] restore_count,	// one above the capacity means the capacity
	input logic push,		// with room only
	input logic [63:0] push_cycle,
	output logic room,
	output logic valid,
	output logic [63:0] cycle,	// of the oldest token
	input logic pop,		// with valid only
	output logic [LOG_TOKENS:0] count
);
	localparam logic [LOG_TOKENS:0] Capacity = (LOG_TOKENS + 1)'(1) << LOG_TOKENS;

	logic [LOG_TOKENS:0] found, pushed;
	logic pushed_valid;
	logic [63:0] pushed_cycle;

	wire any_found = |found;
	assign valid = any_found | pushed_valid;
	assign cycle = any_found ? 64'd0 : pushed_cycle;
	assign count = found + pushed;
	assign room = count < Capacity;

	vta_fifo #(.WIDTH(64), .LOG_DEPTH(LOG_TOKENS)) fifo (
		.clk, .clear(begin_run | restore), .push, .push_data(push_cycle),
		.valid(pushed_valid), .data(pushed_cycle), .pop(pop & ~any_found),
		.count(pushed)
	);

	always_ff @(posedge clk) begin
		if (restore) found <= restore_count > 32'(Capacity) ? Capacity : restore_count[LOG_TOKENS:0];
		else if (begin_run) found <= keep ? count : '0;
		else if (pop & any_found) found <= found - 1'b1;
	end

`ifdef FORMAL
	initial found = '0;
	always_ff @(posedge clk) begin
		assert ((LOG_TOKENS + 2)'(found) + (LOG_TOKENS + 2)'(pushed) <=
			(LOG_TOKENS + 2)'(Capacity));
	end
`endif
endmodule
