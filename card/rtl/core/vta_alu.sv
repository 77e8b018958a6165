// SPDX-License-Identifier: Apache-2.0
// The arithmetic of ALU (docs/isa.md, 6) on one value. MIN, MAX and ADD take a clock. SHR and MUL take
// two: the distance and products of halves come first, and are applied or added in the second one.
module vta_alu (
	input logic clk,
	input logic [2:0] opcode,		// stays the same for both clocks
	input logic [31:0] x,			// acc[dst]
	input logic [31:0] y,			// acc[src], or the immediate
	output logic [31:0] least_or_most,	// the result of MIN and MAX
	output logic [31:0] late		// that of SHR and MUL, of the operands of the clock before
);
	// ---- First clock
	wire less = $signed(x) < $signed(y);
	wire left = y[31];
	wire many = left ? ~&y[31:5] | ~|y[4:0] : |y[31:5];	// a shift by 32 or more
	wire [4:0] distance = many ? 5'd31 : left ? -y[4:0] : y[4:0];
	logic [31:0] reversed;
	for (genvar n = 0; n < 32; n++) begin : gen_reverse
		assign reversed[n] = x[31 - n];
	end
	assign least_or_most = less == (opcode == vta_isa_pkg::ALU_MIN) ? x : y;

	logic [31:0] low;			// of the product: low halves,
	logic [15:0] high, high_too;		// and those that begin at bit 16
	// To shift to the left is to shift the bits in reverse order to the right. Multiples of 8 come
	// first, and the rest in the second clock.
	logic [31:0] forward;
	logic to_left, far;
	logic [2:0] amount;
	always_ff @(posedge clk) begin
		low <= x[15:0] * y[15:0];
		high <= x[31:16] * y[15:0];
		high_too <= x[15:0] * y[31:16];
		forward <= 32'($signed({x[31] & ~left, left ? reversed : x}) >>> {distance[4:3], 3'd0});
		to_left <= left;
		far <= many;
		amount <= distance[2:0];
	end

	// ---- Second clock
	wire sign = forward[31] & ~to_left;
	wire [31:0] shifted = 32'($signed({sign, forward}) >>> amount);
	logic [31:0] backward;
	for (genvar n = 0; n < 32; n++) begin : gen_backward
		assign backward[n] = shifted[31 - n];
	end
	wire [31:0] shift = ~to_left ? shifted : far ? '0 : backward;
	assign late = opcode == vta_isa_pkg::ALU_MUL ?
		{low[31:16] + high + high_too, low[15:0]} : shift;
endmodule
