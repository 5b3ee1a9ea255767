// What squeeze-and-excitation is given.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

constexpr int kExcitationMostBlocks = 8;  // of a cluster, as many as lanes that work on a row of weights
constexpr int kExcitationMostThreads = 512;
constexpr int kExcitationMostShared = 200 << 10;  // bytes of a block

struct ExcitationParameters {
  const void* x = nullptr;  // [images][pixels][channels]
  void* y = nullptr;
  const void* squeeze = nullptr;      // [squeezed][channels]
  const void* squeezeBias = nullptr;  // or null
  const void* excite = nullptr;       // [channels][squeezed]
  const void* exciteBias = nullptr;   // or null
  int32_t pixels = 0, channels = 0, squeezed = 0;
  int32_t slice = 0;          // channels that a block owns, whole packs
  int32_t pitch = 0;          // floats from the sums of one lane of threads to those of the next
  int32_t hasConstants = 0;   // no launch writes weights and biases
  int32_t holds = 0;          // the block's weights stand in shared memory before the launch in front has ended
  int32_t keeps = 0;          // pixels stay in shared memory
  int32_t squeezedPacks = 0;  // rows of `excite` are whole packs
  // Where things begin in shared memory, in floats: sums of channels are at 0.
  int32_t received = 0, means = 0, parts = 0, joined = 0, gates = 0, barriers = 0, biases = 0, weights = 0, tile = 0;
};

}  // namespace tenon::backends::cuda
