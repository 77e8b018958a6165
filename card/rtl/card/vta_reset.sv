// SPDX-License-Identifier: Apache-2.0
// Resets of the card: nothing new begins, what memory has taken is answered or finished, then all
// is cleared, and the card is ready (docs/hardware.md, 11).
//
// What asks for a transfer is heard until then; without the bus it never is, and is taken back.
module vta_reset (
	input logic clk,
	input logic power_on,
	input logic function_reset,		// a Function Level Reset
	input logic reset_request,		// by a register
	input logic bus_on,
	// The parts
	output logic reset,
	output logic reset_mmu,			// a clock, at the end
	input logic cleared,			// no memory is being cleared any more
	output logic ready,
	// Transfers: on the bus, and to card memory
	input logic [1:0] asks,
	output logic [1:0] request,
	input logic [1:0] request_ready, request_write, request_last,
	output logic [1:0] taken,
	input logic [1:0] answered		// a read, to its end
);
	localparam logic [1:0] Work = 2'd0;
	localparam logic [1:0] Drain = 2'd1;
	localparam logic [1:0] Clear = 2'd2;
	localparam logic [1:0] Wait = 2'd3;
	logic [1:0] state;
	logic [6:0] reads;			// that memory has taken and not answered
	logic [1:0] writing;			// within a write
	wire drained = ~|reads & ~|writing & ~|taken & ~(bus_on & |asks);

	assign reset = state == Drain | state == Clear;
	assign reset_mmu = state == Clear;
	assign ready = state == Work;
	assign request = asks & {2{~reset_mmu}};
	assign taken = request & request_ready;
	wire [1:0] read = taken & ~request_write;

	always_ff @(posedge clk) begin
		if (power_on) begin
			state <= Clear;
			reads <= '0;
			writing <= '0;
		end else begin
			unique case (state)
				Work: if (reset_request | function_reset) state <= Drain;
				Drain: if (drained) state <= Clear;
				Clear: state <= Wait;
				default: if (function_reset) state <= Drain;
					else if (cleared) state <= Work;
			endcase
			reads <= reads + 7'(read[0]) + 7'(read[1]) - 7'(answered[0]) -
				7'(answered[1]);
			for (int n = 0; n < 2; n++)
				if (taken[n] & request_write[n]) writing[n] <= ~request_last[n];
		end
	end
endmodule
