// SPDX-License-Identifier: GPL-2.0-only
//
// node detect.js ORT_DIR MODEL.onnx INPUT.npy
// onnxruntime in float over the images of INPUT.npy: a line of JSON for each, which is a list of
// [left, top, right, bottom, score], in pixels of the input.
'use strict';
const path = require('path');
const { readNpy } = require('./ort.js');

async function main() {
  const [dir, model, input] = process.argv.slice(2);
  const ort = require(path.join(dir, 'node_modules/onnxruntime-node'));
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1, logSeverityLevel: 3 });
  const { shape, values } = readNpy(input);
  const size = shape.slice(1).reduce((a, b) => a * b, 1);
  for (let i = 0; i < shape[0]; i++) {
    const tensor = new ort.Tensor('float32', values.slice(i * size, (i + 1) * size), [1, ...shape.slice(1)]);
    const { boxes, scores } = await session.run({ [session.inputNames[0]]: tensor });
    console.log(JSON.stringify(Array.from(scores.data, (score, k) =>
      [...boxes.data.slice(4 * k, 4 * k + 4), score])));
  }
}

main().catch((e) => { console.error(String(e)); process.exit(1); });
