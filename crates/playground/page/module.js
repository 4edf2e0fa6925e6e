// The WebAssembly module behind its packets. A packet is a JSON text and then any number of attachments, each behind
// its length in bytes (u32, little endian).

const packed = (message, attachments) => {
  const parts = [new TextEncoder().encode(JSON.stringify(message)), ...attachments];
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + 4 + part.length, 0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const part of parts) {
    view.setUint32(at, part.length, true);
    bytes.set(part, at + 4);
    at += 4 + part.length;
  }
  return bytes;
};

/** Copies the packet out of the module's memory, which the next call overwrites. */
const unpacked = (memory, pointer, length) => {
  const bytes = new Uint8Array(memory.buffer, pointer, length).slice();
  const view = new DataView(bytes.buffer);
  const parts = [];
  for (let at = 0; at < length; at += 4 + parts.at(-1).length) {
    parts.push(bytes.slice(at + 4, at + 4 + view.getUint32(at, true)));
  }
  const [message, ...attachments] = parts;
  return [JSON.parse(new TextDecoder().decode(message)), attachments];
};

/**
 * Instantiates `compiled`. `call` answers `[answer, attachments]`; `told` gets what the module tells while it works.
 * After a panic an instance is unusable: the call fails as an answer does, and the next one has a new instance.
 */
const connect = (compiled, told) => {
  let memory;
  let panic;
  const tell = (pointer, length) => {
    const [message, attachments] = unpacked(memory, pointer >>> 0, length);
    if (message.kind === "panic") panic = message.text; else told?.(message, attachments);
  };
  const instantiate = () => {
    const made = WebAssembly.instantiate(compiled, { strewn: { tell } });
    // Whoever calls learns of a failure.
    made.catch(() => {});
    return made;
  };
  let instance = instantiate();
  const call = async (request, attachments = []) => {
    panic = null;
    try {
      const { exports } = await instance;
      ({ memory } = exports);
      const bytes = packed(request, attachments);
      const place = exports.reserve(bytes.length) >>> 0;
      new Uint8Array(memory.buffer, place, bytes.length).set(bytes);
      const answer = exports.call() >>> 0;
      const length = new DataView(memory.buffer).getUint32(answer, true);
      return unpacked(memory, answer + 4, length);
    } catch (error) {
      instance = instantiate();
      const [message, help] = panic === null
        ? [`the module stopped: ${error.message}`, "most likely the browser gave it no more memory; a smaller scale needs less"]
        : [`this is a defect of Strewn: ${panic}`, "please report it, with the scenario"];
      return [{ ok: false, message, help }, []];
    }
  };
  return { call };
};
