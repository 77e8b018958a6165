# SPDX-License-Identifier: GPL-2.0-only
#
# The execution provider in ONNX Runtime.

CHECKS += $(if $(VTAC_HAVE),"onnxruntime=tests/onnxruntime/run.sh" \
	"@onnxruntime-card=tests/in-vm tests/onnxruntime/guest.sh $(VM_MODULE)")
