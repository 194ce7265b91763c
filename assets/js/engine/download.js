/* The engine's files in the browser: fetched once, checked against their hashes, kept in the browser's cache. The only
   script that fetches, and in a worker alone.

   manifest.json ─► [ cache ] or fetch, with progress ─► SHA-256 ─► files as `BrowserEngine.load` takes them */
// needs: sha256
/** @typedef {{ name: string, bytes: number, sha256: string }} FileEntry
    @typedef {{ version: string, eos_ids: number[], kernels: string[], models: string[],
      modules: string[], stops: string[], files: FileEntry[] }} Manifest
    @typedef {(progress: { bytes: number, of: number, file: string }) => void} Progress
    @typedef {{ fetch: typeof fetch, caches: CacheStorage | undefined }} Network what a worker brings; tests bring
      their own */

const download = (function (S) {
  "use strict";

  const CACHE = "specviz-engine";

  /** A response's first so many bytes, telling after every piece how many came. They are written where they stay: a
      second copy of the weights would be a tab's largest piece of memory.
      @param {Response} response @param {number} most @param {(bytes: number) => void} tell */
  async function bytesOf(response, most, tell) {
    const whole = new Uint8Array(most);
    let size = 0;
    const reader = response.body.getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      if (size < most) whole.set(part.value.subarray(0, most - size), size);
      tell((size += part.value.length));
    }
    return whole;
  }

  /** One file, from the cache or the network; what is not what the manifest names is refused and not kept.
      @param {string} base @param {FileEntry} file @param {Network} network @param {AbortSignal} signal */
  async function fileOf(base, file, network, signal, tell) {
    signal.throwIfAborted();
    const address = `${base}${file.name}?${file.sha256.slice(0, 16)}`; // another release, another address
    const cache = await network.caches?.open(CACHE);
    const kept = await cache?.match(address);
    const response = kept ?? (await network.fetch(address, { signal }));
    if (!response.ok) throw new Error(`${file.name} is not there (${response.status}); load the page again.`);
    const bytes = await bytesOf(response, file.bytes, tell);
    if ((await S.sha256(bytes)) !== file.sha256) {
      await cache?.delete(address);
      throw new Error(`${file.name} did not arrive as it was sent: its checksum is another one; load the page again.`);
    }
    if (!kept) await cache?.put(address, new Response(bytes));
    return bytes;
  }

  /** @param {string} base address of the folder, ending in a slash @param {Network} network
      @param {AbortSignal} signal @returns {Promise<Manifest>} */
  async function manifestOf(base, network, signal) {
    const answer = await network.fetch(`${base}manifest.json`, { signal });
    if (!answer.ok) throw new Error(`the engine's manifest.json is not there (${answer.status}).`);
    return answer.json();
  }

  /** What there is to choose from, without anything large: the catalogue of methods and the models, the target first.
      @param {string} base @param {Network} network @param {AbortSignal} signal
      @returns {Promise<{ catalog: BrowserCatalog, models: string[] }>} */
  async function choicesOf(base, network, signal) {
    const manifest = await manifestOf(base, network, signal);
    const file = manifest.files.find(({ name }) => name === "catalog.json");
    const bytes = await fileOf(base, file, network, signal, () => {});
    return { catalog: JSON.parse(new TextDecoder().decode(bytes)), models: manifest.models };
  }

  /** All files that a manifest names, as the engine takes them.
      @param {string} base @param {Network} network @param {AbortSignal} signal @param {Progress} report
      @returns {Promise<EngineFiles>} */
  async function engineFiles(base, network, signal, report) {
    const manifest = await manifestOf(base, network, signal);
    const of = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    /** @type {Map<string, Uint8Array<ArrayBuffer>>} */
    const files = new Map();
    let before = 0;
    for (const file of manifest.files) {
      const tell = (bytes) => report({ bytes: before + bytes, of, file: file.name });
      files.set(file.name, await fileOf(base, file, network, signal, tell));
      before += file.bytes;
    }
    const json = (name) => JSON.parse(new TextDecoder().decode(files.get(name)));
    const parts = (name) => ({
      config: json(`models/${name}/config.json`),
      weights: files.get(`models/${name}/model.safetensors`),
    });
    const module = (name) => ({
      card: json(`modules/${name}/module.json`),
      weights: files.get(`modules/${name}/model.safetensors`),
    });
    return {
      kernels: manifest.kernels.map((name) => files.get(name)),
      tokenizer: files.get(`models/${manifest.models[0]}/tokenizer.json`),
      eosIds: manifest.eos_ids,
      version: manifest.version,
      catalog: json("catalog.json"),
      vectors: json("acceptance_vector.json"),
      stops: Object.fromEntries(manifest.stops.map((name) => [name, json(`stops/${name}.json`)])),
      models: Object.fromEntries(manifest.models.map((name) => [name, parts(name)])),
      modules: Object.fromEntries(manifest.modules.map((name) => [name, module(name)])),
    };
  }

  return { choicesOf, engineFiles };
})(SpecViz);
Object.assign(SpecViz, download);
