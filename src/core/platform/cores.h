// How many cores the system grants this process: by the scheduler's mask, and by the quotas of its control groups.
#pragma once

#include <string>
#include <vector>

namespace tenon::platform {

// Cores that the calling thread may run on. At least 1.
int coresOfMask() noexcept;

// Moves the calling thread to another core of its mask, which stays as it is; does nothing where there is none.
void leaveCore(int core) noexcept;

// The quotas that apply to this process: of its control groups and of all above them.
class CoreQuota {
 public:
  CoreQuota() = default;  // none
  // Finds the files, of version 2 (cpu.max) and of version 1 (cpu.cfs_quota_us), by root/proc/self/cgroup below
  // root/sys/fs/cgroup; tests have a root of their own.
  explicit CoreQuota(const std::string& root);

  // The least of them in cores (0.5: half the time of one); 0 where there is none. Reads the files again, and allocates
  // nothing.
  double read() const noexcept;

 private:
  void addGroups(const std::string& mount, std::string group, bool isUnified);
  struct Files {
    std::string quota;
    std::string period;  // empty where the first one holds both
  };
  std::vector<Files> files_;
};

}  // namespace tenon::platform
