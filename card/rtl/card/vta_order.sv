// SPDX-License-Identifier: Apache-2.0
// A short first-in-first-out queue, whose first entry can be taken in each clock.
//
// Nothing may be pushed without `room`.
module vta_order #(
	parameter int WIDTH = 32,
	parameter int LOG_DEPTH = 4
) (
	input logic clk,
	input logic clear,
	output logic room,
	input logic push,
	input logic [WIDTH - 1:0] push_data,
	output logic valid,
	output logic [WIDTH - 1:0] data,
	input logic pop		// with valid only
);
	logic [WIDTH - 1:0] entries [0:(1 << LOG_DEPTH) - 1];
	logic [LOG_DEPTH:0] head, tail;

	assign valid = head != tail;
	assign room = head != {~tail[LOG_DEPTH], tail[LOG_DEPTH - 1:0]};
	assign data = entries[head[LOG_DEPTH - 1:0]];

	always_ff @(posedge clk) begin
		if (push) entries[tail[LOG_DEPTH - 1:0]] <= push_data;
		if (clear) begin
			head <= '0;
			tail <= '0;
		end else begin
			head <= head + (LOG_DEPTH + 1)'(pop);
			tail <= tail + (LOG_DEPTH + 1)'(push);
		end
	end
endmodule
