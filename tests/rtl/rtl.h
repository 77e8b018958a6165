/* SPDX-License-Identifier: GPL-2.0-only */
/* rtl.h - models of the core's RTL, as the tests find them */
#ifndef TESTS_RTL_RTL_H
#define TESTS_RTL_RTL_H

#include "core/core_model.h"

/* The model of a configuration in VTA_RTL_DIR (build/rtl), or NULL if it is not built. */
const struct core_model *rtl_model(const struct core_config *cfg);

#endif /* TESTS_RTL_RTL_H */
