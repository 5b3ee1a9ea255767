// How a kernel that the user compiled is launched. What is a number here may depend on the symbols of the network.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/extent.h"
#include "core/fields.h"

namespace tenon::ops {

// The kernel takes the addresses of the inputs, then the arguments, then the addresses of the outputs. Its code, PTX or
// a cubin, stands beside the record.
struct CompiledLaunch {
  std::string layer;                   // for messages
  std::string kernel;                  // its name within the code
  std::vector<Extent> grid;            // blocks along x, y and z; nothing is launched where one of them is 0
  std::vector<Extent> block;           // threads along x, y and z
  Extent sharedBytes;                  // dynamic shared memory of a block
  std::vector<Extent> arguments;       // signed integers
  std::vector<int64_t> argumentBytes;  // of each: 1, 2 or 4
  std::vector<int64_t> aliases;        // as of ops::Plugin

  static constexpr auto fields =
      std::tuple{field("layer", &CompiledLaunch::layer),         field("kernel", &CompiledLaunch::kernel),
                 field("grid", &CompiledLaunch::grid),           field("block", &CompiledLaunch::block),
                 field("shared", &CompiledLaunch::sharedBytes),  field("arguments", &CompiledLaunch::arguments),
                 field("bytes", &CompiledLaunch::argumentBytes), field("aliases", &CompiledLaunch::aliases)};
};

}  // namespace tenon::ops
