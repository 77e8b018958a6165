// SPDX-License-Identifier: GPL-2.0-only
// The check of a loop's bounds: if it passes, each micro-op's indices stay within the scratchpads in
// the last round, and so in each. Shown for any one micro-op, `n`; micro-ops may be written between
// checks, and the maxima of the last check may be used again.
module scan_of #(
	parameter int LOG_UOP_DEPTH = 2
) (
	input logic clk,
	input logic stop, want, write, use_src, use_wgt, src_is_acc,
	input logic [15:0] uop_bgn, write_dst, write_src, write_wgt, other_dst, other_src, other_wgt,
	input logic [16:0] uop_end,
	input logic [7:0] dst_most, src_most, wgt_most
);
	localparam int LogDepth = 3;

	(* anyconst *) logic [15:0] n;
	logic read, done, outside;
	logic [15:0] read_uop;

	logic begun = 1'b0;
	logic checking = 1'b0;
	logic [1:0] is_first = '0;		// done belongs to the check before
	always_ff @(posedge clk) begun <= 1'b1;
	wire halt = ~begun | stop;
	wire check = want & ~checking & ~halt;

	// ---- Micro-op n; while no loop is checked or executed it may be written
	logic [15:0] dst, src, wgt, kept_dst, kept_src, kept_wgt;
	wire forget = write & ~checking & ~check;
	logic [15:0] read_dst, read_src, read_wgt;
	always_ff @(posedge clk) begin
		if (forget) {kept_dst, kept_src, kept_wgt} <= {write_dst, write_src, write_wgt};
		{dst, src, wgt} <= {read_dst, read_src, read_wgt};
		if (read) {read_dst, read_src, read_wgt} <= read_uop == n ? {kept_dst, kept_src, kept_wgt} :
			{other_dst, other_src, other_wgt};
	end

	// ---- The loop stays while it is checked
	logic [60:0] kept;
	wire [60:0] loop = {use_src, use_wgt, src_is_acc, uop_bgn, uop_end, dst_most, src_most, wgt_most};
	wire complete = checking & done & ~|is_first;
	always_ff @(posedge clk) begin
		if (halt | complete) checking <= 1'b0;
		else if (check) checking <= 1'b1;
		is_first <= halt ? '0 : {is_first[0], check};
		if (check) kept <= loop;
	end
	always_comb begin
		assume (17'(uop_bgn) < uop_end & uop_end <= 17'd6);
		if (checking) assume (kept == loop);
	end

	vta_scan #(
		.LOG_UOP_DEPTH(LOG_UOP_DEPTH), .LOG_INP_DEPTH(LogDepth), .LOG_WGT_DEPTH(LogDepth),
		.LOG_ACC_DEPTH(LogDepth)
	) dut (
		.clk, .halt, .forget, .check, .uop_bgn, .uop_end, .use_src, .use_wgt, .src_is_acc,
		.dst_most(32'(dst_most)), .src_most(32'(src_most)), .wgt_most(32'(wgt_most)), .read,
		.read_uop, .dst, .src, .wgt, .done, .outside
	);

	wire is_n = n >= uop_bgn & 17'(n) < uop_end;
	always_ff @(posedge clk) begin
		if (begun & ~halt & complete & ~outside) begin
			assert (uop_end <= 17'd1 << LOG_UOP_DEPTH);
			if (is_n) begin
				assert (32'(kept_dst) + 32'(dst_most) < 32'd1 << LogDepth);
				if (use_src) assert (32'(kept_src) + 32'(src_most) < 32'd1 << LogDepth);
				if (use_wgt) assert (32'(kept_wgt) + 32'(wgt_most) < 32'd1 << LogDepth);
			end
		end
	end

	// ---- The maxima cover micro-op n, once it has been read
	(* hierconn *) wire \dut.known ;
	(* hierconn *) wire \dut.scanning ;
	(* hierconn *) wire \dut.reading ;
	(* hierconn *) wire \dut.arriving ;
	(* hierconn *) wire \dut.begin_scan ;
	(* hierconn *) wire \dut.too_many ;
	(* hierconn *) wire \dut.same ;
	(* hierconn *) wire \dut.comparing ;
	(* hierconn *) wire [16:0] \dut.uop ;
	(* hierconn *) wire [15:0] \dut.known_bgn ;
	(* hierconn *) wire [16:0] \dut.known_end ;
	(* hierconn *) wire [15:0] \dut.dst_max ;
	(* hierconn *) wire [15:0] \dut.src_max ;
	(* hierconn *) wire [15:0] \dut.wgt_max ;
	logic reading_n = 1'b0;
	logic arriving_n = 1'b0;
	wire covered = kept_dst <= \dut.dst_max & kept_src <= \dut.src_max & kept_wgt <= \dut.wgt_max ;
	wire in_known = n >= \dut.known_bgn & 17'(n) < \dut.known_end ;
	wire passed = ~\dut.scanning | 17'(n) < \dut.uop ;
	always_ff @(posedge clk) begin
		reading_n <= read & read_uop == n;
		arriving_n <= reading_n;
	end
	always_ff @(posedge clk) begin
		if (begun & ~stop) begin
			assert (\dut.begin_scan == is_first[0]);
			if (|is_first | \dut.scanning | \dut.reading | \dut.arriving | \dut.comparing )
				assert (checking);
			if (\dut.scanning | \dut.reading | \dut.arriving | \dut.comparing )
				assert (~is_first[0] & ~done);
			if (is_first[1]) assert (~is_first[0] & ~done);
			if (checking) assert (\dut.too_many == uop_end > 17'd1 << LOG_UOP_DEPTH);
			if (is_first[0]) assert (\dut.same ==
				(\dut.known_bgn == uop_bgn & \dut.known_end == uop_end));
			if (checking & ~is_first[0]) assert (\dut.known == ~\dut.too_many );
			if (checking & ~is_first[0] & \dut.known )
				assert (\dut.known_bgn == uop_bgn & \dut.known_end == uop_end);
			assert (~(\dut.comparing & (\dut.scanning | \dut.reading | \dut.arriving )));
			assert (~(\dut.scanning & \dut.arriving & ~\dut.reading ));
			if (\dut.scanning ) assert (\dut.known );
			if (\dut.scanning ) assert (\dut.uop < \dut.known_end & \dut.uop >= 17'(\dut.known_bgn ));
			if (\dut.known & in_known & passed & ~(\dut.reading & reading_n) &
			    ~(\dut.arriving & arriving_n)) assert (covered);
			if (\dut.reading & reading_n)
				assert ({read_dst, read_src, read_wgt} == {kept_dst, kept_src, kept_wgt});
			if (\dut.arriving & arriving_n)
				assert ({dst, src, wgt} == {kept_dst, kept_src, kept_wgt});
		end
	end
endmodule
