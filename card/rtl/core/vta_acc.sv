// SPDX-License-Identifier: Apache-2.0
// One lane of the accumulators, and the arithmetic on it.
//
// A word is read, held with its second operand, computed in two clocks and written. Words that are
// in hand are passed on to a later reader of the same address, so that micro-ops see each other's
// results; those of SHR and MUL are there in the second of the two clocks, and others in the first.
// STORE reads a copy of the low bits, which are all that it writes to memory, so it takes no clock of
// the loops.
module vta_acc #(
	parameter int LOG_WORDS = 11,
	parameter int SUM_BITS = 20,
	parameter int OUT_BITS = 8
) (
	input logic clk,
	// LOAD
	input logic fill,
	input logic [vta_isa_pkg::max(LOG_WORDS, 1) - 1:0] fill_address,
	input logic [31:0] fill_data,
	// STORE
	input logic store_read,
	input logic [vta_isa_pkg::max(LOG_WORDS, 1) - 1:0] store_address,
	output logic [OUT_BITS - 1:0] store_value,
	// The loop; each row is a stage, one clock after the one above
	input logic read,
	input logic [vta_isa_pkg::max(LOG_WORDS, 1) - 1:0] read_address,
	input logic from_compute, from_middle, from_result, from_written,	// source of the value,
	input logic hold_src,			// if not memory; the value is the second operand
	input logic alu, late, reset, use_imm,	// late: the opcode is SHR or MUL
	input logic [2:0] opcode,
	input logic [31:0] imm,
	input logic signed [SUM_BITS - 1:0] sum,
	input logic write,			// two clocks after the sum
	input logic [vta_isa_pkg::max(LOG_WORDS, 1) - 1:0] write_address,
	output logic [31:0] memory_value
);
	logic [31:0] x, y, middle, result, written, least_or_most, late_result;
	wire [vta_isa_pkg::max(LOG_WORDS, 1) - 1:0] changed = fill ? fill_address : write_address;
	wire [31:0] change = fill ? fill_data : result;

	vta_ram #(.WIDTH(32), .LOG_DEPTH(LOG_WORDS), .MEETING(1'b0)) memory (
		.clk, .write(fill | write), .write_address(changed), .write_data(change), .read,
		.read_address, .read_data(memory_value)
	);
	vta_ram #(.WIDTH(OUT_BITS), .LOG_DEPTH(LOG_WORDS), .MEETING(1'b0)) out_memory (
		.clk, .write(fill | write), .write_address(changed),
		.write_data(change[OUT_BITS - 1:0]), .read(store_read),
		.read_address(store_address), .read_data(store_value)
	);

	vta_alu u_alu (.clk, .opcode, .x, .y, .least_or_most, .late(late_result));

	wire add = ~alu | opcode == vta_isa_pkg::ALU_ADD;
	wire [31:0] added = reset & ~alu ? '0 : x + (alu ? y : 32'(sum));
	wire [31:0] computed = add ? added : least_or_most;
	wire [31:0] finished = late ? late_result : middle;
	wire [31:0] value = from_compute ? computed : from_middle ? finished : from_result ? result :
		from_written ? written : memory_value;

	always_ff @(posedge clk) begin
		if (hold_src) y <= value;
		else if (use_imm) y <= imm;
		x <= value;
		middle <= computed;
		result <= finished;
		written <= result;
	end
endmodule
