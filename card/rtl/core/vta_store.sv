// SPDX-License-Identifier: Apache-2.0
// Executes STORE (docs/isa.md, 4): reads words of the accumulators' low bits, and writes rows to
// memory, 16 bytes a request.
//
// Words are read ahead into a queue, since they come in the clock after the read.
module vta_store #(
	parameter int LOG_LANES = 4,		// values of a word
	parameter int LOG_WIDTH = 3,		// bits of a value in memory
	parameter int LOG_BYTES = 4		// bytes of an element in memory
) (
	input logic clk,
	input logic halt,
	// The instruction
	input logic start,
	input logic [15:0] sram_base,
	input logic [31:0] dram_base,
	input logic [15:0] y_size, x_size, x_stride,	// more than 0
	input logic [23:0] elements,
	output logic done,
	output logic fault,
	output logic [3:0] fault_reason,
	output logic [31:0] fault_address,
	// Words of accumulators: data comes in the clock after the read
	output logic read,
	output logic [23:0] read_word,
	input logic [(1 << (LOG_LANES + LOG_WIDTH)) - 1:0] read_data,
	// Memory
	output logic request,
	input logic request_ready,
	output logic [31:0] request_address,
	output logic [8:0] request_length,
	output logic [127:0] request_data,
	input logic response,
	input logic response_fault,
	input logic [3:0] response_reason,
	input logic [31:0] response_address
);
	localparam int LogBeat = 7;
	localparam int LogWord = LOG_LANES + LOG_WIDTH;
	localparam int WordBits = 1 << LogWord;
	localparam int LogWords = LOG_BYTES + 3 - LogWord;	// words of an element
	localparam bit Narrow = LogWord < LogBeat;
	localparam int LogParts = Narrow ? LogBeat - LogWord : LogWord - LogBeat;
	localparam logic [9:0] LastPart = 10'((11'd1 << LogParts) - 11'd1);
	localparam int LogAhead = 2;

	// ---- Words
	logic [23:0] word, words;			// next, and left to read
	logic [LogAhead:0] room;			// for words that are read
	logic [LogAhead:0] unused_count;
	logic read_valid, word_valid, word_pop;
	logic [WordBits - 1:0] word_data;

	assign read = |words & |room & ~halt;
	assign read_word = word;

	vta_fifo #(.WIDTH(WordBits), .LOG_DEPTH(LogAhead)) ahead (
		.clk, .clear(halt), .push(read_valid & ~halt), .push_data(read_data),
		.valid(word_valid), .data(word_data), .pop(word_pop), .count(unused_count)
	);

	always_ff @(posedge clk) begin
		read_valid <= read;
		if (halt) words <= '0;
		else if (start) words <= 24'(elements) << LogWords;
		else if (read) words <= words - 24'd1;
		if (start) word <= 24'(sram_base) << LogWords;
		else if (read) word <= word + 24'd1;
		if (halt | start) room <= (LogAhead + 1)'(1) << LogAhead;
		else room <= room - (LogAhead + 1)'(read) + (LogAhead + 1)'(word_pop);
	end

	// ---- Rows
	logic busy, filling;			// rows are left to put into requests
	logic [15:0] rows;
	logic [23:0] row_words;			// of the row, left
	logic [9:0] part;
	logic [49:0] row_address, address;	// of the row, and of the next request's data

	wire [23:0] x_words = 24'(x_size) << LogWords;
	wire [49:0] next_row = row_address + (50'(x_stride) << LOG_BYTES);

	// ---- The request in hand
	logic full;
	logic [127:0] beat;
	logic [31:0] beat_address;
	logic [4:0] outstanding;

	// No request crosses the end of the address space.
	logic beyond, crossing;
	logic [4:0] request_bytes;
	wire [4:0] fitting = &address[31:4] ? 5'd16 - {1'b0, address[3:0]} : 5'd16;

	logic few;				// of the outstanding ones, also with one more
	assign request = full & ~beyond & few;
	assign request_address = beat_address;
	assign request_length = {4'd0, request_bytes};
	assign request_data = beat;
	wire accepted = request & request_ready;
	logic overrun;

	// A word, or a part of it, goes into the request if that is not full or leaves now.
	wire step = filling & word_valid & (~full | (request_ready & few & ~beyond & ~crossing));
	wire last_part = part == LastPart;
	logic last_word;			// row_words is 1
	wire one_word = LogWords == 0 & x_size == 16'd1;
	wire word_end = step & (Narrow | last_part);
	wire row_end = word_end & last_word;
	wire beat_end = step & (~Narrow | last_part | last_word);
	assign word_pop = word_end;

	assign fault = overrun | (response & response_fault);
	assign fault_reason = overrun ? vta_isa_pkg::FAULT_PAGE : response_reason;
	assign fault_address = overrun ? beat_address : response_address;

	// ---- Data of the request
	wire [7:0] bits_before = 8'(part) << (Narrow ? LogWord : 0);
	wire [4:0] bytes_filled = Narrow ? 5'((bits_before + 8'(WordBits)) >> 3) : 5'd16;
	wire beat_crossing = bytes_filled > fitting;
	if (Narrow) begin : gen_narrow
		for (genvar n = 0; n < 1 << LogParts; n++) begin : gen_place
			always_ff @(posedge clk) begin
				if (step & part == 10'(n)) beat[n * WordBits +: WordBits] <= word_data;
			end
		end
	end else begin : gen_wide
		always_ff @(posedge clk) begin
			if (step) beat <= word_data[32'(part) * 128 +: 128];
		end
	end

	always_ff @(posedge clk) begin
		if (step) part <= beat_end & (Narrow | last_part) ? '0 : part + 10'd1;
		if (beat_end) begin
			beat_address <= address[31:0];
			request_bytes <= beat_crossing ? fitting : bytes_filled;
			beyond <= |address[49:32];
			crossing <= beat_crossing;
			address <= address + 50'd16;
		end else if (accepted & crossing) begin
			beat_address <= '0;
			beyond <= 1'b1;
			crossing <= 1'b0;
		end
		if (word_end) begin
			row_words <= row_words - 24'd1;
			last_word <= row_words == 24'd2;
		end
		if (row_end) begin
			rows <= rows - 16'd1;
			row_words <= x_words;
			last_word <= one_word;
			row_address <= next_row;
			address <= next_row;
		end
		if (start) begin
			rows <= y_size;
			row_words <= x_words;
			last_word <= one_word;
			part <= '0;
			row_address <= 50'(dram_base) << LOG_BYTES;
			address <= 50'(dram_base) << LOG_BYTES;
		end

		few <= outstanding < 5'd30;
		overrun <= full & beyond & ~|outstanding & ~halt;
		done <= busy & ~filling & ~full & ~|outstanding & ~done & ~halt;
		if (halt) begin
			busy <= 1'b0;
			filling <= 1'b0;
			full <= 1'b0;
			outstanding <= '0;
		end else begin
			if (start) busy <= 1'b1;
			else if (done) busy <= 1'b0;
			if (start) filling <= 1'b1;
			else if (row_end & rows == 16'd1) filling <= 1'b0;
			if (beat_end) full <= 1'b1;
			else if (accepted & ~crossing) full <= 1'b0;
			outstanding <= outstanding + 5'(accepted) - 5'(response);
		end
	end
endmodule
