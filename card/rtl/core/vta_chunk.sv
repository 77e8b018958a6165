// SPDX-License-Identifier: Apache-2.0
// Puts a word of a scratchpad into 16 bytes of memory, or takes 16 bytes of it.
module vta_chunk #(
	parameter int LOG_WORD = 7		// bits of the word
) (
	input logic [(1 << LOG_WORD) - 1:0] word,
	input logic [9:0] part,			// place in the 16 bytes, or in the word
	input logic [127:0] earlier,		// the 16 bytes with the parts before
	output logic [127:0] beat
);
	localparam int LogBeat = 7;

	if (LOG_WORD < LogBeat) begin : gen_narrow
		wire [LogBeat - LOG_WORD - 1:0] place = part[LogBeat - LOG_WORD - 1:0];
		wire unused = &{1'b0, part};

		for (genvar n = 0; n < 1 << (LogBeat - LOG_WORD); n++) begin : gen_place
			assign beat[n << LOG_WORD +: 1 << LOG_WORD] =
				place == (LogBeat - LOG_WORD)'(n) ? word : earlier[n << LOG_WORD +: 1 << LOG_WORD];
		end
	end else if (LOG_WORD == LogBeat) begin : gen_equal
		wire unused = &{1'b0, part, earlier};

		assign beat = word;
	end else begin : gen_wide
		wire [LOG_WORD - LogBeat - 1:0] place = part[LOG_WORD - LogBeat - 1:0];
		wire unused = &{1'b0, part, earlier};

		assign beat = word[{place, LogBeat'(0)} +: 128];
	end
endmodule
