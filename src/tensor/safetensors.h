// Reader of one safetensors file: an 8-byte header length, a JSON table, then raw little-endian tensors.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "tensor/mmap_file.h"
#include "tensor/tensor.h"

namespace saccade {

// Parses the table of `file`. Every offset is checked against the file and against the shape; views alias
// `file`. Never trusts a number: a header that claims more than the file holds is an error, not a read.
Result<std::map<std::string, TensorView>> ParseSafetensors(std::span<const std::byte> file);

// Writes tensors in name order, atomically (a temporary file that is renamed). Used by `saccade trace`.
Status WriteSafetensors(const std::filesystem::path& path, const std::map<std::string, TensorView>& tensors);

}  // namespace saccade
