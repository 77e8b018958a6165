// SPDX-License-Identifier: Apache-2.0
// The dot product of two vectors of signed values: operands and products are registered, then a
// tree of adders has a register at every second level. The sum is valid 2 + ceil(LOG_BLOCK / 2)
// clocks after the operands.
module vta_dot #(
	parameter int LOG_BLOCK = 4,
	parameter int INP_BITS = 8,
	parameter int WGT_BITS = 8
) (
	input logic clk,
	input logic enable,			// the operands are valid
	input logic [(INP_BITS << LOG_BLOCK) - 1:0] inp,
	input logic [(WGT_BITS << LOG_BLOCK) - 1:0] wgt,
	output logic signed [INP_BITS + WGT_BITS + LOG_BLOCK - 1:0] sum
);
	localparam int Block = 1 << LOG_BLOCK;
	localparam int SumBits = INP_BITS + WGT_BITS + LOG_BLOCK;

	logic [(INP_BITS << LOG_BLOCK) - 1:0] inp_held;
	logic [(WGT_BITS << LOG_BLOCK) - 1:0] wgt_held;
	logic multiply;

	always_ff @(posedge clk) begin
		multiply <= enable;
		if (enable) begin
			inp_held <= inp;
			wgt_held <= wgt;
		end
	end

	for (genvar n = 0; n < Block; n++) begin : gen_product
		logic signed [INP_BITS + WGT_BITS - 1:0] product;
		wire signed [INP_BITS - 1:0] x = inp_held[n * INP_BITS +: INP_BITS];
		wire signed [WGT_BITS - 1:0] w = wgt_held[n * WGT_BITS +: WGT_BITS];

		always_ff @(posedge clk) if (multiply) product <= x * w;
	end

	for (genvar level = 0; level < LOG_BLOCK; level++) begin : gen_level
		for (genvar n = 0; n < Block >> (level + 1); n++) begin : gen_node
			logic signed [SumBits - 1:0] added, value;

			if (level == 0) begin : gen_leaf
				assign added = SumBits'(gen_product[2 * n].product) +
					SumBits'(gen_product[2 * n + 1].product);
			end else begin : gen_inner
				assign added = gen_level[level - 1].gen_node[2 * n].value +
					gen_level[level - 1].gen_node[2 * n + 1].value;
			end
			if (level % 2 == 1 || level == LOG_BLOCK - 1) begin : gen_register
				always_ff @(posedge clk) value <= added;
			end else begin : gen_wire
				assign value = added;
			end
		end
	end
	assign sum = gen_level[LOG_BLOCK - 1].gen_node[0].value;
endmodule
