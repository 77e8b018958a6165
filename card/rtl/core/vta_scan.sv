// SPDX-License-Identifier: Apache-2.0
// Checks the bounds of a loop before its first round (docs/isa.md, 5 to 7): finds the largest
// fields of its micro-ops, one a clock, and adds the offsets of its last round.
//
// All parts of an index only grow, so the largest sum is that of the last round. The maxima stay
// valid for other loops of the same micro-ops until a micro-op is written.
module vta_scan #(
	parameter int LOG_UOP_DEPTH = 13,
	parameter int LOG_INP_DEPTH = 11,
	parameter int LOG_WGT_DEPTH = 10,
	parameter int LOG_ACC_DEPTH = 11
) (
	input logic clk,
	input logic halt,
	input logic forget,			// a micro-op is written
	input logic check,			// the loop is there, and stays until `done`
	input logic [15:0] uop_bgn,
	input logic [16:0] uop_end,		// more than uop_bgn
	input logic use_src, use_wgt, src_is_acc,
	input logic [31:0] dst_most, src_most, wgt_most,	// offsets in the last round
	output logic read,
	output logic [15:0] read_uop,
	input logic [15:0] dst, src, wgt,	// fields of the micro-op read two clocks before
	output logic done,
	output logic outside
);
	localparam logic [16:0] UopDepth = 17'd1 << LOG_UOP_DEPTH;
	localparam logic [31:0] InpDepth = 32'd1 << LOG_INP_DEPTH;
	localparam logic [31:0] WgtDepth = 32'd1 << LOG_WGT_DEPTH;
	localparam logic [31:0] AccDepth = 32'd1 << LOG_ACC_DEPTH;

	logic begin_scan;			// `check` of the clock before
	logic scanning, reading, arriving, comparing;
	logic known;				// the maxima are those of these micro-ops:
	logic [15:0] known_bgn;
	logic [16:0] known_end;
	logic [16:0] uop;
	logic [15:0] dst_max, src_max, wgt_max;

	logic too_many, same;			// the loop has those micro-ops whose maxima are known
	wire again = known & same & ~forget;
	wire last = uop + 17'd1 == uop_end;

	assign read = scanning;
	assign read_uop = uop[15:0];

	wire [31:0] src_depth = src_is_acc ? AccDepth : InpDepth;
	wire [31:0] dst_last = 32'(dst_max) + dst_most;
	wire [31:0] src_last = 32'(src_max) + src_most;
	wire [31:0] wgt_last = 32'(wgt_max) + wgt_most;

	always_ff @(posedge clk) begin
		too_many <= uop_end > UopDepth;
		same <= known_bgn == uop_bgn & known_end == uop_end;
		if (begin_scan) begin
			uop <= 17'(uop_bgn);
			if (~again) begin
				known_bgn <= uop_bgn;
				known_end <= uop_end;
				dst_max <= '0;
				src_max <= '0;
				wgt_max <= '0;
			end
		end else begin
			if (scanning) uop <= uop + 17'd1;
			if (arriving) begin
				if (dst > dst_max) dst_max <= dst;
				if (src > src_max) src_max <= src;
				if (wgt > wgt_max) wgt_max <= wgt;
			end
		end
		outside <= too_many | dst_last >= AccDepth | (use_src & src_last >= src_depth) |
			(use_wgt & wgt_last >= WgtDepth);

		if (halt) begin
			begin_scan <= 1'b0;
			scanning <= 1'b0;
			reading <= 1'b0;
			arriving <= 1'b0;
			comparing <= 1'b0;
			done <= 1'b0;
			known <= 1'b0;
		end else begin
			begin_scan <= check;
			if (begin_scan) scanning <= ~again & ~too_many;
			else if (last) scanning <= 1'b0;
			reading <= scanning;
			arriving <= reading;
			comparing <= (begin_scan & (again | too_many)) | (arriving & ~reading);
			done <= comparing | (done & ~begin_scan);
			if (forget) known <= 1'b0;
			else if (begin_scan) known <= ~too_many;
		end
	end
endmodule
