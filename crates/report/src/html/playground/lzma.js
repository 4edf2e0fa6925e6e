// The module is compressed by LZMA, because code repeats itself over megabytes and gzip looks back over 32 KiB. Browsers
// have no LZMA of their own. The names are those of Igor Pavlov's specification of the .lzma format.

const LONGEST_MODULE_BYTES = 64 << 20;

const unlzma = (bytes) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const lc = bytes[0] % 9;
  const lp = Math.floor(bytes[0] / 9) % 5;
  const pb = Math.floor(bytes[0] / 45);
  const size = view.getUint32(5, true);
  if (size > LONGEST_MODULE_BYTES) throw new RangeError("no module is as long");
  const out = new Uint8Array(size);
  const posMask = (1 << pb) - 1;
  const literalMask = (1 << lp) - 1;

  // ---- The range decoder. Probabilities are that of a 0, of 2048. ----

  const probabilities = (count) => new Uint16Array(count).fill(1024);
  let at = 18;
  let range = 0xffffffff;
  let code = view.getUint32(14);
  const bit = (probs, index) => {
    const prob = probs[index];
    const bound = (range >>> 11) * prob;
    let value = 0;
    if (code < bound) {
      range = bound;
      probs[index] = prob + ((2048 - prob) >> 5);
    } else {
      range -= bound;
      code -= bound;
      probs[index] = prob - (prob >> 5);
      value = 1;
    }
    if (range < 0x1000000) {
      range = range * 256;
      code = code * 256 + bytes[at];
      at += 1;
    }
    return value;
  };
  const directBits = (count) => {
    let value = 0;
    for (let left = count; left > 0; left -= 1) {
      range = Math.floor(range / 2);
      value *= 2;
      if (code >= range) { code -= range; value += 1; }
      if (range < 0x1000000) {
        range = range * 256;
        code = code * 256 + bytes[at];
        at += 1;
      }
    }
    return value;
  };
  const tree = (probs, base, bits) => {
    let node = 1;
    for (let left = bits; left > 0; left -= 1) node = (node << 1) | bit(probs, base + node);
    return node - (1 << bits);
  };
  const reverseTree = (probs, base, bits) => {
    let node = 1;
    let value = 0;
    for (let position = 0; position < bits; position += 1) {
      const one = bit(probs, base + node);
      node = (node << 1) | one;
      value |= one << position;
    }
    return value;
  };

  // ---- What is decoded: literals, matches, and matches at one of the last four distances. ----

  const literals = probabilities(0x300 << (lc + lp));
  const isMatch = probabilities(12 << 4);
  const isRep = probabilities(12);
  const isRepG0 = probabilities(12);
  const isRepG1 = probabilities(12);
  const isRepG2 = probabilities(12);
  const isRep0Long = probabilities(12 << 4);
  const posSlots = probabilities(4 << 6);
  const posSpecial = probabilities(1 + 128 - 14);
  const align = probabilities(16);
  const lengths = () => {
    const [choice, low, mid, high] = [2, 16 << 3, 16 << 3, 256].map(probabilities);
    return (posState) => {
      if (!bit(choice, 0)) return tree(low, posState << 3, 3);
      return bit(choice, 1) ? 16 + tree(high, 0, 8) : 8 + tree(mid, posState << 3, 3);
    };
  };
  const matchLength = lengths();
  const repLength = lengths();
  const distance = (length) => {
    const slot = tree(posSlots, Math.min(length, 3) << 6, 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const base = (2 | (slot & 1)) * 2 ** bits;
    if (slot < 14) return base + reverseTree(posSpecial, base - slot, bits);
    return base + directBits(bits - 4) * 16 + reverseTree(align, 0, 4);
  };

  let state = 0;
  let [rep0, rep1, rep2, rep3] = [0, 0, 0, 0];
  for (let length = 0; length < out.length;) {
    const posState = length & posMask;
    if (!bit(isMatch, (state << 4) + posState)) {
      const before = length > 0 ? out[length - 1] : 0;
      const base = 0x300 * (((length & literalMask) << lc) + (before >> (8 - lc)));
      let symbol = 1;
      if (state >= 7) {
        let match = out[length - rep0 - 1];
        while (symbol < 0x100) {
          const matchBit = (match >> 7) & 1;
          match <<= 1;
          const one = bit(literals, base + ((1 + matchBit) << 8) + symbol);
          symbol = (symbol << 1) | one;
          if (one !== matchBit) break;
        }
      }
      while (symbol < 0x100) symbol = (symbol << 1) | bit(literals, base + symbol);
      out[length] = symbol;
      length += 1;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let count;
    if (bit(isRep, state)) {
      if (!bit(isRepG0, state)) {
        if (!bit(isRep0Long, (state << 4) + posState)) {
          state = state < 7 ? 9 : 11;
          out[length] = out[length - rep0 - 1];
          length += 1;
          continue;
        }
      } else if (!bit(isRepG1, state)) {
        [rep0, rep1] = [rep1, rep0];
      } else if (!bit(isRepG2, state)) {
        [rep0, rep1, rep2] = [rep2, rep0, rep1];
      } else {
        [rep0, rep1, rep2, rep3] = [rep3, rep0, rep1, rep2];
      }
      count = repLength(posState);
      state = state < 7 ? 8 : 11;
    } else {
      [rep1, rep2, rep3] = [rep0, rep1, rep2];
      count = matchLength(posState);
      state = state < 7 ? 7 : 10;
      rep0 = distance(count);
    }
    if (rep0 >= length) throw new RangeError("it copies from before its beginning");
    for (const end = Math.min(length + count + 2, out.length); length < end; length += 1) out[length] = out[length - rep0 - 1];
  }
  return out;
};
