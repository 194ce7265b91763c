/* A checkpoint's files in the browser: its config as a shape, its safetensors file as tensors, and what identifies it.
   Knows nothing about where files come from or how a pass runs. */
// needs: sha256
/** @typedef {object} LlamaShape the names of specviz/lm/llama/shape.py
    @property {number} layers
    @property {number} hidden
    @property {number} heads
    @property {number} kvHeads
    @property {number} size components of a head
    @property {number} ffn
    @property {number} vocab
    @property {number} context
    @property {number} eps
    @property {number} theta */
/** @typedef {object} StoredTensor
    @property {string} dtype
    @property {number[]} shape
    @property {Uint8Array} bytes
    @property {Float32Array} [scale] of eight bits: what each row is multiplied by */

const checkpoint = (function (S) {
  "use strict";

  const SCALE = ".row_scale"; // behind the name of a matrix of eight bits (specviz/drafters/learned/weights.py)

  /** What a model card says of weights in one file: the hash over the file's hash.
      @param {Uint8Array<ArrayBuffer>} file */
  async function weightsHash(file) {
    const hash = await S.sha256(file);
    return S.sha256(Uint8Array.from(hash.match(/../g), (pair) => parseInt(pair, 16)));
  }

  /** The shape that a `config.json` describes. Throws in a sentence where the engine cannot run it.
      @returns {LlamaShape} */
  function llamaShape(config, name) {
    const heads = config.num_attention_heads;
    const shape = {
      layers: config.num_hidden_layers,
      hidden: config.hidden_size,
      heads,
      kvHeads: config.num_key_value_heads ?? heads,
      size: config.head_dim ?? config.hidden_size / heads,
      ffn: config.intermediate_size,
      vocab: config.vocab_size,
      context: config.max_position_embeddings,
      eps: config.rms_norm_eps,
      theta: config.rope_parameters?.rope_theta ?? config.rope_theta,
    };
    const odd = ["hidden", "size", "ffn", "vocab"].find((key) => shape[key] % 16);
    if (String(config.architectures) !== "LlamaForCausalLM" || !config.tie_word_embeddings || odd)
      throw new Error(
        `${name} is no Llama with tied embeddings and sizes that are multiples of 16, and so not for the browser's ` +
          "engine; run it on the server.",
      );
    return shape;
  }

  /** Name → tensor, as stored.
      @param {Uint8Array} file @returns {Map<string, StoredTensor>} */
  function readSafetensors(file) {
    const length = Number(new DataView(file.buffer, file.byteOffset).getBigUint64(0, true));
    const said = JSON.parse(new TextDecoder().decode(file.subarray(8, 8 + length)));
    const tensors = new Map();
    for (const [name, { dtype, shape, data_offsets: offsets }] of Object.entries(said))
      if (name !== "__metadata__") {
        const [start, stop] = offsets;
        tensors.set(name, { dtype, shape, bytes: file.subarray(8 + length + start, 8 + length + stop) });
      }
    for (const [name, { bytes }] of [...tensors])
      if (name.endsWith(SCALE)) {
        tensors.get(name.slice(0, -SCALE.length)).scale = new Float32Array(bytes.slice().buffer);
        tensors.delete(name);
      }
    return tensors;
  }

  /** A tensor's numbers as float32, into `into`; of bfloat16 the lower half is zero, which is exact; of eight bits each
      is multiplied by the scale of its row.
      @param {StoredTensor} tensor @param {Float32Array} into */
  function widen(tensor, into) {
    const { dtype, bytes } = tensor;
    if (dtype === "F32") {
      new Uint8Array(into.buffer, into.byteOffset, bytes.length).set(bytes);
      return;
    }
    if (tensor.scale) {
      const width = into.length / tensor.scale.length;
      const whole = new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let i = 0; i < whole.length; i++) into[i] = whole[i] * tensor.scale[Math.floor(i / width)];
      return;
    }
    if (dtype !== "BF16") throw new Error(`weights stored as ${dtype} are not for the browser's engine.`);
    const wide = new Uint32Array(into.buffer, into.byteOffset, into.length);
    for (let i = 0; i < wide.length; i++) wide[i] = ((bytes[2 * i] << 16) | (bytes[2 * i + 1] << 24)) >>> 0;
  }

  return { weightsHash, llamaShape, readSafetensors, widen };
})(SpecViz);
Object.assign(SpecViz, checkpoint);
