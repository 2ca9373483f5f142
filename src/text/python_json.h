// JSON text exactly as the reference's chat templates print it.
#pragma once

#include <string>

#include "base/json.h"

namespace saccade {

// Equal to Python's json.dumps(value, ensure_ascii=False): ", " and ": " between items, no escapes but those
// JSON demands, numbers as Python's repr prints them. Integers beyond 64 bits have been read as floats
// before.
std::string DumpLikePython(const OrderedJson& value);

// A float as Python's repr prints it: shortest digits that read back equal, "1e-05", "1.0", "1e+16".
std::string PythonFloat(double value);

}  // namespace saccade
