// SPDX-License-Identifier: Apache-2.0
// A scratchpad of micro-ops, inputs or weights, which vta_load writes by words or parts of words.
module vta_pad #(
	parameter int LOG_WORD = 7,		// bits of a word
	parameter int LOG_WORDS = 11
) (
	input logic clk,
	input logic write,
	input logic write_zero,
	input logic [23:0] write_word,
	input logic [9:0] write_part,
	input logic [127:0] write_data,
	input logic read,
	input logic [23:0] read_word,
	output logic [(1 << LOG_WORD) - 1:0] read_data
);
	localparam int LogBeat = 7;
	localparam int Width = vta_isa_pkg::max(LOG_WORDS, 1);

	wire [Width - 1:0] write_address = write_word[Width - 1:0];
	wire [Width - 1:0] read_address = read_word[Width - 1:0];
	wire unused = &{1'b0, write_word[23:Width], read_word[23:Width], write_part};

	if (LOG_WORD < LogBeat) begin : gen_narrow
		// A word is a part of 16 bytes.
		wire [LogBeat - LOG_WORD - 1:0] part = write_part[LogBeat - LOG_WORD - 1:0];
		wire [(1 << LOG_WORD) - 1:0] value = write_data[{part, LOG_WORD'(0)} +: 1 << LOG_WORD];

		vta_ram #(.WIDTH(1 << LOG_WORD), .LOG_DEPTH(LOG_WORDS), .MEETING(1'b0)) memory (
			.clk, .write, .write_address, .write_data(write_zero ? '0 : value),
			.read, .read_address, .read_data
		);
	end else begin : gen_wide
		for (genvar n = 0; n < 1 << (LOG_WORD - LogBeat); n++) begin : gen_part
			vta_ram #(.WIDTH(128), .LOG_DEPTH(LOG_WORDS), .MEETING(1'b0)) memory (
				.clk, .write(write & (write_zero | write_part == 10'(n))),
				.write_address, .write_data(write_zero ? '0 : write_data),
				.read, .read_address, .read_data(read_data[128 * n +: 128])
			);
		end
	end
endmodule
