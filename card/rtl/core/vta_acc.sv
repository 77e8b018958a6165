// SPDX-License-Identifier: Apache-2.0
// One lane of the accumulators, and the arithmetic on it.
//
// A word is read, held with its second operand, computed and written in four clocks. Words that
// are in hand are passed on to a later reader of the same address, so that micro-ops see each
// other's results.
module vta_acc #(
	parameter int LOG_WORDS = 11,
	parameter int SUM_BITS = 20
) (
	input logic clk,
	// LOAD
	input logic fill,
	input logic [vta_isa_pkg::max(LOG_WORDS, 1) - 1:0] fill_address,
	input logic [31:0] fill_data,
	// The loop; each row is a stage, one clock after the one above
	input logic read,
	input logic [vta_isa_pkg::max(LOG_WORDS, 1) - 1:0] read_address,
	input logic from_compute, from_result, from_written,	// source of the value, if not memory
	input logic hold_src,			// the value is the second operand
	input logic alu, reset, use_imm,
	input logic [2:0] opcode,
	input logic [31:0] imm,
	input logic signed [SUM_BITS - 1:0] sum,
	input logic write,
	input logic [vta_isa_pkg::max(LOG_WORDS, 1) - 1:0] write_address,
	output logic [31:0] memory_value
);
	logic [31:0] x, y, src, result, written, alu_result;

	vta_ram #(.WIDTH(32), .LOG_DEPTH(LOG_WORDS)) memory (
		.clk, .write(fill | write), .write_address(fill ? fill_address : write_address),
		.write_data(fill ? fill_data : result), .read, .read_address,
		.read_data(memory_value)
	);

	vta_alu u_alu (.opcode, .x, .y, .result(alu_result));

	wire [31:0] added = reset ? '0 : x + 32'(sum);
	wire [31:0] value = from_compute ? added : from_result ? result : from_written ? written :
		memory_value;
	assign y = use_imm ? imm : src;

	always_ff @(posedge clk) begin
		if (hold_src) src <= value;
		x <= value;
		result <= alu ? alu_result : added;
		written <= result;
	end
endmodule
