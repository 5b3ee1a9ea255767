// The host's form of warp_sum.cuh.
#pragma once

inline unsigned sumOfWarp(unsigned value) {
  for (int mask = 16; mask > 0; mask /= 2) value += shuffleXor(value, mask);
  return value;
}
