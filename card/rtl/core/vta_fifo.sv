// SPDX-License-Identifier: Apache-2.0
// A first-in-first-out queue in memory, whose first entry waits in a register.
//
// Nothing may be pushed into a full queue; `count` is for the owner to see to that.
module vta_fifo #(
	parameter int WIDTH = 64,
	parameter int LOG_DEPTH = 4
) (
	input logic clk,
	input logic clear,
	input logic push,
	input logic [WIDTH - 1:0] push_data,
	output logic valid,		// first entry is there
	output logic [WIDTH - 1:0] data,
	input logic pop,		// with valid only
	output logic [LOG_DEPTH:0] count
);
	logic [LOG_DEPTH:0] stored;	// entries in memory that are not being read
	logic [LOG_DEPTH - 1:0] head, tail;
	logic reading;
	logic [WIDTH - 1:0] read_data;

	// The register is free in the next clock, and nothing is on its way to it.
	wire free = ~reading & (~valid | pop);
	wire refill = free & |stored;
	// An entry passes by the memory if none is before it.
	wire direct = push & free & ~|stored;
	wire keep = push & ~direct;

	assign count = stored + (LOG_DEPTH + 1)'(valid) + (LOG_DEPTH + 1)'(reading);

	vta_ram #(.WIDTH(WIDTH), .LOG_DEPTH(LOG_DEPTH), .MEETING(1'b0)) memory (
		.clk, .write(keep), .write_address(tail), .write_data(push_data),
		.read(refill), .read_address(head), .read_data
	);

	always_ff @(posedge clk) begin
		if (reading) data <= read_data;
		else if (direct) data <= push_data;
		if (clear) begin
			valid <= 1'b0;
			reading <= 1'b0;
			stored <= '0;
			head <= '0;
			tail <= '0;
		end else begin
			valid <= reading | direct | (valid & ~pop);
			reading <= refill;
			stored <= stored + (LOG_DEPTH + 1)'(keep) - (LOG_DEPTH + 1)'(refill);
			if (refill) head <= head + 1'b1;
			if (keep) tail <= tail + 1'b1;
		end
	end

`ifdef FORMAL
	// Invariants that tests/rtl/formal proves
	initial {valid, reading, stored, head, tail} = '0;
	always_ff @(posedge clk) begin
		assert (~stored[LOG_DEPTH] | ~|stored[LOG_DEPTH - 1:0]);
		assert (tail - head == stored[LOG_DEPTH - 1:0]);
		assert (~(reading & valid));
	end
`endif
endmodule
