// The tables of the task store and the way from every earlier form of them to this one.
#pragma once

#include <sqlite3.h>

#include "base/status.h"

namespace saccade {

// Queued tasks are counted in stretches of this many sequence numbers, so that the position of one is the sum
// of the stretches before its own (tens for 10,000 tasks) and a count within it. Part of the stored form: a
// change needs a new version.
inline constexpr int kTasksPerStretch = 256;

// Creates the tables, or brings those of an earlier version to this one, in one transaction. Unavailable when
// the file was written by a newer version; nothing is changed then.
Status PrepareTaskSchema(sqlite3* database);

}  // namespace saccade
