/* SPDX-License-Identifier: Apache-2.0 */
/* Count the program's allocations so far, those of the libraries linked to it included. */
#pragma once

unsigned long allocations(void);
