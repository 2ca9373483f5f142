#include "base/topology.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>

namespace saccade {
namespace {

namespace fs = std::filesystem;

// A fake root with proc/self/cgroup and limit files.
class FakeRoot {
 public:
  explicit FakeRoot(const std::string& name) : path_(fs::path(::testing::TempDir()) / name) {
    fs::remove_all(path_);
  }
  ~FakeRoot() { fs::remove_all(path_); }
  FakeRoot& File(const std::string& name, const std::string& content) {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << content << "\n";
    return *this;
  }
  CgroupLimits Read() const { return ReadCgroupLimits(path_); }

 private:
  fs::path path_;
};

TEST(Cgroup, V2TakesTheSmallestOnThePath) {
  FakeRoot root("cgroup_v2");
  root.File("proc/self/cgroup", "0::/a/b")
      .File("sys/fs/cgroup/a/b/cpu.max", "max 100000")
      .File("sys/fs/cgroup/a/cpu.max", "250000 100000")
      .File("sys/fs/cgroup/a/b/memory.max", "1073741824")
      .File("sys/fs/cgroup/a/memory.max", "max");
  const CgroupLimits limits = root.Read();
  EXPECT_DOUBLE_EQ(limits.cpus.value(), 2.5);
  EXPECT_EQ(limits.memory_bytes.value(), 1 << 30);
}

TEST(Cgroup, V2InsideAContainerNamespace) {
  FakeRoot root("cgroup_v2_ns");
  root.File("proc/self/cgroup", "0::/").File("sys/fs/cgroup/cpu.max", "50000 100000");
  EXPECT_DOUBLE_EQ(root.Read().cpus.value(), 0.5);
}

TEST(Cgroup, V1ReadsQuotaAndMemory) {
  FakeRoot root("cgroup_v1");
  root.File("proc/self/cgroup", "3:cpu,cpuacct:/docker/x\n2:memory:/docker/x")
      .File("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "400000")
      .File("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000")
      .File("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "536870912")
      .File("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  const CgroupLimits limits = root.Read();
  EXPECT_DOUBLE_EQ(limits.cpus.value(), 4);
  EXPECT_EQ(limits.memory_bytes.value(), 512 << 20);
}

TEST(Cgroup, NoLimitsAndNoFilesMeanNone) {
  FakeRoot root("cgroup_none");
  root.File("proc/self/cgroup", "0::/x").File("sys/fs/cgroup/x/cpu.max", "max 100000");
  EXPECT_FALSE(root.Read().cpus.has_value());
  EXPECT_FALSE(root.Read().memory_bytes.has_value());
}

TEST(Topology, ThreadsAreCoresWithinTheQuota) {
  Topology topology;
  topology.physical_cores = 8;
  EXPECT_EQ(topology.ComputeThreads(), 8);
  topology.cgroup_cpus = 7.65;
  EXPECT_EQ(topology.ComputeThreads(), 7);
  topology.cgroup_cpus = 0.5;
  EXPECT_EQ(topology.ComputeThreads(), 1);
  topology.cgroup_cpus = 64;
  EXPECT_EQ(topology.ComputeThreads(), 8);
}

TEST(Topology, SeesThisMachineAndItsAffinityMask) {
  const Topology all = DetectTopology();
  EXPECT_GE(all.physical_cores, 1);
  EXPECT_GT(all.ram_bytes, 0);
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(all.core_cpus.back()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const Topology masked = DetectTopology();
  sched_setaffinity(0, sizeof(before), &before);
  EXPECT_EQ(masked.core_cpus, std::vector<int>{all.core_cpus.back()});
  EXPECT_EQ(masked.ComputeThreads(), 1);
}

}  // namespace
}  // namespace saccade
