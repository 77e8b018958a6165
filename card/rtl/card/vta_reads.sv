// SPDX-License-Identifier: Apache-2.0
// Reads from the bus and from card memory that are under way: each has a tag and room for a line,
// and may be answered in any order.
module vta_reads #(
	parameter int LOG_TAGS = 5
) (
	input logic clk,
	input logic reset,
	// A read begins: within a line
	output logic free,			// one can begin
	output logic [LOG_TAGS - 1:0] tag,	// of the next one
	input logic start,
	input logic [7:0] start_address,	// in its line
	input logic [8:0] start_length,
	// Answers: 16 bytes at a time, in order for each tag; a fault ends the read
	input logic bus,
	input logic [LOG_TAGS - 1:0] bus_tag,
	input logic bus_fault,
	input logic [127:0] bus_data,
	input logic card,
	output logic card_ready,
	input logic [LOG_TAGS - 1:0] card_tag,
	input logic [127:0] card_data,
	// Reads that are complete
	output logic [(1 << LOG_TAGS) - 1:0] complete,
	input logic [LOG_TAGS - 1:0] look_tag,
	output logic look_fault,
	output logic [3:0] look_first, look_last,	// its 16 bytes of the line
	input logic [3:0] read_beat,		// of look_tag: data in the next clock
	output logic [127:0] read_data,
	input logic release_tag,		// look_tag is free again
	output logic idle			// all that began are complete
);
	localparam int Tags = 1 << LOG_TAGS;

	logic [Tags - 1:0] used, faulted;
	logic [Tags * 4 - 1:0] firsts, beats, lasts;

	always_comb begin
		tag = '0;
		for (int n = Tags - 1; n >= 0; n--)
			if (~used[n]) tag = LOG_TAGS'(n);
	end
	assign free = ~&used;
	assign idle = used == complete;

	// ---- One answer in a clock, the bus's first
	assign card_ready = ~bus;
	wire answer = bus | card;
	wire [LOG_TAGS - 1:0] answer_tag = bus ? bus_tag : card_tag;
	wire [127:0] answer_data = bus ? bus_data : card_data;
	wire fault = bus & bus_fault;
	wire [3:0] beat = beats[32'(answer_tag) * 4 +: 4];
	wire ends = fault | beat == lasts[32'(answer_tag) * 4 +: 4];
	// An answer that nothing has asked for changes nothing.
	wire known = answer & used[answer_tag] & ~complete[answer_tag];

	vta_ram #(.WIDTH(128), .LOG_DEPTH(LOG_TAGS + 4)) lines (
		.clk, .write(known & ~fault), .write_address({answer_tag, beat}),
		.write_data(answer_data), .read(1'b1), .read_address({look_tag, read_beat}),
		.read_data
	);

	assign look_fault = faulted[look_tag];
	assign look_first = firsts[32'(look_tag) * 4 +: 4];
	assign look_last = lasts[32'(look_tag) * 4 +: 4];

	wire [3:0] last_beat = 4'((start_address + 8'(start_length - 9'd1)) >> 4);
	always_ff @(posedge clk) begin
		if (start) begin
			firsts[32'(tag) * 4 +: 4] <= start_address[7:4];
			lasts[32'(tag) * 4 +: 4] <= last_beat;
		end
		for (int n = 0; n < Tags; n++) begin
			if (start & tag == LOG_TAGS'(n)) beats[n * 4 +: 4] <= start_address[7:4];
			else if (known & answer_tag == LOG_TAGS'(n)) beats[n * 4 +: 4] <= beat + 4'd1;
			if (reset | (release_tag & look_tag == LOG_TAGS'(n))) begin
				used[n] <= 1'b0;
				complete[n] <= 1'b0;
				faulted[n] <= 1'b0;
			end else begin
				if (start & tag == LOG_TAGS'(n)) used[n] <= 1'b1;
				if (known & ends & answer_tag == LOG_TAGS'(n)) begin
					complete[n] <= 1'b1;
					faulted[n] <= fault;
				end
			end
		end
	end
endmodule
