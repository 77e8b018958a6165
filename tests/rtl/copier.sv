// SPDX-License-Identifier: GPL-2.0-only
// The copy engine with its way to memory, for the tests of the two.
module copier #(
	parameter int LOG_PAGES = 4,
	parameter int LOG_TABLES = 2,
	parameter int LOG_CONTEXTS = 8,
	parameter int LOG_MEM = 22,
	parameter int LOG_TAGS = 5
) (
	input logic clk,
	input logic reset,
	input logic short_lines,
	// The descriptor (vta_copy)
	input logic start, fill, stop,
	input logic [7:0] context_of,
	input logic [31:0] dst, src, width, rows, dst_pitch, src_pitch,
	output logic busy, done, fault, fault_source,
	output logic [3:0] fault_reason,
	output logic [31:0] fault_address, finished_rows,
	// The bus, card memory, contexts and counters (vta_mmu)
	input logic bus_on,
	output logic bus_request,
	input logic bus_request_ready,
	output logic bus_request_write,
	output logic [63:0] bus_request_address,
	output logic [8:0] bus_request_length,
	output logic [LOG_TAGS:0] bus_request_tag,
	output logic bus_request_last,
	output logic [127:0] bus_request_data,
	input logic bus_response,
	input logic [LOG_TAGS:0] bus_response_tag,
	input logic bus_response_fault,
	input logic [127:0] bus_response_data,
	output logic mem_request,
	input logic mem_request_ready,
	output logic mem_request_write,
	output logic [63:0] mem_request_address,
	output logic [8:0] mem_request_length,
	output logic [LOG_TAGS - 1:0] mem_request_tag,
	output logic mem_request_last,
	output logic [127:0] mem_request_data,
	input logic mem_response,
	output logic mem_response_ready,
	input logic [LOG_TAGS - 1:0] mem_response_tag,
	input logic [127:0] mem_response_data,
	input logic root_write, root_enable,
	input logic [LOG_CONTEXTS - 1:0] root_context,
	input logic [63:14] root_address,
	input logic invalidate, invalidate_all,
	input logic [7:0] invalidate_context,
	output logic invalidating, idle, count_walk, count_hit
);
	logic read, read_ready, read_begin, write, write_ready, write_begin;
	logic [31:0] read_address, write_address, response_address;
	logic [8:0] read_length, write_length;
	logic [127:0] write_data, response_data;
	logic [1:0] response;
	logic acknowledge, unused_acknowledge;
	logic response_last, response_fault;
	logic [3:0] response_reason;

	vta_copy copy (
		.clk, .reset, .start, .fill, .dst, .src, .width, .rows, .dst_pitch, .src_pitch,
		.stop, .busy, .done, .fault, .fault_source, .fault_reason, .fault_address,
		.finished_rows, .read, .read_ready, .read_begin, .read_address, .read_length,
		.read_response(response[0]), .read_last(response_last),
		.read_fault(response_fault), .read_reason(response_reason),
		.read_fault_address(response_address), .read_data(response_data), .write,
		.write_ready, .write_begin, .write_address, .write_length, .write_data,
		.acknowledge, .write_fault(response[1]),
		.write_reason(response_reason), .write_fault_address(response_address)
	);

	vta_mmu #(
		.CLIENTS(2), .LOG_CLIENTS(1), .LOG_PAGES(LOG_PAGES), .LOG_TABLES(LOG_TABLES),
		.LOG_CONTEXTS(LOG_CONTEXTS), .LOG_MEM(LOG_MEM), .LOG_TAGS(LOG_TAGS)
	) mmu (
		.clk, .reset, .short_lines, .request({write, read}),
		.request_ready({write_ready, read_ready}), .request_direct(2'b00), .request_write(2'b10),
		.request_begin({write_begin, read_begin}),
		.request_context({context_of, context_of}),
		.request_address({32'd0, write_address, 32'd0, read_address}),
		.request_length({write_length, read_length}),
		.request_data({write_data, 128'd0}),
		.acknowledge({acknowledge, unused_acknowledge}), .acknowledge_ready(2'b11),
		.response, .response_ready(2'b11), .response_last, .response_fault,
		.response_reason, .response_address, .response_data, .bus_on, .bus_request,
		.bus_request_ready, .bus_request_write, .bus_request_address, .bus_request_length,
		.bus_request_tag, .bus_request_last, .bus_request_data, .bus_response,
		.bus_response_tag, .bus_response_fault, .bus_response_data, .mem_request,
		.mem_request_ready, .mem_request_write, .mem_request_address, .mem_request_length,
		.mem_request_tag, .mem_request_last, .mem_request_data, .mem_response,
		.mem_response_ready, .mem_response_tag, .mem_response_data, .root_write,
		.root_context, .root_enable, .root_address, .invalidate, .invalidate_all,
		.invalidate_context, .invalidating, .idle, .count_walk, .count_hit
	);
endmodule
