// SPDX-License-Identifier: Apache-2.0
// Numbers of the card (docs/hardware.md); tests/rtl/numbers.py compares them with uapi/vta.h.
package vta_card_pkg;
	// Entries of page tables (section 5)
	localparam int PTE_VALID = 0;
	localparam int PTE_WRITE = 1;
	localparam int PTE_CARD = 2;
	localparam int PTE_BLOCK = 3;

	// Reasons of faults, and purposes of accesses (section 8), but for those of vta_isa_pkg
	localparam logic [3:0] FAULT_PERM = 4'd2;
	localparam logic [3:0] FAULT_ENTRY = 4'd3;
	localparam logic [3:0] FAULT_DMA = 4'd4;
	localparam logic [3:0] FAULT_DESC = 4'd5;
	localparam logic [3:0] FAULT_DOORBELL = 4'd11;
	localparam logic [3:0] FAULT_TIME = 4'd12;
	localparam logic [3:0] ACCESS_RING = 4'd1;
	localparam logic [3:0] ACCESS_COPY_SRC = 4'd6;
	localparam logic [3:0] ACCESS_COPY_DST = 4'd7;
	localparam logic [3:0] ACCESS_SIGNAL = 4'd8;
	localparam logic [3:0] ACCESS_WAIT = 4'd9;
	localparam logic [3:0] ACCESS_STAMP = 4'd10;

	// Operations of descriptors, their flags' bits, and the cycles of a copy (section 7)
	localparam logic [7:0] OP_NOP = 8'd0;
	localparam logic [7:0] OP_RUN = 8'd1;
	localparam logic [7:0] OP_COPY = 8'd2;
	localparam logic [7:0] OP_FILL = 8'd3;
	localparam logic [7:0] OP_SIGNAL = 8'd4;
	localparam logic [7:0] OP_WAIT = 8'd5;
	localparam int DESC_STAMP = 8;
	localparam int DESC_KEEP = 9;
	localparam int COPY_LATENCY = 16;

	// Units that execute descriptors
	localparam logic [1:0] UNIT_FRONT = 2'd0;
	localparam logic [1:0] UNIT_COMPUTE = 2'd1;
	localparam logic [1:0] UNIT_COPY = 2'd2;

	// Changes of a queue (vta_queues)
	localparam logic [3:0] CHANGE_NONE = 4'd0;
	localparam logic [3:0] CHANGE_OWN = 4'd1;
	localparam logic [3:0] CHANGE_RELEASE = 4'd2;
	localparam logic [3:0] CHANGE_STARTED = 4'd3;	// its start is in the status page
	localparam logic [3:0] CHANGE_HALTED = 4'd4;	// its fault is
	localparam logic [3:0] CHANGE_STOPPED = 4'd5;	// its stop is
	localparam logic [3:0] CHANGE_FETCHED = 4'd6;	// a descriptor is in hand
	localparam logic [3:0] CHANGE_OFFERED = 4'd7;	// to its engine's arbiter
	localparam logic [3:0] CHANGE_WITHDRAWN = 4'd8;
	localparam logic [3:0] CHANGE_BEGUN = 4'd9;	// it is executed
	localparam logic [3:0] CHANGE_CHECKING = 4'd10;	// a WAIT reads its word
	localparam logic [3:0] CHANGE_HELD = 4'd11;
	localparam logic [3:0] CHANGE_FAULT = 4'd12;
	localparam logic [3:0] CHANGE_COMPLETED = 4'd13;
	localparam logic [3:0] CHANGE_IDLE = 4'd14;	// the descriptor in hand is dropped
	localparam logic [3:0] CHANGE_SIGNALLED = 4'd15;	// each held WAIT checks again

	// Requests of vta_arbiter
	localparam logic [2:0] ARBITER_OFFER = 3'd0;	// the queue of the group is ready
	localparam logic [2:0] ARBITER_WITHDRAW = 3'd1;	// or no longer
	localparam logic [2:0] ARBITER_WEIGHT = 3'd2;	// of the group, whose credit becomes 0
	localparam logic [2:0] ARBITER_CHARGE = 3'd3;	// the group has used the engine for so many ns
	localparam logic [2:0] ARBITER_IDLE = 3'd4;	// so many rounds have passed without a ready queue
	localparam logic [2:0] ARBITER_CHOOSE = 3'd5;	// a queue, which is no longer ready then

	// The first of @requests after @last, or the first of all
	function automatic logic [3:0] choose(input logic [15:0] requests, input logic [3:0] last);
		choose = '0;
		for (int n = 15; n >= 0; n--)
			if (requests[n]) choose = 4'(n);
		for (int n = 15; n >= 0; n--)
			if (requests[n] & 4'(n) > last) choose = 4'(n);
	endfunction
endpackage
