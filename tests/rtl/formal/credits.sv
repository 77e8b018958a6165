// SPDX-License-Identifier: GPL-2.0-only
// The credit of a group is never below -2^34 ns, and above 0 only for the group that has the turn: at
// most its weight times the quantum, whatever is asked for. A queue is chosen only if it is ready, and
// only of a group whose credit is above 0.
//
// The quantum is 2^31 ns, so at most 8 are owed, and weights are 1 to 7: products stay small.
module credits_of (
	input logic clk,
	input logic again,			// a reset
	input logic request, request_queue, request_group,
	input logic [2:0] request_kind,
	input logic [63:0] request_value,
	input logic [1:0] look_priority
);
	localparam int LogQuantum = 31;
	localparam logic signed [43:0] Least = -(44'sd1 << 34);
	localparam logic [4:0] Clear = 5'd0;
	localparam logic [4:0] Begin = 5'd2;
	localparam logic [4:0] ChangeRead = 5'd3;
	localparam logic [4:0] Change = 5'd4;
	localparam logic [4:0] CountRead = 5'd5;
	localparam logic [4:0] Count = 5'd6;
	localparam logic [4:0] Divide = 5'd7;
	localparam logic [4:0] Compare = 5'd8;
	localparam logic [4:0] AddRead = 5'd9;
	localparam logic [4:0] Add = 5'd10;
	localparam logic [4:0] TurnRead = 5'd11;
	localparam logic [4:0] Turn = 5'd12;
	localparam logic [4:0] TakeRead = 5'd13;
	localparam logic [4:0] Take = 5'd14;
	localparam logic [4:0] Served = 5'd17;

	logic request_ready, chosen, chosen_none, any;
	logic [7:0] chosen_queue, look_queue;

	(* hierconn *) wire [4:0] \dut.state ;
	(* hierconn *) wire [2:0] \dut.kind ;
	(* hierconn *) wire [63:0] \dut.value ;
	(* hierconn *) wire \dut.group ;
	(* hierconn *) wire \dut.turn ;
	(* hierconn *) wire [14:0] \dut.rounds ;
	(* hierconn *) wire [14:0] \dut.dividend ;
	(* hierconn *) wire [14:0] \dut.quotient ;
	(* hierconn *) wire [7:0] \dut.remainder ;
	(* hierconn *) wire [3:0] \dut.bits ;
	(* hierconn *) wire [1:0] \dut.queue_ready ;
	(* hierconn *) wire [1:0] \dut.group_ready ;
	(* hierconn *) wire [129:0] \dut.groups.words ;
	(* hierconn *) wire [64:0] \dut.groups.kept ;

	logic begun = 1'b0;
	always_ff @(posedge clk) begun <= 1'b1;

	always_comb assume (~|request_value[7:3] | request_kind != vta_card_pkg::ARBITER_WEIGHT);

	vta_arbiter #(.QUEUES(2), .GROUPS(2), .LOG_QUANTUM(LogQuantum)) dut (
		.clk, .reset(again | ~begun), .request, .request_ready, .request_kind, .request_queue,
		.request_group, .request_value, .chosen, .chosen_none, .chosen_queue, .look_queue,
		.look_priority, .any
	);

	wire [4:0] state = \dut.state ;
	wire group = \dut.group ;
	wire choose = \dut.kind == vta_card_pkg::ARBITER_CHOOSE;
	wire pass = \dut.kind == vta_card_pkg::ARBITER_IDLE;
	// A choice whose turn has no credit; no group has one until the turn comes to it.
	wire searching = state >= CountRead & state <= Turn & choose;
	// The least rounds of a ready group are known.
	wire counted = searching & (state > Compare | (group & \dut.group_ready [0]));
	wire [3:0] rounds = \dut.rounds [3:0];

	// ---- Groups: weights, credits, and quanta that are owed
	logic [2:0] weight [1:0];
	logic signed [43:0] credit [1:0];
	logic [3:0] debt [1:0];
	for (genvar n = 0; n < 2; n++) begin : gen_group
		assign weight[n] = \dut.groups.words [n * 65 + 57 +: 3];
		assign credit[n] = 44'(signed'(\dut.groups.words [n * 65 + 21 +: 36]));
		assign debt[n] = 4'(-credit[n] >> LogQuantum);
		wire cleared = state != Clear | group > 1'(n);
		wire [6:0] grown = 7'(rounds) * 7'(weight[n]);		// in quanta
		always_ff @(posedge clk) begin
			if (begun & cleared) begin
				assert (credit[n] >= Least);
				assert (credit[n] <= (\dut.turn == 1'(n) ?
					signed'(44'(weight[n]) << LogQuantum) : 44'sd0));
				// Invariants
				assert (|weight[n] & ~|\dut.groups.words [n * 65 + 60 +: 5]);
				if (searching) assert (credit[n] <= 44'sd0);
				if (counted & state <= Add & \dut.group_ready [n] &
				    (state < AddRead ? group > 1'(n) : group <= 1'(n)))
					assert (grown <= 7'(debt[n]));
			end
		end
	end

	// ---- The division
	wire [3:0] known = 4'd14 - \dut.bits ;
	wire [14:0] owed = {11'd0, group ? debt[1] : debt[0]};
	wire [2:0] share = group ? weight[1] : weight[0];
	wire above = group ? credit[1] > 44'sd0 : credit[0] > 44'sd0;
	wire [3:0] quotient = \dut.quotient [3:0];
	wire [7:0] product = 8'(quotient) * 8'(share) + 8'(\dut.remainder [2:0]);
	always_ff @(posedge clk) begin
		if (begun) begin
			if (chosen & ~chosen_none)
				assert (\dut.queue_ready [chosen_queue[0]] & above);
			// Invariants
			assert (state <= Served);
			if (\dut.kind == vta_card_pkg::ARBITER_WEIGHT & state >= Begin & state <= Change)
				assert (~|\dut.value [7:3]);
			if (state >= TakeRead) assert (above & choose);
			if (state >= CountRead & state <= Compare) assert (choose);
			if (state == AddRead | state == Add) assert (choose | pass);
			if (counted | (pass & (state == Begin | state == AddRead | state == Add)))
				assert (\dut.rounds <= 15'd8);
			if (choose & (state == ChangeRead | state == Change))
				assert (group == \dut.turn & any);
			if (state == TurnRead | state == Turn) assert (choose & \dut.rounds == 15'd1);
			if (searching) assert (any);
			if (state == Change | state == Count | state == Divide | state == Compare |
			    state == Add | state == Turn | state >= Take)
				assert (\dut.groups.kept == (group ? \dut.groups.words [129:65] :
					\dut.groups.words [64:0]));
			if (state == Count | state == Divide | state == Compare)
				assert (\dut.group_ready [group]);
			if (state == Divide) begin
				assert (\dut.bits <= 4'd14);
				assert (product == 8'(owed >> (4'd15 - known)));
				assert (\dut.dividend == owed << known);
			end
			if (state == Compare) assert (product == 8'(owed));
			if (state == Divide | state == Compare) begin
				assert (~|\dut.remainder [7:3] & \dut.remainder [2:0] < share);
				assert (\dut.quotient <= 15'd8);
			end
		end
	end
endmodule
