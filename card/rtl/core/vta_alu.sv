// SPDX-License-Identifier: Apache-2.0
// The arithmetic of ALU (docs/isa.md, 6) on one value.
module vta_alu (
	input logic [2:0] opcode,
	input logic [31:0] x,			// acc[dst]
	input logic [31:0] y,			// acc[src], or the immediate
	output logic [31:0] result
);
	wire less = $signed(x) < $signed(y);

	// One shifter: to the left is to the right of the bits in reverse order.
	wire left = y[31];
	wire [31:0] distance = left ? -y : y;
	wire far = |distance[31:5];
	wire [4:0] amount = far ? 5'd31 : distance[4:0];
	logic [31:0] forward, backward;
	for (genvar n = 0; n < 32; n++) begin : gen_reverse
		assign forward[n] = left ? x[31 - n] : x[n];
		assign backward[n] = shifted[31 - n];
	end
	wire sign = x[31] & ~left;
	wire [31:0] shifted = 32'($signed({sign, forward}) >>> amount);

	always_comb begin
		unique case (opcode)
			vta_isa_pkg::ALU_MIN: result = less ? x : y;
			vta_isa_pkg::ALU_MAX: result = less ? y : x;
			vta_isa_pkg::ALU_ADD: result = x + y;
			vta_isa_pkg::ALU_SHR: result = ~left ? shifted : far ? '0 : backward;
			default: result = x * y;
		endcase
	end
endmodule
