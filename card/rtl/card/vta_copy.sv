// SPDX-License-Identifier: Apache-2.0
// Executes COPY and FILL (docs/hardware.md, 7): reads rows ahead, by lines of their memory, and
// writes them 16 bytes at a time.
//
// The first fault is that of the first byte that could not be copied, of its read before its write.
module vta_copy #(
	parameter int LOG_AHEAD = 5		// 16 bytes that are read ahead
) (
	input logic clk,
	input logic reset,
	// The descriptor
	input logic start,
	input logic fill,
	input logic [31:0] dst, src,		// or the pattern
	input logic [31:0] width, rows,
	input logic [31:0] dst_pitch, src_pitch,
	input logic stop,			// gives it up
	output logic busy,
	output logic done,			// for one clock, with what follows
	output logic fault,
	output logic fault_source,
	output logic [3:0] fault_reason,
	output logic [31:0] fault_address,
	output logic [31:0] finished_rows,
	// Reads of the source
	output logic read,
	input logic read_ready,
	output logic read_begin,
	output logic [31:0] read_address,
	output logic [8:0] read_length,
	input logic read_response,
	input logic read_last,
	input logic read_fault,
	input logic [3:0] read_reason,
	input logic [31:0] read_fault_address,
	input logic [127:0] read_data,
	// Writes to the destination
	output logic write,
	input logic write_ready,
	output logic write_begin,
	output logic [31:0] write_address,
	output logic [8:0] write_length,
	output logic [127:0] write_data,
	input logic acknowledge,
	input logic write_fault,
	input logic [3:0] write_reason,
	input logic [31:0] write_fault_address
);
	logic filling, ending;			// ending: nothing more is read or written
	logic [31:0] width_of, dst_step, src_step, pattern;

	// ---- The reader: the row's lines, as far as there is room for them
	logic reading, reader_begin;
	logic [31:0] reader_rows, reader_left;
	logic [63:0] reader_row, reader_at;
	logic [LOG_AHEAD:0] room;		// for 16 bytes that are on their way or kept
	logic [LOG_AHEAD:0] reads;		// requests without a last response

	wire reader_beyond = |reader_at[63:32];
	wire [8:0] reader_line = 9'd256 - {1'b0, reader_at[7:0]};
	wire [8:0] reader_length = reader_left < 32'(reader_line) ? reader_left[8:0] : reader_line;
	wire [LOG_AHEAD:0] reader_beats = (LOG_AHEAD + 1)'((reader_length + 9'd15) >> 4);
	wire [63:0] reader_next = reader_row + 64'(src_step);
	wire reader_ends = reader_left == 32'(reader_length);
	assign read = reading & ~ending & ~reader_beyond & room >= reader_beats;
	assign read_begin = reader_begin;
	assign read_address = reader_at[31:0];
	assign read_length = reader_length;
	wire requested = read & read_ready;

	// ---- What was read
	logic ahead_valid, ahead_pop, bad;	// bad: a read has faulted
	logic [3:0] bad_reason;
	logic [31:0] bad_address;
	logic [127:0] ahead_data;
	logic unused_room;
	wire arrived = read_response & ~read_fault & ~bad & ~ending;
	wire returned = read_response & read_last;
	vta_order #(.WIDTH(128), .LOG_DEPTH(LOG_AHEAD)) ahead (
		.clk, .clear(reset | start), .room(unused_room), .push(arrived),
		.push_data(read_data), .valid(ahead_valid), .data(ahead_data), .pop(ahead_pop)
	);

	always_ff @(posedge clk) begin
		if (start) begin
			reader_rows <= rows;
			reader_left <= width;
			reader_row <= 64'(src);
			reader_at <= 64'(src);
			reader_begin <= 1'b1;
		end else if (requested) begin
			reader_begin <= reader_ends;
			reader_left <= reader_ends ? width_of : reader_left - 32'(reader_length);
			reader_at <= reader_ends ? reader_next : reader_at + 64'(reader_length);
			if (reader_ends) begin
				reader_row <= reader_next;
				reader_rows <= reader_rows - 32'd1;
			end
		end
		if (start) reading <= ~fill & |width & |rows;
		else if (ending | bad | (requested & reader_ends & reader_rows == 32'd1))
			reading <= 1'b0;

		if (start) room <= (LOG_AHEAD + 1)'(1) << LOG_AHEAD;
		else room <= room - (requested ? reader_beats : '0) + (LOG_AHEAD + 1)'(ahead_pop);
		if (reset) reads <= '0;
		else reads <= reads + (LOG_AHEAD + 1)'(requested) - (LOG_AHEAD + 1)'(returned);

		if (start) bad <= 1'b0;
		else if (read_response & read_fault) bad <= 1'b1;
		if (read_response & read_fault & ~bad) begin
			bad_reason <= read_reason;
			bad_address <= read_fault_address;
		end
	end

	// ---- The writer
	logic writing, writer_begin;
	logic [31:0] writer_rows, writer_left;
	logic [7:0] writer_source, writer_source_row;	// the source's place in its line
	logic [63:0] writer_row, writer_at;
	logic [6:0] writes;			// without an answer
	logic write_bad;
	logic [3:0] write_bad_reason;
	logic [31:0] write_bad_address;

	wire writer_beyond = |writer_at[63:32];
	wire [8:0] source_line = 9'd256 - {1'b0, writer_source};
	// What was read at once: to 16 bytes, to the end of the line, to the end of the row
	wire [4:0] part = source_line < 9'd16 & ~filling ? source_line[4:0] : 5'd16;
	wire [4:0] row_part = writer_left < 32'(part) ? writer_left[4:0] : part;
	// Nothing is written behind a write that ends with the address space.
	wire [4:0] fitting = &writer_at[31:4] ? 5'd16 - {1'b0, writer_at[3:0]} : 5'd16;
	wire [4:0] writer_length = row_part > fitting ? fitting : row_part;
	wire writer_ends = writer_left == 32'(writer_length);
	wire [63:0] writer_next = writer_row + 64'(dst_step);
	wire has_data = filling | ahead_valid;

	assign write = writing & ~ending & ~write_bad & has_data & ~writer_beyond & ~writes[6];
	assign write_begin = writer_begin;
	assign write_address = writer_at[31:0];
	assign write_length = {4'd0, writer_length};
	assign write_data = filling ? {4{pattern}} : ahead_data;
	wire put = write & write_ready;
	assign ahead_pop = put & ~filling & row_part <= fitting;

	// A row is finished when its last write is.
	logic ends_valid, ends_row, unused_ends_room;
	wire answered = acknowledge | write_fault;
	vta_order #(.WIDTH(1), .LOG_DEPTH(6)) ends (
		.clk, .clear(reset | start), .room(unused_ends_room), .push(put),
		.push_data(writer_ends), .valid(ends_valid), .data(ends_row),
		.pop(answered & ends_valid)
	);

	always_ff @(posedge clk) begin
		if (start) begin
			writer_rows <= rows;
			writer_left <= width;
			writer_source <= src[7:0];
			writer_source_row <= src[7:0];
			writer_row <= 64'(dst);
			writer_at <= 64'(dst);
			writer_begin <= 1'b1;
		end else if (put) begin
			writer_begin <= writer_ends;
			writer_left <= writer_ends ? width_of : writer_left - 32'(writer_length);
			writer_at <= writer_ends ? writer_next : writer_at + 64'(writer_length);
			writer_source <= writer_ends ? writer_source_row + src_step[7:0] :
				writer_source + 8'(writer_length);
			if (writer_ends) begin
				writer_row <= writer_next;
				writer_source_row <= writer_source_row + src_step[7:0];
				writer_rows <= writer_rows - 32'd1;
			end
		end
		if (reset) writing <= 1'b0;
		else if (start) writing <= |width & |rows;
		else if (put & writer_ends & writer_rows == 32'd1) writing <= 1'b0;

		if (reset) writes <= '0;
		else writes <= writes + 7'(put) - 7'(answered);
		if (start) write_bad <= 1'b0;
		else if (write_fault) write_bad <= 1'b1;
		if (write_fault & ~write_bad) begin
			write_bad_reason <= write_reason;
			write_bad_address <= write_fault_address;
		end
		if (start) finished_rows <= |width ? '0 : rows;
		else if (acknowledge & ends_row & ends_valid & ~write_bad)
			finished_rows <= finished_rows + 32'd1;
	end

	// ---- The end
	wire source_fault = writing & ~has_data & ~|reads & (bad | (reading & reader_beyond));
	wire target_fault = writing & has_data & writer_beyond;
	assign done = busy & ~|reads & ~|writes &
		(~writing | ending | write_bad | source_fault | target_fault);
	assign fault = write_bad | source_fault | target_fault;
	assign fault_source = ~write_bad & source_fault;
	always_comb begin
		fault_reason = vta_isa_pkg::FAULT_PAGE;
		fault_address = writer_at[31:0];
		if (write_bad) begin
			fault_reason = write_bad_reason;
			fault_address = write_bad_address;
		end else if (source_fault) begin
			fault_reason = bad ? bad_reason : vta_isa_pkg::FAULT_PAGE;
			fault_address = bad ? bad_address : reader_at[31:0];
		end
	end

	always_ff @(posedge clk) begin
		if (start) begin
			filling <= fill;
			pattern <= src;
			width_of <= width;
			dst_step <= dst_pitch;
			src_step <= src_pitch;
		end
		if (reset) busy <= 1'b0;
		else busy <= start | (busy & ~done);
		if (reset | start) ending <= 1'b0;
		else if (stop | write_bad | target_fault) ending <= 1'b1;
	end
endmodule
