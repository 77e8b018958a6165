// SPDX-License-Identifier: GPL-2.0-only
//
// node ort.js ORT_DIR MODEL.onnx INPUT.npy OUTPUT.npy [COUNT]
// The float reference: onnxruntime over the images of INPUT.npy, one after the other;
// the first output of each, flat, is a row of OUTPUT.npy. Prints the milliseconds an image.
'use strict';
const fs = require('fs');
const path = require('path');

function readNpy(file) {
  const data = fs.readFileSync(file);
  const header = data.toString('latin1', 10, 10 + data.readUInt16LE(8));
  const shape = /\((.*?)\)/.exec(header)[1].split(',').filter((s) => s.trim()).map(Number);
  const at = 10 + data.readUInt16LE(8);
  const bytes = data.buffer.slice(data.byteOffset + at, data.byteOffset + data.length);
  return { shape, values: new Float32Array(bytes) };
}

function writeNpy(file, rows) {
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${rows.length}, ${rows[0].length}), }`;
  const header = text.padEnd(117) + '\n';
  const magic = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255,
    header.length >> 8]);
  fs.writeFileSync(file, Buffer.concat([magic, Buffer.from(header, 'latin1'),
    ...rows.map((r) => Buffer.from(r.buffer, r.byteOffset, r.byteLength))]));
}

async function main() {
  const [dir, model, input, output, limit] = process.argv.slice(2);
  const ort = require(path.join(dir, 'node_modules/onnxruntime-node'));
  const session = await ort.InferenceSession.create(model, { intraOpNumThreads: 1 });
  const { shape, values } = readNpy(input);
  const size = shape.slice(1).reduce((a, b) => a * b, 1);
  const count = Math.min(shape[0], Number(limit) || shape[0]);
  const rows = [];
  let begin;
  /* The first image is computed twice: before that, threads and memory are made. */
  for (let i = -1; i < count; i++) {
    const tensor = new ort.Tensor('float32', values.slice(Math.max(i, 0) * size, (Math.max(i, 0) + 1) * size),
      [1, ...shape.slice(1)]);
    const results = await session.run({ [session.inputNames[0]]: tensor });
    if (i < 0)
      begin = process.hrtime.bigint();
    else
      rows.push(Float32Array.from(results[session.outputNames[0]].data));
  }
  const ms = Number(process.hrtime.bigint() - begin) / 1e6 / count;
  writeNpy(output, rows);
  console.log(`${path.basename(model)}: ${count} images, ${ms.toFixed(2)} ms each on one processor`);
}

if (require.main === module)
  main().catch((e) => { console.error(String(e)); process.exit(1); });
module.exports = { readNpy };
