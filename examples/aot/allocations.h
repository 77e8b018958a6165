/* SPDX-License-Identifier: Apache-2.0 */
/* How often this program, libraries linked to it included, asked for memory. */
#pragma once

unsigned long allocations(void);
