// SPDX-License-Identifier: GPL-2.0-only
// A memory for proofs, in place of vta_ram: one of two words keeps them, of a larger one each read may
// have any result.
module vta_ram #(
	parameter int WIDTH = 32,
	parameter int LOG_DEPTH = 9,
	parameter bit MEETING = 1'b1
) (
	input logic clk, write, read,
	input logic [LOG_DEPTH - 1:0] write_address, read_address,
	input logic [WIDTH - 1:0] write_data,
	output logic [WIDTH - 1:0] read_data
);
	logic [2 * WIDTH - 1:0] words;
	logic [WIDTH - 1:0] kept;
	(* anyseq *) logic [WIDTH - 1:0] any;
	// Words are chosen, since shifts by an address are hard for the solver.
	always_ff @(posedge clk) begin
		if (write & ~write_address[0]) words[0 +: WIDTH] <= write_data;
		if (write & write_address[0]) words[WIDTH +: WIDTH] <= write_data;
		if (read) kept <= read_address[0] ? words[WIDTH +: WIDTH] : words[0 +: WIDTH];
	end
	assign read_data = LOG_DEPTH == 1 ? kept : any;
endmodule
