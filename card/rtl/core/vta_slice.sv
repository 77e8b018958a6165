// SPDX-License-Identifier: Apache-2.0
// Registers between a unit that sends and one that takes: neither's handshake goes through to the other
// in the same clock. It takes one each clock, and has room for two.
module vta_slice #(
	parameter int WIDTH = 32
) (
	input logic clk,
	input logic clear,
	input logic send,
	output logic send_ready,	// nothing is in the spare register
	input logic [WIDTH - 1:0] send_data,
	output logic valid,
	input logic ready,
	output logic [WIDTH - 1:0] data
);
	logic spare_valid;		// with valid only
	logic [WIDTH - 1:0] spare;

	always_ff @(posedge clk) begin
		if (~spare_valid) spare <= send_data;
		if (~valid | ready) data <= spare_valid ? spare : send_data;
		if (clear) begin
			valid <= 1'b0;
			spare_valid <= 1'b0;
			send_ready <= 1'b1;
		end else begin
			valid <= send | spare_valid | (valid & ~ready);
			spare_valid <= (send | spare_valid) & valid & ~ready;
			send_ready <= ~((send | spare_valid) & valid & ~ready);
		end
	end
endmodule
