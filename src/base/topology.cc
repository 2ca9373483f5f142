#include "base/topology.h"

#include <hwloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>

namespace saccade {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> ReadFirstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) return std::nullopt;
  return line;
}

template <class T>
void TakeSmaller(std::optional<T>& current, std::optional<T> candidate) {
  if (candidate && (!current || *candidate < *current)) current = candidate;
}

// "max 100000" or "150000 100000" (cgroup v2 cpu.max).
std::optional<double> ParseCpuMax(const std::string& line) {
  std::istringstream stream(line);
  std::string quota;
  double period = 100000;
  stream >> quota >> period;
  if (quota.empty() || quota == "max" || period <= 0) return std::nullopt;
  const double value = std::strtod(quota.c_str(), nullptr);
  return value > 0 ? std::optional(value / period) : std::nullopt;
}

std::optional<int64_t> ParseBytes(const std::string& line) {
  if (line == "max") return std::nullopt;
  const int64_t bytes = std::strtoll(line.c_str(), nullptr, 10);
  constexpr int64_t kUnlimitedV1 = int64_t{1} << 60;  // v1 writes "no limit" as a number near 2^63
  return bytes > 0 && bytes < kUnlimitedV1 ? std::optional(bytes) : std::nullopt;
}

// Limits of one group directory and of all its ancestors up to `mount`.
template <class Reader>
void WalkUp(const fs::path& mount, const std::string& group, Reader&& read) {
  fs::path directory = mount / fs::path(group).relative_path();
  for (;;) {
    read(directory);
    if (directory == mount || !directory.has_relative_path() || directory.parent_path() == directory) break;
    directory = directory.parent_path();
    if (directory.string().size() < mount.string().size()) break;
  }
}

void ReadV2(const fs::path& mount, const std::string& group, CgroupLimits& limits) {
  WalkUp(mount, group, [&](const fs::path& directory) {
    if (auto line = ReadFirstLine(directory / "cpu.max")) TakeSmaller(limits.cpus, ParseCpuMax(*line));
    if (auto line = ReadFirstLine(directory / "memory.max"))
      TakeSmaller(limits.memory_bytes, ParseBytes(*line));
  });
}

void ReadV1(const fs::path& cgroup_root, const std::string& controllers, const std::string& group,
            CgroupLimits& limits) {
  const auto has = [&controllers](const std::string& name) {
    return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
  };
  if (has("cpu")) {
    for (const char* mount : {"cpu", "cpu,cpuacct"}) {
      WalkUp(cgroup_root / mount, group, [&](const fs::path& directory) {
        const auto quota = ReadFirstLine(directory / "cpu.cfs_quota_us");
        const auto period = ReadFirstLine(directory / "cpu.cfs_period_us");
        if (quota && period && quota->front() != '-')
          TakeSmaller(limits.cpus, ParseCpuMax(*quota + " " + *period));
      });
    }
  }
  if (has("memory")) {
    WalkUp(cgroup_root / "memory", group, [&](const fs::path& directory) {
      if (auto line = ReadFirstLine(directory / "memory.limit_in_bytes")) {
        TakeSmaller(limits.memory_bytes, ParseBytes(*line));
      }
    });
  }
}

struct HwlocDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};

void ReadHwloc(const cpu_set_t& allowed, Topology& result) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return;
  const std::unique_ptr<hwloc_topology, HwlocDeleter> topology(raw);
  if (hwloc_topology_load(raw) != 0) return;
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_CORE, core)) != nullptr) {
    int cpu = -1;
    hwloc_bitmap_foreach_begin(cpu, core->cpuset) if (CPU_ISSET(static_cast<size_t>(cpu), &allowed)) {
      result.core_cpus.push_back(cpu);
      break;
    }
    hwloc_bitmap_foreach_end();
  }
  result.numa_nodes = std::max(1, hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_NUMANODE));
  if (hwloc_obj_t l2 = hwloc_get_obj_by_type(raw, HWLOC_OBJ_L2CACHE, 0)) {
    result.l2_bytes = static_cast<int64_t>(l2->attr->cache.size);
  }
  if (hwloc_obj_t l3 = hwloc_get_obj_by_type(raw, HWLOC_OBJ_L3CACHE, 0)) {
    result.l3_bytes = static_cast<int64_t>(l3->attr->cache.size);
  }
}

}  // namespace

CgroupLimits ReadCgroupLimits(const fs::path& root) {
  CgroupLimits limits;
  std::ifstream groups(root / "proc/self/cgroup");
  std::string line;  // "hierarchy:controllers:path"
  while (std::getline(groups, line)) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    const fs::path mount = root / "sys/fs/cgroup";
    if (controllers.empty()) {
      ReadV2(fs::exists(mount / "unified") ? mount / "unified" : mount, group, limits);
    } else {
      ReadV1(mount, controllers, group, limits);
    }
  }
  return limits;
}

int Topology::ComputeThreads() const {
  int threads = std::max(1, physical_cores);
  if (cgroup_cpus) threads = std::min(threads, std::max(1, static_cast<int>(std::floor(*cgroup_cpus))));
  return threads;
}

int64_t Topology::UsableMemoryBytes() const {
  return cgroup_memory_bytes ? std::min(ram_bytes, *cgroup_memory_bytes) : ram_bytes;
}

Topology DetectTopology() {
  Topology result;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) CPU_SET(0, &allowed);
  result.logical_cpus = CPU_COUNT(&allowed);
  ReadHwloc(allowed, result);
  if (result.core_cpus.empty()) {  // hwloc sees no cores in some containers: take the mask as it is
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(static_cast<size_t>(cpu), &allowed)) result.core_cpus.push_back(cpu);
    }
  }
  result.physical_cores = static_cast<int>(result.core_cpus.size());
  result.ram_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  const CgroupLimits limits = ReadCgroupLimits("/");
  result.cgroup_cpus = limits.cpus;
  result.cgroup_memory_bytes = limits.memory_bytes;
  return result;
}

}  // namespace saccade
