// Guard of objects that belong to one thread at a time.
#pragma once

#include <atomic>
#include <thread>

#include "core/error.h"

namespace tenon::api {

// Which thread is inside an object's functions now.
using Occupant = std::atomic<std::thread::id>;

// Held during a call. Callbacks may call the object again on the same thread; another thread gets a UserError.
class InUse {
 public:
  InUse(Occupant& occupant, const char* what) {
    const auto me = std::this_thread::get_id();
    std::thread::id other;
    if (occupant.compare_exchange_strong(other, me, std::memory_order_acquire)) {
      occupant_ = &occupant;
    } else {
      checkUser(
          other == me,
          "{} is in use by another thread; expected one thread at a time: make one for each thread, or serialize the "
          "calls",
          what);
    }
  }
  ~InUse() {
    if (occupant_ != nullptr) occupant_->store({}, std::memory_order_release);
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

 private:
  Occupant* occupant_ = nullptr;  // null in a nested call
};

}  // namespace tenon::api
