// SPDX-License-Identifier: GPL-2.0-only
// The rows that LOAD reads and STORE writes, for the proofs of both: the bytes that an instruction has
// not requested, and whether its unit is busy or halted.
module rows #(
	parameter int LOG_BYTES = 4
) (
	input logic clk,
	input logic stop, start, done, fault,
	input logic [49:0] first,		// byte of the first row
	input logic [15:0] x_size, x_stride, y_size,	// in elements; no row: 0
	input logic accepted,
	input logic [8:0] request_length,
	output logic begun,			// from the second clock on
	output logic halt,			// the core halts in the clock after a fault
	output logic busy,
	output logic [49:0] row, next, next_row,	// the present row, the next byte, the next row
	output logic [33:0] left,		// bytes of the row
	output logic [15:0] count		// rows, with the present one
);
	logic faulted;
	initial {begun, faulted, busy, count} = '0;
	wire [33:0] row_bytes = 34'(x_size) << LOG_BYTES;

	assign halt = ~begun | stop | faulted;
	assign next_row = row + (50'(x_stride) << LOG_BYTES);
	always_ff @(posedge clk) begin
		begun <= 1'b1;
		faulted <= fault;
		if (halt | done) busy <= 1'b0;
		else if (start) busy <= 1'b1;

		if (halt) begin
			count <= '0;
		end else if (start) begin
			row <= first;
			next <= first;
			left <= row_bytes;
			count <= y_size;
		end else if (accepted) begin
			next <= next + 50'(request_length);
			left <= left - 34'(request_length);
			if (left == 34'(request_length)) begin
				row <= next_row;
				next <= next_row;
				left <= row_bytes;
				count <= count - 16'd1;
			end
		end
	end
endmodule
