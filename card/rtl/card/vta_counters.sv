// SPDX-License-Identifier: Apache-2.0
// The debug counters (docs/hardware.md, 12): each adds what happened in a clock, and is read or cleared
// one after the other.
module vta_counters #(
	parameter int COUNTERS = 31
) (
	input logic clk,
	input logic reset,			// a function reset; a soft reset keeps them
	input logic clear,
	input logic [COUNTERS * 64 - 1:0] add,	// in this clock
	input logic [4:0] index,
	output logic [63:0] value
);
	logic [COUNTERS * 64 - 1:0] counts;
	always_ff @(posedge clk) begin
		for (int n = 0; n < COUNTERS; n++) begin
			if (reset | clear) counts[n * 64 +: 64] <= '0;
			else counts[n * 64 +: 64] <= counts[n * 64 +: 64] + add[n * 64 +: 64];
		end
	end
	always_comb begin
		value = '0;
		for (int n = 0; n < COUNTERS; n++)
			if (index == 5'(n)) value = counts[n * 64 +: 64];
	end
endmodule
