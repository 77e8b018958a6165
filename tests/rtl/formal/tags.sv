// SPDX-License-Identifier: GPL-2.0-only
// A tag is given to no second read before the first is complete and released, and an answer changes
// only the read that has its tag and is not complete, whatever the bus answers.
module tags (
	input logic clk,
	input logic go, give_back, bus, bus_fault, card,
	input logic [1:0] look_tag, bus_tag, card_tag,
	input logic [7:0] start_address,
	input logic [8:0] start_length,
	input logic [3:0] read_beat,
	input logic [127:0] bus_data, card_data
);
	logic free, card_ready, look_fault, idle;
	logic [1:0] tag;
	logic [3:0] look_first, look_last, complete;
	logic [127:0] read_data;

	(* hierconn *) wire [3:0] \dut.used ;
	(* hierconn *) wire [3:0] \dut.faulted ;
	(* hierconn *) wire [15:0] \dut.beats ;
	(* hierconn *) wire [15:0] \dut.lasts ;

	logic begun = 1'b0;
	always_ff @(posedge clk) begun <= 1'b1;
	wire start = go & free & begun;
	wire release_tag = give_back & complete[look_tag] & begun;
	always_comb begin
		// A read is of 1 to 256 bytes within its line.
		assume (|start_length & 10'(start_address) + 10'(start_length) <= 10'd256);
	end

	vta_reads #(.LOG_TAGS(2)) dut (
		.clk, .reset(~begun), .free, .tag, .start, .start_address, .start_length, .bus,
		.bus_tag, .bus_fault, .bus_data, .card, .card_ready, .card_tag, .card_data,
		.complete, .look_tag, .look_fault, .look_first, .look_last, .read_beat, .read_data,
		.release_tag, .idle
	);

	// ---- Reads under way, and how many answers each still waits for
	logic [3:0] reads = '0;
	logic [19:0] left = '0;
	wire answer = bus | card;
	wire [1:0] answer_tag = bus ? bus_tag : card_tag;
	wire [4:0] lines = 5'((9'(start_address[3:0]) + start_length + 9'd15) >> 4);

	for (genvar n = 0; n < 4; n++) begin : gen_tag
		wire mine = answer & answer_tag == 2'(n) & reads[n];
		wire ends = mine & bus & bus_fault;
		always_ff @(posedge clk) begin
			if (start & tag == 2'(n)) reads[n] <= 1'b1;
			else if (release_tag & look_tag == 2'(n)) reads[n] <= 1'b0;
			if (start & tag == 2'(n)) left[n * 5 +: 5] <= lines;
			else if (ends) left[n * 5 +: 5] <= '0;
			else if (mine & |left[n * 5 +: 5]) left[n * 5 +: 5] <= left[n * 5 +: 5] - 5'd1;
		end
		always_ff @(posedge clk) begin
			if (begun) begin
				assert (\dut.used [n] == reads[n]);
				assert (complete[n] == (reads[n] & ~|left[n * 5 +: 5]));
				assert (~reads[n] | complete[n] | left[n * 5 +: 5] ==
					5'(\dut.lasts [n * 4 +: 4]) - 5'(\dut.beats [n * 4 +: 4]) + 5'd1);
				assert (~reads[n] | complete[n] |
					\dut.lasts [n * 4 +: 4] >= \dut.beats [n * 4 +: 4]);
			end
		end
	end
	always_ff @(posedge clk) begin
		if (begun) begin
			if (start) assert (~reads[tag]);
			assert (free == ~&reads);
			assert (idle == ~|(reads & ~complete));
		end
	end
endmodule
