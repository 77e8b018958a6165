// SPDX-License-Identifier: GPL-2.0-only
// STORE writes each byte of its rows once and in order, and no other byte: each request is at the
// place after the last one and stays within the row.
module store_of #(
	parameter int LOG_LANES = 3,
	parameter int LOG_WIDTH = 3,
	parameter int LOG_BYTES = 4
) (
	input logic clk,
	input logic go, stop,
	input logic [15:0] sram_base, x_stride, y_size, x_size,
	input logic [31:0] dram_base,
	input logic [23:0] elements,
	input logic request_ready, response_is, response_fault,
	input logic [(1 << (LOG_LANES + LOG_WIDTH)) - 1:0] read_data
);
	localparam int WordBits = LOG_LANES + LOG_WIDTH - 3;	// log of a word's bytes
	localparam int LogWords = LOG_BYTES - WordBits;
	localparam logic [24:0] WordBytes = 25'd1 << WordBits;

	logic done, fault, read, request;
	logic [3:0] fault_reason;
	logic [31:0] fault_address, request_address;
	logic [23:0] read_word;
	logic [8:0] request_length;
	logic [127:0] request_data;

	// ---- Signals of the unit
	(* hierconn *) wire \dut.busy ;
	(* hierconn *) wire \dut.filling ;
	(* hierconn *) wire \dut.full ;
	(* hierconn *) wire [15:0] \dut.rows ;
	(* hierconn *) wire [23:0] \dut.row_words ;
	(* hierconn *) wire [23:0] \dut.words ;
	(* hierconn *) wire [23:0] \dut.word ;
	(* hierconn *) wire [9:0] \dut.part ;
	(* hierconn *) wire [49:0] \dut.row_address ;
	(* hierconn *) wire [49:0] \dut.address ;
	(* hierconn *) wire [31:0] \dut.beat_address ;
	(* hierconn *) wire \dut.beyond ;
	(* hierconn *) wire \dut.crossing ;
	(* hierconn *) wire [4:0] \dut.request_bytes ;
	(* hierconn *) wire [4:0] \dut.outstanding ;
	(* hierconn *) wire [2:0] \dut.room ;
	(* hierconn *) wire [2:0] \dut.unused_count ;
	(* hierconn *) wire \dut.read_valid ;
	(* hierconn *) wire \dut.few ;
	(* hierconn *) wire \dut.last_word ;

	logic [23:0] words = '0;		// to read
	logic begun, halt, busy;
	logic [49:0] row, next, next_row;
	logic [33:0] left;
	logic [15:0] rows;			// to request
	// All words were read and written before: `elements` is the number of the rows' elements.
	wire start = go & ~busy & ~halt & |x_size & |y_size & \dut.room == 3'd4 & ~|words;
	wire accepted = request & request_ready;

	rows #(.LOG_BYTES(LOG_BYTES)) moved_rows (
		.clk, .stop, .start, .done, .fault, .first(50'(dram_base) << LOG_BYTES), .x_size,
		.x_stride, .y_size, .accepted, .request_length, .begun, .halt, .busy, .row, .next,
		.next_row, .left, .count(rows)
	);

	// ---- The instruction stays while it is executed
	logic [15:0] kept_stride, kept_x, kept_y;
	always_ff @(posedge clk) begin
		if (start) {kept_stride, kept_x, kept_y} <= {x_stride, x_size, y_size};
	end
	always_comb if (busy) assume ({kept_stride, kept_x, kept_y} == {x_stride, x_size, y_size});

	// ---- Memory answers what it has accepted
	logic [7:0] pending = '0;
	wire response = response_is & |pending;
	always_ff @(posedge clk) begin
		pending <= halt ? '0 : pending + 8'(accepted) - 8'(response);
	end

	vta_store #(
		.LOG_LANES(LOG_LANES), .LOG_WIDTH(LOG_WIDTH), .LOG_BYTES(LOG_BYTES)
	) dut (
		.clk, .halt, .start, .sram_base, .dram_base, .y_size, .x_size, .x_stride,
		.elements, .done, .fault, .fault_reason, .fault_address, .read,
		.read_word, .read_data, .request, .request_ready,
		.request_address, .request_length, .request_data, .response, .response_fault,
		.response_reason(4'd1), .response_address(32'd0)
	);

	// ---- The next word to read
	logic [23:0] word;
	always_ff @(posedge clk) begin
		if (halt) begin
			words <= '0;
		end else if (start) begin
			word <= 24'(sram_base) << LogWords;
			words <= elements << LogWords;
		end else if (read) begin
			word <= word + 24'd1;
			words <= words - 24'd1;
		end
	end

	always_ff @(posedge clk) begin
		if (begun) begin
			if (request) begin
				assert (|rows & next == {18'd0, request_address});
				assert (|request_length & 34'(request_length) <= left);
			end
			if (read) assert (|words & read_word == word);
			if (done) assert (busy & ~|rows);
			if (halt) assert (~read);
		end
	end

	// ---- The unit's own account of the same
	wire [24:0] unfilled = 25'(\dut.row_words + 24'(\dut.part )) << WordBits;
	wire ends = \dut.full & (~\dut.filling | \dut.rows != rows);	// the request ends its row
	always_ff @(posedge clk) begin
		if (begun) begin
			assert (\dut.busy == busy);
			assert (10'(\dut.room ) + 10'(\dut.read_valid ) +
				10'(\dut.unused_count ) == 10'd4);
			assert (busy | ~(\dut.filling | \dut.full ));
			assert (pending == 8'(\dut.outstanding ));
			assert (~\dut.few | ~&\dut.outstanding );
			assert (words == \dut.words & (~|words | word == \dut.word ));
			assert (~|rows | busy);
			if (\dut.filling ) begin
				assert (|\dut.rows & |\dut.row_words );
				assert (\dut.last_word == (\dut.row_words == 24'd1));
				assert (25'(\dut.row_words ) <= 25'(x_size) << LogWords);
				assert (\dut.row_address == (ends ? next_row : row));
				assert (\dut.part <= 10'd1);
				if (ends) assert (17'(rows) == 17'(\dut.rows ) + 17'd1 & ~|\dut.part &
					unfilled == 25'(x_size) << LOG_BYTES & \dut.address == next_row);
				else assert (rows == \dut.rows );
				if (~\dut.full ) assert (next == \dut.address & left == 34'(unfilled));
			end else if (busy) begin
				assert (rows == 16'(\dut.full ));
			end
			if (\dut.full & ~\dut.beyond ) begin
				assert (next == {18'd0, \dut.beat_address });
				assert (|\dut.request_bytes & \dut.request_bytes <= 5'd16);
				// The request that crosses the end of the address space is cut.
				if (\dut.crossing )
					assert (next + 50'(\dut.request_bytes ) == 50'd1 << 32 &
						left > 34'(\dut.request_bytes ));
				else
					assert (left == 34'(\dut.request_bytes ) +
						(ends ? 34'd0 : 34'(unfilled)));
				if (~ends) assert (\dut.address == next + 50'd16 &
					(\dut.crossing | \dut.request_bytes == 5'd16));
			end
		end
	end
endmodule
