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
	output logic none,
	output logic valid,
	output logic [63:0] cycle,	// of the oldest token
	input logic pop,		// with valid only
	output logic [LOG_TOKENS:0] count
);
	localparam logic [LOG_TOKENS:0] Capacity = (LOG_TOKENS + 1)'(1) << LOG_TOKENS;

	logic [LOG_TOKENS:0] found, pushed;	// count is their sum
	logic any_found;
	logic pushed_valid;
	logic [63:0] pushed_cycle;

	assign valid = any_found | pushed_valid;
	assign cycle = any_found ? 64'd0 : pushed_cycle;

	vta_fifo #(.WIDTH(64), .LOG_DEPTH(LOG_TOKENS)) fifo (
		.clk, .clear(begin_run | restore), .push, .push_data(push_cycle),
		.valid(pushed_valid), .data(pushed_cycle), .pop(pop & ~any_found),
		.count(pushed)
	);

	wire unused = &{1'b0, pushed};
	wire all_restored = restore_count >= 32'(Capacity);
	wire [LOG_TOKENS:0] restored = all_restored ? Capacity : restore_count[LOG_TOKENS:0];
	always_ff @(posedge clk) begin
		if (restore) found <= restored;
		else if (begin_run) found <= keep ? count : '0;
		else if (pop & any_found) found <= found - 1'b1;
		if (restore) any_found <= |restore_count;
		else if (begin_run) any_found <= keep & ~none;
		else if (pop & found == (LOG_TOKENS + 1)'(1)) any_found <= 1'b0;

		if (restore) begin
			count <= restored;
			room <= ~all_restored;
			none <= ~|restore_count;
		end else if (begin_run & ~keep) begin
			count <= '0;
			room <= 1'b1;
			none <= 1'b1;
		end else if (push & ~pop) begin
			count <= count + 1'b1;
			room <= count != Capacity - 1'b1;
			none <= 1'b0;
		end else if (pop & ~push) begin
			count <= count - 1'b1;
			room <= 1'b1;
			none <= count == (LOG_TOKENS + 1)'(1);
		end
	end

`ifdef FORMAL
	initial {found, any_found, count, room, none} = '0;
	logic begun = 1'b0;
	always_ff @(posedge clk) begin
		begun <= 1'b1;
		if (begun) begin
			assert ((LOG_TOKENS + 2)'(found) + (LOG_TOKENS + 2)'(pushed) ==
				(LOG_TOKENS + 2)'(count));
			assert (count <= Capacity & any_found == |found);
			assert (room == (count < Capacity) & none == ~|count);
		end
	end
`endif
endmodule
