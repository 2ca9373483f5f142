// What the child process gives up before it looks at a foreign file.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace saccade {

// Of the calling process, for good: address space, processor time, no core file, no written files, few
// descriptors; no new privileges, death with the parent; and a system call filter without sockets, new
// programs, signals to others and changes to the file system. Threads and reading files (fonts) stay
// possible.
Status ConfineProcess(int64_t memory_bytes, int cpu_seconds);

}  // namespace saccade
