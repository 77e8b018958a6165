// SPDX-License-Identifier: GPL-2.0-only
// No doorbell is lost: a live queue without a descriptor in hand wants the front end, or has it, if
// and only if the host has submitted more than is completed, whenever doorbells and changes come;
// and one that holds a WAIT checks it again after a doorbell.
//
// Settings of queues are any; the front end makes a change of the queue that it owns, whose state
// it has seen for a clock.
module doorbell_of (
	input logic clk,
	input logic access, access_write, access_peek, access_doorbell, access_queue,
	input logic [4:0] access_word,
	input logic [31:0] access_data,
	input logic [1:0] context_enabled,
	input logic serving, front_queue, front_completing,
	input logic [3:0] change_asked,
	input logic [1:0] change_unit, engine_queue,
	input logic look_queue
);
	logic clearing, access_done, access_bad, count_doorbell, count_arm, arm_interrupt;
	logic change_ready, change_interrupt, any_busy;
	logic [1:0] wants, front_unit, engine_dropped, look_priority;
	logic [31:0] access_value, arm_vector, front_setting;
	logic [63:0] front_seq;
	logic unwritten, faulting, overflow, stopping, live, idle, ready, held, check, waiting;
	logic dropped, offered;

	(* hierconn *) wire [1:0] \dut.active ;
	(* hierconn *) wire [1:0] \dut.unwritten ;
	(* hierconn *) wire [1:0] \dut.stopping ;
	(* hierconn *) wire [1:0] \dut.faulting ;
	(* hierconn *) wire [1:0] \dut.ready ;
	(* hierconn *) wire [1:0] \dut.executing ;
	(* hierconn *) wire [1:0] \dut.held ;
	(* hierconn *) wire [1:0] \dut.waiting ;
	(* hierconn *) wire [1:0] \dut.check ;
	(* hierconn *) wire [1:0] \dut.owned ;
	(* hierconn *) wire [1:0] \dut.dropped ;
	(* hierconn *) wire [1:0] \dut.compute ;
	(* hierconn *) wire [1:0] \dut.copy ;
	(* hierconn *) wire [5:0] \dut.clear_at ;
	(* hierconn *) wire \dut.q ;
	(* hierconn *) wire \dut.reading ;
	(* hierconn *) wire \dut.acting ;
	(* hierconn *) wire \dut.acted ;
	(* hierconn *) wire \dut.submit ;
	(* hierconn *) wire [127:0] \dut.seqs.words ;
	(* hierconn *) wire [127:0] \dut.seqs_of_front.words ;
	(* hierconn *) wire [63:0] \dut.submits.words ;
	(* hierconn *) wire [63:0] \dut.submits_of_front.words ;
	(* hierconn *) wire [63:0] \dut.seqs.kept ;
	(* hierconn *) wire [63:0] \dut.seqs_of_front.kept ;
	(* hierconn *) wire [31:0] \dut.submits_of_front.kept ;

	logic begun = 1'b0;
	logic front_before = 1'b0;		// its queue in the clock before
	logic access_before = 1'b0, done_before = 1'b0;
	always_ff @(posedge clk) begin
		begun <= 1'b1;
		front_before <= front_queue;
		access_before <= access & begun;
		done_before <= access_done;
	end

	// ---- The front end (tests/rtl/formal/order.sv)
	wire own = change_asked == vta_card_pkg::CHANGE_OWN;
	wire executes = \dut.executing [front_queue];
	wire now_idle = ~\dut.ready [front_queue] & ~executes & ~\dut.held [front_queue];
	wire completes = change_asked == vta_card_pkg::CHANGE_COMPLETED;
	always_comb begin
		assume (~|change_asked | own | front_queue == front_before);
		if (completes) assume (executes);
		if (front_completing) assume (executes & ~\dut.unwritten [front_queue]);
		if (completes) assume (front_completing);
		// It waits for what an engine executes.
		if (change_asked == vta_card_pkg::CHANGE_STARTED)
			assume (\dut.unwritten [front_queue] & now_idle);
		// No queue is started that the front end has.
		if (change_asked == vta_card_pkg::CHANGE_HALTED |
		    change_asked == vta_card_pkg::CHANGE_STOPPED)
			assume (~\dut.unwritten [front_queue]);
		if (change_asked == vta_card_pkg::CHANGE_IDLE) assume (\dut.dropped [front_queue]);
		if (change_asked == vta_card_pkg::CHANGE_FETCHED)
			assume (now_idle & \dut.active [front_queue]);
		if (change_asked == vta_card_pkg::CHANGE_BEGUN) assume (\dut.ready [front_queue]);
		if (change_asked == vta_card_pkg::CHANGE_HELD) assume (executes);
		// An access stays until it is done.
		if (access_before & ~done_before) assume (access);
	end

	vta_queues #(.QUEUES(2), .CONTEXTS(2)) dut (
		.clk, .reset(~begun), .clearing, .access(access & begun), .access_write,
		.access_peek, .access_doorbell, .access_queue, .access_word, .access_data,
		.access_done, .access_value, .access_bad, .count_doorbell, .count_arm,
		.arm_interrupt, .arm_vector, .context_enabled, .serving, .fatal(1'b0), .wants,
		.front_queue, .front_completing, .change(change_asked), .change_ready,
		.change_unit, .change_interrupt, .front_word(5'd3), .front_setting, .front_seq,
		.front_unwritten(unwritten), .front_faulting(faulting),
		.front_overflow(overflow), .front_stopping(stopping), .front_live(live),
		.front_idle(idle), .front_ready(ready), .front_held(held), .front_check(check),
		.front_waiting(waiting), .front_dropped(dropped), .front_offered(offered),
		.front_unit, .engine_queue, .engine_dropped, .look_queue, .look_priority, .any_busy
	);

	logic rung = 1'b0;			// a doorbell of rung_queue in the clock before
	logic rung_queue = 1'b0;
	always_ff @(posedge clk) begin
		rung <= \dut.submit & begun;
		rung_queue <= \dut.q ;
	end
	for (genvar n = 0; n < 2; n++) begin : gen_queue
		wire [31:0] seq = \dut.seqs.words [n * 64 +: 32];
		wire [31:0] submitted = \dut.submits.words [n * 32 +: 32];
		wire is_live = \dut.active [n] & ~\dut.unwritten [n] & ~\dut.stopping [n] &
			~\dut.faulting [n];
		wire in_hand = \dut.ready [n] | \dut.executing [n] | \dut.held [n];
		always_ff @(posedge clk) begin
			if (begun & is_live & ~in_hand) begin
				assert (\dut.waiting [n] == (submitted != seq));
				assert (wants[n] == (submitted != seq & serving & ~\dut.owned [n]));
			end
			if (begun & is_live & \dut.held [n] & rung & rung_queue == 1'(n))
				assert (\dut.check [n]);
			if (begun & is_live & \dut.held [n] & \dut.check [n])
				assert (wants[n] | \dut.owned [n]);
			// Invariants
			if (begun & \dut.dropped [n])
				assert (\dut.stopping [n] | \dut.faulting [n]);
			if (begun & \dut.unwritten [n]) assert (\dut.active [n]);
			if (begun & clearing)
				assert (~|{\dut.active [n], in_hand, \dut.reading , \dut.acting });
			if (begun & clearing & \dut.clear_at > 6'(n))
				assert (~|{\dut.seqs.words [n * 64 +: 64], submitted});
			if (begun & (~clearing | \dut.clear_at > 6'(n))) begin
				assert (\dut.seqs.words [n * 64 +: 64] ==
					\dut.seqs_of_front.words [n * 64 +: 64]);
				assert (\dut.submits.words [n * 32 +: 32] ==
					\dut.submits_of_front.words [n * 32 +: 32]);
			end
		end
	end
	always_ff @(posedge clk) begin
		// A change and an access meet the numbers as they are.
		if (begun & ~clearing & change_ready & front_queue == front_before) begin
			assert (\dut.seqs_of_front.kept [31:0] ==
				\dut.seqs.words [32'(front_queue) * 64 +: 32]);
			assert (\dut.submits_of_front.kept ==
				\dut.submits.words [32'(front_queue) * 32 +: 32]);
		end
		if (begun & ~clearing & \dut.acting )
			assert (\dut.seqs.kept [31:0] == \dut.seqs.words [32'(\dut.q ) * 64 +: 32]);
	end
endmodule
