// Things that take long to make and are shared by the whole process.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "core/error.h"

namespace tenon::backends::cuda {

// By key, up to a number, then it begins anew. Who asks for one that another thread is making waits for that; other
// keys go on. What is Unsupported stays so; other failures are tried again. Thread-safe.
template <typename T>
class MadeOnce {
 public:
  explicit MadeOnce(size_t most) : most_(most) {}

  bool knows(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    return made_.count(key) != 0;
  }

  template <typename Make>
  std::shared_ptr<const T> get(const std::string& key, Make make) {
    {
      std::unique_lock lock(mutex_);
      done_.wait(lock, [&] { return beingMade_.count(key) == 0; });
      if (const auto found = made_.find(key); found != made_.end()) return given(found->second);
      beingMade_.insert(key);
    }
    const Making making(*this, key);
    Entry entry;
    try {
      entry.thing = make();
    } catch (const Unsupported& error) {
      entry.refusal = error.what();
    }
    const std::lock_guard lock(mutex_);
    if (made_.size() >= most_) made_.clear();
    made_.emplace(key, entry);
    return given(entry);
  }

 private:
  struct Entry {
    std::shared_ptr<const T> thing;
    std::string refusal;
  };
  // Whatever is thrown, nobody waits for ever.
  struct Making {
    Making(MadeOnce& all, const std::string& key) : all(all), key(key) {}
    ~Making() {
      {
        const std::lock_guard lock(all.mutex_);
        all.beingMade_.erase(key);
      }
      all.done_.notify_all();
    }
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;

    MadeOnce& all;
    const std::string& key;
  };
  static std::shared_ptr<const T> given(const Entry& entry) {
    if (entry.thing == nullptr) throw Unsupported("{}", entry.refusal);
    return entry.thing;
  }

  const size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  std::map<std::string, Entry> made_;
  std::set<std::string> beingMade_;
};

}  // namespace tenon::backends::cuda
