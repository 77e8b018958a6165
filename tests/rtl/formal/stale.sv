// SPDX-License-Identifier: GPL-2.0-only
// When an invalidation ends, the TLB has no valid entry of its context that was read before it, no
// client keeps such a translation, and all that was translated by one is finished.
module stale (
	input logic clk,
	input logic request, request_client, request_write, request_begin,
	input logic [7:0] request_context,
	input logic request_direct,
	input logic [63:0] request_address,
	input logic [8:0] request_length,
	input logic piece_ready, walk_ready, walk_response, walk_fault, finished,
	input logic [63:0] walk_data,
	input logic invalidate, invalidate_all,
	input logic invalidate_context
);
	logic request_ready, piece, walk, invalidating, busy, count_walk, count_hit;
	logic piece_client, piece_write, piece_first, piece_last, piece_fault, piece_card;
	logic [3:0] piece_reason;
	logic [31:0] piece_device;
	logic [63:0] piece_address;
	logic [8:0] piece_length, piece_left;
	logic [127:0] piece_data;
	logic [63:0] walk_address;

	(* hierconn *) wire [1:0] \dut.page_valid ;
	(* hierconn *) wire [1:0] \dut.table_valid ;
	(* hierconn *) wire [1:0] \dut.near_valid ;
	(* hierconn *) wire [55:0] \dut.near_tags ;
	(* hierconn *) wire \dut.page_index ;
	(* hierconn *) wire \dut.table_index ;
	(* hierconn *) wire \dut.fill_page ;
	(* hierconn *) wire \dut.fill_table ;
	(* hierconn *) wire \dut.near_write ;
	(* hierconn *) wire \dut.client ;
	(* hierconn *) wire [7:0] \dut.context_of ;
	(* hierconn *) wire [2:0] \dut.state ;

	logic begun = 1'b0;
	always_ff @(posedge clk) begun <= 1'b1;

	// ---- Contexts 0 and 1; memory answers a walk that was taken
	logic walking = 1'b0;
	always_comb begin
		assume (~|request_context[7:1]);
		if (walk_response) assume (walking);
	end
	always_ff @(posedge clk) begin
		if (begun & walk & walk_ready) walking <= 1'b1;
		else if (walk_response) walking <= 1'b0;
	end

	vta_translate #(
		.CLIENTS(2), .LOG_CLIENTS(1), .LOG_PAGES(1), .LOG_TABLES(1), .LOG_CONTEXTS(1),
		.LOG_MEM(22)
	) dut (
		.clk, .reset(~begun), .short_lines(1'b0), .request, .request_ready, .request_client,
		.request_context, .request_write, .request_begin, .request_direct,
		.request_address,
		.request_length, .request_data(128'd0), .piece, .piece_ready, .piece_client,
		.piece_write, .piece_first, .piece_last, .piece_fault, .piece_reason, .piece_card,
		.piece_device, .piece_address, .piece_length, .piece_left, .piece_data, .walk,
		.walk_ready, .walk_address, .walk_response, .walk_fault, .walk_data,
		.root_write(begun), .root_context(request_context[0]), .root_enable(1'b1),
		.root_address(50'd0),
		.invalidate(invalidate & begun), .invalidate_all,
		.invalidate_context({7'd0, invalidate_context}), .invalidating, .finished, .busy,
		.count_walk, .count_hit
	);

	// ---- Each entry's context, and whether it was read before an invalidation that is in progress
	logic [1:0] page_of, table_of, near_of;
	logic [1:0] page_old = '0, table_old = '0, near_old = '0;
	logic walk_old = 1'b0;
	logic [1:0] wanted = '0;		// contexts of the invalidation
	wire [1:0] asked = invalidate_all ? 2'b11 : invalidate_context ? 2'b10 : 2'b01;
	wire of = \dut.context_of [0];

	always_ff @(posedge clk) begin
		if (begun) begin
			if (invalidate) wanted <= asked | (invalidating ? wanted : 2'b00);
			else if (~invalidating) wanted <= '0;
			// An entry that is being read is as old as one that is kept.
			if (invalidate) walk_old <= 1'b1;
			else if (~\dut.state [2] & \dut.state < 3'd2) walk_old <= 1'b0;
			for (int n = 0; n < 2; n++) begin
				if (invalidate & asked[page_of[n]]) page_old[n] <= 1'b1;
				if (invalidate & asked[table_of[n]]) table_old[n] <= 1'b1;
				if (invalidate & asked[near_of[n]]) near_old[n] <= 1'b1;
			end
			if (\dut.fill_page ) begin
				page_of[\dut.page_index ] <= of;
				page_old[\dut.page_index ] <= invalidate | walk_old;
			end
			if (\dut.fill_table ) begin
				table_of[\dut.table_index ] <= of;
				table_old[\dut.table_index ] <= invalidate | walk_old;
			end
			if (\dut.near_write ) begin
				near_of[\dut.client ] <= of;
				near_old[\dut.client ] <= invalidate | walk_old | invalidating;
			end
		end
	end

	logic was = 1'b0;
	logic quiet = 1'b0;			// since the scan began, nothing was translated
	always_ff @(posedge clk) begin
		was <= invalidating & begun;
		if (begun & invalidating & finished & ~piece) quiet <= 1'b1;
		else if (piece | ~invalidating) quiet <= 1'b0;
		if (begun & was & ~invalidating) begin
			for (int n = 0; n < 2; n++) begin
				assert (~(\dut.page_valid [n] & page_old[n] & wanted[page_of[n]]));
				assert (~(\dut.table_valid [n] & table_old[n] & wanted[table_of[n]]));
				assert (~(\dut.near_valid [n] & near_old[n] & wanted[near_of[n]]));
			end
			assert (quiet & ~walking);
		end
	end
endmodule
