// Masks from the scheduler, quotas from the files of control groups.
#include "core/platform/cores.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tenon::platform {
namespace {

// The numbers at the head of a file, 0 where there are none: "max" is one.
std::array<double, 2> numbersIn(const std::string& path) noexcept {
  std::array<double, 2> numbers{};
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return numbers;
  char text[64];
  const ssize_t length = ::read(file, text, sizeof text - 1);
  close(file);
  text[std::max<ssize_t>(length, 0)] = '\0';
  char* next = text;
  for (double& number : numbers) number = static_cast<double>(std::strtoll(next, &next, 10));
  return numbers;
}

bool names(const std::string& controllers, const char* wanted) {
  std::istringstream list(controllers);
  for (std::string one; std::getline(list, one, ',');) {
    if (one == wanted) return true;
  }
  return false;
}

}  // namespace

int coresOfMask() noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

// The mask that is asked for outlives what the process's set of cores grants now. All cores are asked for, so that
// cores that the set gains later are the thread's, unless that is more than the thread had.
void leaveCore(int core) noexcept {
  cpu_set_t before;
  if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(0, sizeof before, &before) != 0) return;
  cpu_set_t others = before;
  CPU_CLR(static_cast<size_t>(core), &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof all);
  cpu_set_t after;
  const bool isWhole = sched_setaffinity(0, sizeof all, &all) == 0 && sched_getaffinity(0, sizeof after, &after) == 0 &&
                       CPU_EQUAL(&before, &after);
  if (!isWhole) sched_setaffinity(0, sizeof before, &before);
}

CoreQuota::CoreQuota(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // number:controllers:path
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group == "/") group.clear();
    if (controllers.empty()) {
      for (const char* place : {"", "/unified"}) addGroups(mount + place, group, true);
    } else if (names(controllers, "cpu")) {
      addGroups(mount + "/cpu", group, false);
      if (controllers != "cpu") addGroups(mount + "/" + controllers, group, false);
    }
  }
}

// The group and all above it up to the mount. A container may see the path of its group on the host, which is not
// there; the mount's own folder is its group then.
void CoreQuota::addGroups(const std::string& mount, std::string group, bool isUnified) {
  while (true) {
    const std::string folder = mount + group;
    Files files{folder + (isUnified ? "/cpu.max" : "/cpu.cfs_quota_us"),
                isUnified ? std::string() : folder + "/cpu.cfs_period_us"};
    if (access(files.quota.c_str(), R_OK) == 0) files_.push_back(std::move(files));
    const auto slash = group.find_last_of('/');
    if (slash == std::string::npos) return;
    group.resize(slash);
  }
}

double CoreQuota::read() const noexcept {
  double least = 0;
  for (const auto& files : files_) {
    const auto both = numbersIn(files.quota);
    const double period = files.period.empty() ? both[1] : numbersIn(files.period)[0];
    if (!(both[0] > 0) || !(period > 0)) continue;
    const double cores = both[0] / period;
    least = least == 0 ? cores : std::min(least, cores);
  }
  return least;
}

}  // namespace tenon::platform
