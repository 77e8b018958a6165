// SPDX-License-Identifier: GPL-2.0-only
// A token queue loses no token and invents none: its count is that of tokens that were found and
// pushed less those that were popped, a token is offered only if there is one, and none is kept back
// for more than three clocks. Tokens come in order: of two pushed ones, whose cycles differ, the
// first is popped first.
module tokens (
	input logic clk,
	input logic begin_run, keep, restore, push, pop,
	input logic [31:0] restore_count,
	input logic [63:0] push_cycle
);
	localparam int LogTokens = 3;

	logic room, none, valid;
	logic [63:0] cycle;
	logic [LogTokens:0] count;

	vta_tokens #(.LOG_TOKENS(LogTokens)) dut (
		.clk, .begin_run, .keep, .restore, .restore_count, .push, .push_cycle, .room, .none, .valid,
		.cycle, .pop, .count
	);

	// ---- The owner keeps its side: begins first, pushes with room, pops what is offered
	logic begun = 1'b0;
	always_ff @(posedge clk) begun <= 1'b1;
	always_comb begin
		if (~begun) assume (begin_run & ~keep & ~restore);
		if (push) assume (room & ~begin_run & ~restore);
		if (pop) assume (valid & ~begin_run & ~restore);
		assume (~(begin_run & restore));
	end

	// ---- A count of its own
	logic [LogTokens:0] expected = '0;
	logic [1:0] waited = '0;
	always_ff @(posedge clk) begin
		if (restore) expected <= restore_count > 32'd8 ? 4'd8 : restore_count[3:0];
		else if (begin_run & ~keep) expected <= '0;
		else expected <= expected + 4'(push) - 4'(pop);
		waited <= |count & ~valid ? waited + 2'd1 : '0;
	end

	always_ff @(posedge clk) begin
		if (begun) begin
			assert (count == expected);
			assert (count <= 4'd8);
			assert (~valid | |count);
			assert (room == (count < 4'd8) & none == ~|count);
			assert (waited < 2'd3);
		end
	end
endmodule
