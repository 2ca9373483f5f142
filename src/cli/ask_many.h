// One question about many files, each by itself: progress on the terminal, results as JSON lines or CSV.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace saccade {

// The answer about one file as JSON; an error is written down and the next file goes on.
using AskOne = std::function<Result<OrderedJson>(const std::string& file)>;

// `out`: a file whose name ends in .csv gets CSV, any other JSON lines; empty: JSON lines on standard output.
// Each result is written when it is there. Fails at the end when a file failed, and at once when interrupted.
Status AskMany(const std::vector<std::string>& files, const std::string& out, const AskOne& ask);

// One line of CSV (RFC 4180), line break included. A field that a spreadsheet would take for a formula gets
// an apostrophe before it.
std::string CsvLine(const std::vector<std::string>& fields);

}  // namespace saccade
