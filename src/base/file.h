// Whole small files into memory: configuration, vocabularies, templates. Weights are mapped
// (tensor/mmap_file).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/status.h"

namespace saccade {

// The content of a regular file of at most `max_bytes`. kNotFound when there is none, kTooLarge with both
// numbers when it is bigger, kInvalidArgument for folders, pipes and devices. Messages name the path.
Result<std::string> ReadFile(const std::filesystem::path& path, size_t max_bytes);

}  // namespace saccade
