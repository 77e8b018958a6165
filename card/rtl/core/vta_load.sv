// SPDX-License-Identifier: Apache-2.0
// Executes LOAD (docs/isa.md, 4): reads rows from memory, and writes them with their padding to a
// scratchpad.
//
// One part requests bursts of up to 256 bytes, each from the byte after the last one; the other
// takes their data, of 16 bytes each, and writes one word of the scratchpad or a part of it in a
// clock. A scratchpad is a sequence of words of 2^n bits, in the order that its values have in
// memory; a word may be less than 16 bytes, or several times as much.
module vta_load #(
	parameter int LOG_UOP_WORD = 5,		// bits of a scratchpad's word in memory
	parameter int LOG_INP_WORD = 7,
	parameter int LOG_WGT_WORD = 11,
	parameter int LOG_ACC_WORD = 9,
	parameter int LOG_INP_BYTES = 4,	// bytes of an element in memory
	parameter int LOG_WGT_BYTES = 8,
	parameter int LOG_ACC_BYTES = 6
) (
	input logic clk,
	input logic halt,
	// The instruction: it is there in the clock before its start, and stays while it is executed
	input logic start,
	input logic zero,			// write zeroes in place of rows
	input logic [2:0] memory,
	input logic [15:0] sram_base,
	input logic [32:0] dram_base,		// in elements, or with `bytes` in bytes
	input logic bytes,
	input logic [15:0] y_size,
	input logic [16:0] x_size,		// more than 0
	input logic [15:0] x_stride,
	input logic [3:0] y_pad_0, y_pad_1, x_pad_0, x_pad_1,
	output logic done,
	output logic fault,
	output logic [3:0] fault_reason,
	output logic [31:0] fault_address,
	// Memory
	output logic request,
	input logic request_ready,
	output logic [31:0] request_address,
	output logic [8:0] request_length,
	input logic response,
	output logic response_ready,
	input logic response_last,
	input logic response_fault,
	input logic [3:0] response_reason,
	input logic [31:0] response_address,
	// The scratchpad
	output logic write,
	output logic [2:0] write_memory,
	output logic write_zero,
	output logic [23:0] write_word,
	output logic [9:0] write_part		// of the word, or of the 16 bytes
);
	localparam int LogBeat = 7;

	// ---- Sizes by memory: bytes and words of an element, bits of a word in memory
	logic [4:0] log_bytes, log_word;
	logic [49:0] dram_bytes, stride_bytes;
	logic [33:0] x_bytes;
	always_comb begin
		unique case (memory)
			vta_isa_pkg::MEMORY_UOP: begin
				log_bytes = 5'd2;
				dram_bytes = 50'(dram_base) << 2;
				stride_bytes = 50'(x_stride) << 2;
				x_bytes = 34'(x_size) << 2;
				log_word = 5'(LOG_UOP_WORD);
			end
			vta_isa_pkg::MEMORY_INP: begin
				log_bytes = 5'(LOG_INP_BYTES);
				dram_bytes = 50'(dram_base) << LOG_INP_BYTES;
				stride_bytes = 50'(x_stride) << LOG_INP_BYTES;
				x_bytes = 34'(x_size) << LOG_INP_BYTES;
				log_word = 5'(LOG_INP_WORD);
			end
			vta_isa_pkg::MEMORY_WGT: begin
				log_bytes = 5'(LOG_WGT_BYTES);
				dram_bytes = 50'(dram_base) << LOG_WGT_BYTES;
				stride_bytes = 50'(x_stride) << LOG_WGT_BYTES;
				x_bytes = 34'(x_size) << LOG_WGT_BYTES;
				log_word = 5'(LOG_WGT_WORD);
			end
			vta_isa_pkg::MEMORY_ACC_8BIT: begin
				log_bytes = 5'(LOG_ACC_BYTES - 2);
				dram_bytes = 50'(dram_base) << (LOG_ACC_BYTES - 2);
				stride_bytes = 50'(x_stride) << (LOG_ACC_BYTES - 2);
				x_bytes = 34'(x_size) << (LOG_ACC_BYTES - 2);
				log_word = 5'(LOG_ACC_WORD - 2);
			end
			default: begin
				log_bytes = 5'(LOG_ACC_BYTES);
				dram_bytes = 50'(dram_base) << LOG_ACC_BYTES;
				stride_bytes = 50'(x_stride) << LOG_ACC_BYTES;
				x_bytes = 34'(x_size) << LOG_ACC_BYTES;
				log_word = 5'(LOG_ACC_WORD);
			end
		endcase
	end
	wire [4:0] log_words = log_bytes + 5'd3 - log_word;
	wire [4:0] log_parts = log_word < 5'(LogBeat) ? 5'(LogBeat) - log_word : log_word - 5'(LogBeat);

	// In registers, since the instruction is there before its start
	logic narrow;
	logic [9:0] last_part, before_last;
	logic [49:0] first, stride;		// first row in memory, and from row to row
	logic [33:0] row_bytes;
	logic [23:0] first_word;
	logic [24:0] left_words, middle_words, right_words;	// of a row's segments
	logic left_one, middle_one, right_one;	// these are 1
	logic [16:0] end_row, last_row;		// with those of y_pad_0
	always_ff @(posedge clk) begin
		narrow <= log_word < 5'(LogBeat);
		last_part <= 10'((11'd1 << log_parts) - 11'd1);
		before_last <= 10'((11'd1 << log_parts) - 11'd2);
		first <= bytes ? 50'(dram_base) : dram_bytes;
		stride <= stride_bytes;
		row_bytes <= x_bytes;
		first_word <= 24'(sram_base) << log_words;
		left_words <= 25'(x_pad_0) << log_words;
		middle_words <= 25'(x_size) << log_words;
		right_words <= 25'(x_pad_1) << log_words;
		left_one <= x_pad_0 == 4'd1 & ~|log_words;
		middle_one <= x_size == 17'd1 & ~|log_words;
		right_one <= x_pad_1 == 4'd1 & ~|log_words;
		end_row <= 17'(y_pad_0) + 17'(y_size);
		last_row <= 17'(y_pad_0) + 17'(y_size) + 17'(y_pad_1) - 17'd1;
	end

	// ---- Requests
	logic requesting;
	logic [15:0] rows;			// to request, with the present one
	logic [49:0] row_address, address;
	logic [33:0] left;			// bytes of the row
	logic [3:0] outstanding;

	wire [49:0] next_row = row_address + stride;
	// No burst crosses the end of the address space.
	wire [8:0] fitting = 9'd256 - (&address[31:8] ? {1'b0, address[7:0]} : 9'd0);

	// A burst is measured in the clock before its request.
	logic measured, beyond, last;		// last: the burst is the row's last one
	logic [8:0] length;
	wire accepted = request & request_ready;
	wire completed = response & response_ready & response_last;
	logic overrun;
	always_ff @(posedge clk) begin
		overrun <= requesting & measured & beyond & ~|outstanding & ~halt;
		measured <= ~(start | accepted);
		beyond <= |address[49:32];
		last <= left <= 34'(fitting);
		length <= left <= 34'(fitting) ? left[8:0] : fitting;
	end

	assign request = requesting & measured & ~beyond & ~&outstanding;
	assign request_address = address[31:0];
	assign request_length = length;

	always_ff @(posedge clk) begin
		if (start) begin
			rows <= y_size;
			row_address <= first;
			address <= first;
			left <= row_bytes;
		end else if (accepted) begin
			address <= address + 50'(length);
			left <= left - 34'(length);
			if (last) begin
				rows <= rows - 16'd1;
				row_address <= next_row;
				address <= next_row;
				left <= row_bytes;
			end
		end
		if (halt) requesting <= 1'b0;
		else if (start) requesting <= |y_size & ~zero;
		else if (accepted & last & rows == 16'd1) requesting <= 1'b0;
		if (halt) outstanding <= '0;
		else outstanding <= outstanding + 4'(accepted) - 4'(completed);
	end

	// ---- Rows in the scratchpad: three segments each, of zeroes, data and zeroes
	localparam logic [1:0] Idle = 2'd0;
	localparam logic [1:0] Left = 2'd1;
	localparam logic [1:0] Middle = 2'd2;
	localparam logic [1:0] Right = 2'd3;

	logic [1:0] segment;
	logic [16:0] row;			// with those of y_pad_0
	logic of_memory, final_row;		// the row is one of memory, and the last one
	logic [24:0] words;			// of the segment that are to be written
	logic last_word;			// one of them
	logic [23:0] word;
	logic [9:0] part;
	logic at_last;				// it is the last one of its word, or of the 16 bytes

	wire data = segment == Middle & ~zero & of_memory;

	wire step = segment != Idle & (~data | (response & ~response_fault));
	wire word_done = step & (~data | narrow | at_last);
	wire segment_done = word_done & last_word;
	wire row_done = segment_done & (segment == Right | (segment == Middle & ~|x_pad_1));

	wire [16:0] row_after = row + 17'd1;

	assign response_ready = data & (response_fault | ~narrow | at_last | last_word);
	assign write = step & ~halt;
	assign write_memory = memory;
	assign write_zero = ~data;
	assign write_word = word;
	assign write_part = data ? part : '0;
	wire ended = row_done & final_row;
	assign fault = overrun | (data & response & response_fault);
	assign fault_reason = overrun ? vta_isa_pkg::FAULT_PAGE : response_reason;
	assign fault_address = overrun ? address[31:0] : response_address;

	always_ff @(posedge clk) begin
		done <= ended & ~halt;
		if (start) begin
			row <= '0;
			of_memory <= ~|y_pad_0 & |y_size;
			final_row <= ~|last_row;
			word <= first_word;
			part <= '0;
			at_last <= ~|last_part;
		end else if (step) begin
			if (word_done) word <= word + 24'd1;
			if (row_done) begin
				row <= row_after;
				of_memory <= row_after >= 17'(y_pad_0) & row_after < end_row;
				final_row <= row_after == last_row;
			end
			part <= data & ~segment_done & ~at_last ? part + 10'd1 : '0;
			at_last <= data & ~segment_done & ~at_last ? part == before_last : ~|last_part;
		end

		if (halt) segment <= Idle;
		else if (start | (row_done & ~ended)) segment <= |x_pad_0 ? Left : Middle;
		else if (ended) segment <= Idle;
		else if (segment_done) segment <= segment == Left ? Middle : Right;

		if (start | row_done) begin
			words <= |x_pad_0 ? left_words : middle_words;
			last_word <= |x_pad_0 ? left_one : middle_one;
		end else if (segment_done) begin
			words <= segment == Left ? middle_words : right_words;
			last_word <= segment == Left ? middle_one : right_one;
		end else if (word_done) begin
			words <= words - 25'd1;
			last_word <= words == 25'd2;
		end
	end
endmodule
