// SPDX-License-Identifier: Apache-2.0
// Interrupts that are due: sent one at a time, each vector once, and only while the bus is on
// (docs/hardware.md, 1 and 9).
module vta_interrupts #(
	parameter int VECTORS = 257
) (
	input logic clk,
	input logic reset,
	input logic on,
	// Due, from the front end and from register writes; other vectors are not sent
	input logic [2:0] due,
	input logic [95:0] due_vector,
	// Messages: behind the memory writes that the bus has taken
	output logic message,
	input logic message_ready,
	output logic [8:0] message_vector,
	output logic waiting			// one is sent as soon as it may be
);
	logic [VECTORS - 1:0] pending;
	logic [8:0] next;
	always_comb begin
		next = '0;
		for (int n = VECTORS - 1; n >= 0; n--)
			if (pending[n]) next = 9'(n);
	end
	assign waiting = (|pending & on) | message;
	wire load = |pending & on & (~message | message_ready);

	always_ff @(posedge clk) begin
		if (load) message_vector <= next;
		if (reset) begin
			pending <= '0;
			message <= 1'b0;
		end else begin
			message <= load | (message & ~message_ready);
			if (load) pending[next] <= 1'b0;
			for (int n = 0; n < 3; n++)
				if (due[n] & due_vector[n * 32 +: 32] < 32'(VECTORS))
					pending[due_vector[n * 32 +: 9]] <= 1'b1;
		end
	end
endmodule
