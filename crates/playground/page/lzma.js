// Unpacks the module: LZMA makes it a sixth smaller than what browsers unpack themselves. The names are those of Igor
// Pavlov's LZMA specification.

/** Returns the bytes of an .lzma file that says how many they are. */
const fromLzma = (input) => {
  const header = new DataView(input.buffer, input.byteOffset, 13);
  const properties = header.getUint8(0);
  const literalContext = properties % 9;
  const literalPosition = Math.floor(properties / 9) % 5;
  const positionMask = (1 << Math.floor(properties / 45)) - 1;
  const output = new Uint8Array(Number(header.getBigUint64(5, true)));
  const probabilities = (count) => new Uint16Array(count).fill(1024);

  // The range decoder: its range and code, in an array so that they are stored as numbers of 32 bits. The first byte is
  // always 0.
  const coder = new Uint32Array([0xffffffff, 0]);
  let from = 14;
  const takeByte = () => {
    coder[1] = coder[1] << 8 | input[from];
    from += 1;
  };
  for (let byte = 0; byte < 4; byte += 1) takeByte();
  const normalize = () => {
    if (coder[0] >= 0x1000000) return;
    coder[0] <<= 8;
    takeByte();
  };
  const bit = (of, at) => {
    const probability = of[at];
    const bound = (coder[0] >>> 11) * probability;
    const isOne = coder[1] >= bound;
    if (isOne) {
      coder[0] -= bound;
      coder[1] -= bound;
      of[at] = probability - (probability >> 5);
    } else {
      coder[0] = bound;
      of[at] = probability + ((2048 - probability) >> 5);
    }
    normalize();
    return isOne ? 1 : 0;
  };
  const directBits = (count) => {
    let value = 0;
    for (let left = count; left > 0; left -= 1) {
      coder[0] >>>= 1;
      const isOne = coder[1] >= coder[0];
      if (isOne) coder[1] -= coder[0];
      value = value << 1 | (isOne ? 1 : 0);
      normalize();
    }
    return value;
  };
  const tree = (of, base, bits) => {
    let node = 1;
    for (let left = bits; left > 0; left -= 1) node = node << 1 | bit(of, base + node);
    return node - (1 << bits);
  };
  const reverseTree = (of, base, bits) => {
    let [node, value] = [1, 0];
    for (let at = 0; at < bits; at += 1) {
      const next = bit(of, base + node);
      node = node << 1 | next;
      value |= next << at;
    }
    return value;
  };

  const lengths = () => ({
    choice: probabilities(2), low: probabilities(128), middle: probabilities(128), high: probabilities(256),
  });
  const lengthOf = ({ choice, low, middle, high }, position) => {
    if (!bit(choice, 0)) return 2 + tree(low, position << 3, 3);
    if (!bit(choice, 1)) return 10 + tree(middle, position << 3, 3);
    return 18 + tree(high, 0, 8);
  };
  const literals = probabilities(0x300 << (literalContext + literalPosition));
  const [isMatch, isRepeated0Long] = [probabilities(192), probabilities(192)];
  const [isRepeated, isRepeated0, isRepeated1, isRepeated2] = [0, 1, 2, 3].map(() => probabilities(12));
  const [matchLengths, repeatedLengths] = [lengths(), lengths()];
  const [slots, special, align] = [probabilities(256), probabilities(115), probabilities(16)];

  const distanceOf = (length) => {
    const slot = tree(slots, Math.min(length - 2, 3) << 6, 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const high = (2 | slot & 1) << bits;
    if (slot < 14) return high + reverseTree(special, high - slot, bits);
    return ((high >>> 0) + directBits(bits - 4) * 16) + reverseTree(align, 0, 4);
  };

  let [state, at] = [0, 0];
  let [repeated0, repeated1, repeated2, repeated3] = [0, 0, 0, 0];
  while (at < output.length) {
    const position = at & positionMask;
    const inState = (state << 4) + position;
    if (!bit(isMatch, inState)) {
      const before = at > 0 ? output[at - 1] : 0;
      const context = ((at & (1 << literalPosition) - 1) << literalContext) + (before >> (8 - literalContext));
      const base = 0x300 * context;
      let symbol = 1;
      if (state >= 7) {
        let match = output[at - repeated0 - 1];
        let same = true;
        while (same && symbol < 0x100) {
          const expected = match >> 7 & 1;
          match <<= 1;
          const next = bit(literals, base + ((1 + expected) << 8) + symbol);
          symbol = symbol << 1 | next;
          same = next === expected;
        }
      }
      while (symbol < 0x100) symbol = symbol << 1 | bit(literals, base + symbol);
      output[at] = symbol;
      at += 1;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let length;
    if (bit(isRepeated, state)) {
      if (!bit(isRepeated0, state)) {
        if (!bit(isRepeated0Long, inState)) {
          output[at] = output[at - repeated0 - 1];
          at += 1;
          state = state < 7 ? 9 : 11;
          continue;
        }
      } else if (!bit(isRepeated1, state)) {
        [repeated0, repeated1] = [repeated1, repeated0];
      } else if (!bit(isRepeated2, state)) {
        [repeated0, repeated1, repeated2] = [repeated2, repeated0, repeated1];
      } else {
        [repeated0, repeated1, repeated2, repeated3] = [repeated3, repeated0, repeated1, repeated2];
      }
      length = lengthOf(repeatedLengths, position);
      state = state < 7 ? 8 : 11;
    } else {
      [repeated1, repeated2, repeated3] = [repeated0, repeated1, repeated2];
      length = lengthOf(matchLengths, position);
      state = state < 7 ? 7 : 10;
      repeated0 = distanceOf(length);
    }
    if (repeated0 >= at) break;
    for (const end = Math.min(at + length, output.length); at < end; at += 1) output[at] = output[at - repeated0 - 1];
  }
  // What was decoded from other bytes does not end so.
  if (at < output.length || coder[1] !== 0 || from !== input.length) throw new RangeError("it is damaged");
  return output;
};
