// What devices let a build do while it measures a kernel, so that the kernel finds what it would find in a network.
// Optional capability interfaces, asked for by dynamic_cast.
#pragma once

namespace tenon::runtime {

// Of a device on which a launch may be set up while the one in front of it runs. A kernel that is measured behind
// itself would gain from that what it does not gain behind most others. Thread-safe.
class LaunchOrder {
 public:
  virtual ~LaunchOrder() = default;
  // The next launch of this thread begins when all work in front of it on its stream has ended.
  virtual void launchNextInOrder() noexcept = 0;
};

}  // namespace tenon::runtime
