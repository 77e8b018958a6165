// SPDX-License-Identifier: Apache-2.0
// One engine's descriptor in hand (docs/hardware.md, 4 and 6): what its registers show, and its time
// limit. What executes the descriptor is told to stop when it is given up or has had its time.
module vta_engine #(
	parameter int LOG_QUEUES = 4
) (
	input logic clk,
	input logic reset,
	input logic [63:0] now,
	input logic on,				// memory may be accessed: the limit's time passes
	// The front end
	input logic start,
	input logic [LOG_QUEUES - 1:0] start_queue,
	input logic [63:0] start_number, start_limit,
	input logic close,
	input logic dropped,			// the descriptor is given up
	// What executes it
	input logic done,
	output logic stop,
	output logic timed_out,			// at the end, and not given up
	// Registers
	output logic busy,
	output logic ended,
	output logic [30:0] moves,
	output logic [LOG_QUEUES - 1:0] at_queue,
	output logic [63:0] number, since, began
);
	logic [63:0] limit, used, last;
	logic over;
	assign busy = moves[0];
	assign stop = busy & ~ended & (dropped | over);

	always_ff @(posedge clk) begin
		last <= now;
		if (start) begin
			at_queue <= start_queue;
			number <= start_number;
			limit <= start_limit;
			began <= now;
			used <= '0;
		end else if (on) begin
			used <= used + (now - last);
		end
		if (start | close) since <= now;
		if (done) timed_out <= over & ~dropped;
		if (reset) begin
			moves <= '0;
			ended <= 1'b0;
			over <= 1'b0;
			at_queue <= '0;
			number <= '0;
			since <= '0;
		end else begin
			moves <= moves + 31'(start) + 31'(close);
			ended <= done | (ended & ~close);
			over <= ~start & ~close & (over | (busy & ~ended & |limit & used >= limit));
		end
	end
endmodule
