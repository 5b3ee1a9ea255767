// Seconds that each stage of a build took, for its log.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::compile {

// Used by the building thread only.
class Stages {
 public:
  // Adds the time of its life to a stage. Stages may lie in each other; each counts for itself.
  class Running {
   public:
    explicit Running(double& seconds) : seconds_(seconds) {}
    ~Running() { seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    double& seconds_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  };

  Running run(std::string_view name) { return Running(at(name)); }
  // "  passes 0.12 s" in lines, in the order in which the stages were first met.
  std::string table() const;

 private:
  struct Stage {
    std::string name;
    double seconds = 0;
  };
  double& at(std::string_view name);
  std::vector<std::unique_ptr<Stage>> stages_;
};

}  // namespace tenon::compile
