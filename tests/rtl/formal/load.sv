// SPDX-License-Identifier: GPL-2.0-only
// LOAD requests each byte of its rows once and in order, and no other byte; it writes the words of
// its elements in the scratchpad in order, from the first to the last one, and no other word, and
// writes only while it executes an instruction.
module load_of #(
	parameter int LOG_WORD = 6,		// of the scratchpad, in bits
	parameter int LOG_BYTES = 4
) (
	input logic clk,
	input logic go, stop, zero, bytes,
	input logic [15:0] sram_base, x_stride, y_size, x_size,
	input logic [32:0] dram_base,
	input logic [3:0] y_pad_0, y_pad_1, x_pad_0, x_pad_1,
	input logic request_ready, response_is, response_fault, response_last_is
);
	localparam int LogWords = LOG_BYTES + 3 - LOG_WORD;

	logic done, fault, request, response_ready, write, write_zero;
	logic [3:0] fault_reason;
	logic [31:0] fault_address, request_address;
	logic [8:0] request_length;
	logic [2:0] write_memory;
	logic [23:0] write_word;
	logic [9:0] write_part;

	(* hierconn *) wire \dut.ended ;
	logic begun, halt, busy;
	logic [49:0] row, next, next_row;
	logic [33:0] left;
	logic [15:0] rows;			// of memory, to request

	// ---- The instruction is there before its start, and stays while it is executed
	wire [114:0] fields = {zero, bytes, x_stride, x_size, y_size, y_pad_0, y_pad_1, x_pad_0, x_pad_1,
		sram_base, dram_base};
	logic [114:0] kept, before;
	wire steady = fields == before;
	always_ff @(posedge clk) before <= fields;

	wire [16:0] height = 17'(y_pad_0) + 17'(y_size) + 17'(y_pad_1);
	wire [16:0] width = 17'(x_pad_0) + 17'(x_size) + 17'(x_pad_1);
	wire start = go & steady & ~busy & ~|rows & ~halt & |height & |x_size;
	wire accepted = request & request_ready;

	rows #(.LOG_BYTES(LOG_BYTES)) moved_rows (
		.clk, .stop, .start, .done(\dut.ended ), .fault,
		.first(bytes ? 50'(dram_base) : 50'(dram_base) << LOG_BYTES), .x_size, .x_stride,
		.y_size(zero ? 16'd0 : y_size), .accepted, .request_length, .begun, .halt, .busy,
		.row, .next, .next_row, .left, .count(rows)
	);

	always_ff @(posedge clk) if (start) kept <= fields;
	always_comb if (busy | |rows) assume (kept == fields & |x_size);

	// ---- Memory has 16 bytes at a time for a request; of the pending ones these are left
	logic [7:0] pending = '0;
	logic [7:0] beats = '0;
	wire response = response_is & |beats;
	wire response_last = response_fault | response_last_is;
	always_ff @(posedge clk) begin
		pending <= halt ? '0 : pending + 8'(accepted) -
			8'(response & response_ready & response_last);
		beats <= halt ? '0 : beats + (accepted ? 8'((request_length + 9'd15) >> 4) : 8'd0) -
			8'(response & response_ready);
	end
	always_comb if (response_last) assume (|pending);

	vta_load #(
		.LOG_INP_WORD(LOG_WORD), .LOG_INP_BYTES(LOG_BYTES)
	) dut (
		.clk, .halt, .start, .zero, .memory(vta_isa_pkg::MEMORY_INP), .sram_base, .dram_base,
		.bytes, .y_size, .x_size({1'b0, x_size}), .x_stride, .y_pad_0, .y_pad_1, .x_pad_0,
		.x_pad_1, .done, .fault, .fault_reason, .fault_address, .request, .request_ready,
		.request_address, .request_length, .response, .response_ready, .response_last,
		.response_fault, .response_reason(4'd1), .response_address(32'd0), .write,
		.write_memory, .write_zero, .write_word, .write_part
	);

	// ---- The next word of the scratchpad, and how many are left of its row
	logic [23:0] word;
	logic [24:0] words;			// of the scratchpad's row
	logic [16:0] lines = '0;		// rows of the scratchpad
	logic moved;				// a word's last part is written
	wire [24:0] line_words = 25'(width) << LogWords;
	always_ff @(posedge clk) begin
		if (halt) begin
			lines <= '0;
		end else if (start) begin
			word <= 24'(sram_base) << LogWords;
			words <= line_words;
			lines <= height;
		end else if (moved) begin
			word <= word + 24'd1;
			words <= words == 25'd1 ? line_words : words - 25'd1;
			if (words == 25'd1) lines <= lines - 17'd1;
		end
	end
	localparam bit Narrow = LOG_WORD < 7;
	localparam logic [9:0] LastPart = Narrow ? '0 : 10'((1 << (LOG_WORD - 7)) - 1);
	localparam logic [9:0] LastPartOfData = 10'((1 << (Narrow ? 7 - LOG_WORD : LOG_WORD - 7)) - 1);
	assign moved = write & (write_zero | Narrow | write_part == LastPart);

	always_ff @(posedge clk) begin
		if (begun) begin
			if (request & ~halt) begin
				assert (|rows & next == {18'd0, request_address});
				assert (|request_length & 34'(request_length) <= left);
			end
			if (write) begin
				assert (busy & |lines & |words & write_word == word);
				assert (~halt & (write_zero | (response & ~response_fault)));
			end
			if (\dut.ended & ~halt)
				assert (busy & lines == 17'd1 & words == 25'd1 & moved);
			assert (done == has_ended);
			assert (busy == |lines);
		end
	end

	logic has_ended;
	always_ff @(posedge clk) has_ended <= \dut.ended & ~halt;

	// ---- The unit's own account of the same
	(* hierconn *) wire \dut.narrow ;
	(* hierconn *) wire [9:0] \dut.last_part ;
	(* hierconn *) wire [9:0] \dut.before_last ;
	(* hierconn *) wire \dut.at_last ;
	(* hierconn *) wire [49:0] \dut.stride ;
	(* hierconn *) wire [33:0] \dut.row_bytes ;
	(* hierconn *) wire [24:0] \dut.left_words ;
	(* hierconn *) wire [24:0] \dut.middle_words ;
	(* hierconn *) wire [24:0] \dut.right_words ;
	(* hierconn *) wire \dut.left_one ;
	(* hierconn *) wire \dut.middle_one ;
	(* hierconn *) wire \dut.right_one ;
	(* hierconn *) wire [16:0] \dut.end_row ;
	(* hierconn *) wire [16:0] \dut.last_row ;
	(* hierconn *) wire \dut.of_memory ;
	(* hierconn *) wire \dut.final_row ;
	(* hierconn *) wire \dut.last_word ;
	(* hierconn *) wire \dut.measured ;
	(* hierconn *) wire \dut.beyond ;
	(* hierconn *) wire \dut.last ;
	(* hierconn *) wire [8:0] \dut.length ;
	(* hierconn *) wire \dut.requesting ;
	(* hierconn *) wire [15:0] \dut.rows ;
	(* hierconn *) wire [49:0] \dut.row_address ;
	(* hierconn *) wire [49:0] \dut.address ;
	(* hierconn *) wire [33:0] \dut.left ;
	(* hierconn *) wire [3:0] \dut.outstanding ;
	(* hierconn *) wire [1:0] \dut.segment ;
	(* hierconn *) wire [16:0] \dut.row ;
	(* hierconn *) wire [24:0] \dut.words ;
	(* hierconn *) wire [23:0] \dut.word ;
	(* hierconn *) wire [9:0] \dut.part ;
	localparam logic [1:0] Left = 2'd1;
	localparam logic [1:0] Middle = 2'd2;
	wire [24:0] right_words = 25'(x_pad_1) << LogWords;
	always_ff @(posedge clk) begin
		if (begun) begin
			assert (busy == |\dut.segment );
			if (busy) begin
				assert (|x_size & |height);
				assert (word == \dut.word & |\dut.words & lines <= height);
				assert (lines + \dut.row == height);
				assert (\dut.words <= (\dut.segment == Left ? 25'(x_pad_0) :
					\dut.segment == Middle ? 25'(x_size) : 25'(x_pad_1)) << LogWords);
				assert (\dut.part <= LastPartOfData);
				assert (\dut.at_last == (\dut.part == LastPartOfData));
				assert (\dut.last_word == (\dut.words == 25'd1));
				assert (\dut.final_row == (lines == 17'd1));
				assert (\dut.of_memory == (\dut.row >= 17'(y_pad_0) &
					\dut.row < \dut.end_row ));
				if (\dut.segment == Left)
					assert (words == \dut.words + (25'(x_size) << LogWords) + right_words);
				else if (\dut.segment == Middle) assert (words == \dut.words + right_words);
				else assert (words == \dut.words );
			end
			assert (\dut.requesting == |rows & pending == 8'(\dut.outstanding ));
			assert (\dut.narrow == Narrow & \dut.last_part == LastPartOfData);
			assert (\dut.before_last == LastPartOfData - 10'd1);
			if (busy | |rows) begin
				assert (\dut.stride == 50'(x_stride) << LOG_BYTES);
				assert (\dut.row_bytes == 34'(x_size) << LOG_BYTES);
				assert (\dut.left_words == 25'(x_pad_0) << LogWords);
				assert (\dut.middle_words == 25'(x_size) << LogWords);
				assert (\dut.right_words == right_words);
				assert (\dut.left_one == (\dut.left_words == 25'd1));
				assert (\dut.middle_one == (\dut.middle_words == 25'd1));
				assert (\dut.right_one == (\dut.right_words == 25'd1));
				assert (\dut.end_row == 17'(y_pad_0) + 17'(y_size));
				assert (\dut.last_row == height - 17'd1);
			end
			if (|rows & \dut.measured ) begin
				assert (\dut.beyond == |next[49:32] & |\dut.length );
				assert (34'(\dut.length ) <= left & \dut.last == (34'(\dut.length ) == left));
			end
			if (|rows) begin
				assert (rows == \dut.rows );
				assert (row == \dut.row_address & next == \dut.address );
				assert (left == \dut.left & |left);
			end
		end
	end
endmodule
