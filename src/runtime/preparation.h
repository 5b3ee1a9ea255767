// What takes long when kernels are made ready for shapes, done for all of them at once.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "runtime/kernel.h"

namespace tenon::runtime {

// The other face of an instance whose configure() may wait for a library that compiles; asked for by dynamic_cast.
class Preparable {
 public:
  virtual ~Preparable() = default;
  // Asked before configure() for the same shapes. Work for any thread, beside that of other instances, so that
  // configure() need not wait for it; empty where there is nothing to wait for. What goes wrong in it, configure() will
  // say.
  virtual std::function<void()> preparation(const Shapes& shapes) = 0;
};

// The other face of a kernel whose instances share what they are prepared with; asked for by dynamic_cast.
class PreparedOnce {
 public:
  virtual ~PreparedOnce() = default;
  // Asked while an engine loads, where nothing changes the shapes, on any thread: instances that are made ready for
  // equal ones find it done. What goes wrong in it, they will say.
  virtual void prepare(const Shapes& shapes) const = 0;
};

// On up to as many threads as there are cores; returns when all is done. What a piece throws is lost.
void runTogether(std::vector<std::function<void()>> pieces);
// The same for pieces that nobody asks for again: throws what one of them has thrown, after all have ended.
void runTogetherOrThrow(std::vector<std::function<void()>> pieces);

// Pieces that run beside whoever holds this, a thread each; it ends when they have.
class Beside {
 public:
  explicit Beside(std::vector<std::function<void()>> pieces);
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

 private:
  std::vector<std::thread> threads_;
};

}  // namespace tenon::runtime
