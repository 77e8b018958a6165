/* SPDX-License-Identifier: Apache-2.0 */
/* What the files behind libvtac.h share. */
#ifndef VTAC_NET_IMPL_H
#define VTAC_NET_IMPL_H

#include "libvtac.h"
#include "vtac.h"

struct vtac_net {
	struct vtac_graph *g;
};

#endif /* VTAC_NET_IMPL_H */
