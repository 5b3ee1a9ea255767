// What passes ask of the device that an engine is for, in place of its name.
#pragma once

#include <cstdint>
#include <string_view>

namespace tenon::passes {

enum class DeviceKind : uint8_t { kOther, kCpu, kGpu };

struct DeviceFacts {
  DeviceKind kind = DeviceKind::kOther;
  // A copy of a piece costs a launch, so that one kernel that moves all pieces is worth it.
  bool launchesAreDear = false;
  // Convolutions leave channels last, so that a transpose to or from that order is no work beside one.
  bool convolvesChannelsLast = false;
  // A matrix product of halves hands its sums to an epilogue in f32.
  bool keepsSumsOfHalves = false;
  // Bytes: where a slice that is one run of memory is a view. Elsewhere it is copied.
  int64_t viewAlignment = 256;
};

// Of a kind of device, as runtime::Device::kind() names it.
DeviceFacts factsOf(std::string_view device);

}  // namespace tenon::passes
