// A link that has everything: the state as JSON, deflated, in base64url, behind "#s=" and the version of this format.

const LINK_PREFIX = "#s=";
const LINK_VERSION = "1";
/** A text of zeros deflates to a thousandth: a short link could fill the memory. */
const LONGEST_STATE_BYTES = 4 << 20;

const bytesOf = (stream) => new Response(stream).arrayBuffer().then((buffer) => new Uint8Array(buffer));
const fromBase64 = (text) => {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  // A loop: the module has millions of them.
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return bytes;
};

const toFragment = async (state) => {
  const text = JSON.stringify(state);
  if (text.length > LONGEST_STATE_BYTES) throw new RangeError(`it would hold more than ${LONGEST_STATE_BYTES >> 20} MB`);
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const letters = Array.from(await bytesOf(stream), (byte) => String.fromCharCode(byte)).join("");
  return LINK_PREFIX + LINK_VERSION + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

const inflated = async (bytes) => {
  let at = 0;
  // In small pieces, so that little is inflated before the length is looked at.
  const pieces = new ReadableStream({
    pull(to) {
      if (at >= bytes.length) { to.close(); return; }
      to.enqueue(bytes.slice(at, at += 1024));
    },
  });
  const reader = pieces.pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let length = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    if (length > LONGEST_STATE_BYTES) {
      reader.cancel().catch(() => {});
      throw new RangeError(`it holds more than ${LONGEST_STATE_BYTES >> 20} MB`);
    }
    parts.push(next.value);
  }
  return new Blob(parts).text();
};

/** Returns `{ text, files, scale }`; nothing if the fragment is no link. Throws what is wrong with it, in words. */
const fromFragment = async (fragment) => {
  if (!fragment.startsWith(LINK_PREFIX)) return null;
  const version = fragment[LINK_PREFIX.length];
  if (version !== LINK_VERSION) {
    throw new RangeError(`it is of version ${JSON.stringify(version ?? "")}, and this page reads version ${LINK_VERSION}`);
  }
  let state;
  try {
    const letters = fragment.slice(LINK_PREFIX.length + 1).replaceAll("-", "+").replaceAll("_", "/");
    state = JSON.parse(await inflated(fromBase64(letters)));
  } catch (error) {
    throw error instanceof RangeError ? error : new RangeError("it is damaged");
  }
  const isText = (value) => typeof value === "string";
  const { text, files, scale } = state ?? {};
  const areFiles = files !== null && typeof files === "object" && !Array.isArray(files) && Object.values(files).every(isText);
  if (!isText(text) || !areFiles || ![1, 8, 64].includes(scale)) throw new RangeError("it is not a link of this page");
  return { text, files, scale };
};
