// SPDX-License-Identifier: Apache-2.0
// A memory with one write port and one read port. A word that is read while it is written has its old
// value, for which block RAM needs registers beside it; without MEETING it is undefined.
module vta_ram #(
	parameter int WIDTH = 32,
	parameter int LOG_DEPTH = 9,
	parameter bit MEETING = 1'b1	// the user needs words that it reads and writes at once
) (
	input logic clk,
	input logic write,
	input logic [vta_isa_pkg::max(LOG_DEPTH, 1) - 1:0] write_address,
	input logic [WIDTH - 1:0] write_data,
	input logic read,
	input logic [vta_isa_pkg::max(LOG_DEPTH, 1) - 1:0] read_address,
	output logic [WIDTH - 1:0] read_data	// valid in the next clock, and until the next read
);
	logic [WIDTH - 1:0] words [0:(1 << vta_isa_pkg::max(LOG_DEPTH, 1)) - 1];

	always_ff @(posedge clk) begin
		if (write) words[write_address] <= write_data;
		if (read) begin
			read_data <= words[read_address];
			if (~MEETING & write & write_address == read_address) read_data <= 'x;
		end
	end
endmodule
