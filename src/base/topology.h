// What of this machine the process may use: cores, caches, memory, as limited by affinity mask and cgroup.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace saccade {

struct Topology {
  // One logical CPU per physical core inside the affinity mask, in the order workers should be pinned.
  std::vector<int> core_cpus;
  int logical_cpus = 0;               // logical CPUs inside the affinity mask
  int physical_cores = 0;             // distinct physical cores inside the affinity mask (= core_cpus.size())
  std::optional<double> cgroup_cpus;  // quota / period, the smallest on the path to the root
  std::optional<int64_t> cgroup_memory_bytes;  // memory.max, the smallest on the path to the root
  int64_t ram_bytes = 0;                       // physical memory of the machine
  int64_t l2_bytes = 0, l3_bytes = 0;          // per instance; 0 when unknown
  int numa_nodes = 1;

  // Worker threads for compute: physical cores, but no more than floor(quota), at least 1.
  int ComputeThreads() const;
  // min(RAM, cgroup limit).
  int64_t UsableMemoryBytes() const;
};

// Reads hwloc, sched_getaffinity and the cgroup files. Cheap enough to call once at start.
Topology DetectTopology();

// The cgroup limits read below `root` (normally "/") for the group named in `root`/proc/self/cgroup; v1 and
// v2.
struct CgroupLimits {
  std::optional<double> cpus;
  std::optional<int64_t> memory_bytes;
};
CgroupLimits ReadCgroupLimits(const std::filesystem::path& root);

}  // namespace saccade
