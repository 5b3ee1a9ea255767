// The checksum of plans: XXH3 with 64 bits and seed 0. It finds damage; it is no defence against forgery, which is why
// the reader checks everything that a forged plan may say.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::plan {

uint64_t checksum(const void* data, size_t bytes) noexcept;

}  // namespace tenon::plan
