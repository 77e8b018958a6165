// SPDX-License-Identifier: GPL-2.0-only
//
// node ranges.js ORT_DIR MODEL.onnx INPUT.npy OUT.json
// The least and the greatest value that each of the model's inputs and outputs has over the
// images of INPUT.npy, by onnxruntime.
'use strict';
const fs = require('fs');
const path = require('path');

const [dir, model, input, output] = process.argv.slice(2);
const ort = require(path.join(dir, 'node_modules/onnxruntime-node'));
const { readNpy } = require('./ort.js');

async function main() {
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1 });
  const { shape, values } = readNpy(input);
  const size = shape.slice(1).reduce((a, b) => a * b, 1);
  const ranges = {};
  for (let i = 0; i < shape[0]; i++) {
    const tensor = new ort.Tensor('float32', values.slice(i * size, (i + 1) * size),
      [1, ...shape.slice(1)]);
    const results = await session.run({ [session.inputNames[0]]: tensor });
    for (const [name, t] of [[session.inputNames[0], tensor], ...Object.entries(results)]) {
      const range = ranges[name] || (ranges[name] = [Infinity, -Infinity]);
      for (const v of t.data) {
        if (v < range[0]) range[0] = v;
        if (v > range[1]) range[1] = v;
      }
    }
  }
  fs.writeFileSync(output, JSON.stringify(ranges));
}

main().catch((e) => { console.error(String(e)); process.exit(1); });
