#include "tensor/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <vector>

#include "base/json.h"

namespace saccade {
namespace {

// The reference implementation refuses headers above this size too.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxDimensions = 8;

std::optional<DType> ParseDType(std::string_view name) {
  for (DType type : {DType::kF32, DType::kF16, DType::kBf16, DType::kU8, DType::kI8, DType::kI32, DType::kI64,
                     DType::kBool}) {
    if (DTypeName(type) == name) return type;
  }
  return std::nullopt;
}

Result<std::vector<int64_t>> ParseShape(const Json& value) {
  if (!value.is_array() || value.size() > kMaxDimensions) return InvalidArgument("shape is not a short list");
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (const Json& dim : value) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > uint64_t{1} << 40) {
      return InvalidArgument("shape has an entry that is not a size");
    }
    shape.push_back(dim.get<int64_t>());
    if (__builtin_mul_overflow(elements, shape.back(), &elements) || elements > int64_t{1} << 50) {
      return InvalidArgument("shape {} is too large", ShapeString(shape));
    }
  }
  return shape;
}

Result<TensorView> ParseEntry(const Json& entry, std::span<const std::byte> data) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    return InvalidArgument("entry needs dtype, shape and data_offsets");
  }
  TensorView view;
  const Json& dtype = entry["dtype"];
  const std::optional<DType> type =
      dtype.is_string() ? ParseDType(dtype.get_ref<const std::string&>()) : std::nullopt;
  if (!type) return Unsupported("dtype {} is not supported", dtype.dump());
  view.dtype = *type;
  SACCADE_ASSIGN_OR_RETURN(view.shape, ParseShape(entry["shape"]));
  const Json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
      !offsets[1].is_number_unsigned()) {
    return InvalidArgument("data_offsets is not a pair of offsets");
  }
  const auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end || end > data.size()) {
    return InvalidArgument("data_offsets [{}, {}] lie outside the {} bytes of data; is the file truncated?",
                           begin, end, data.size());
  }
  const auto wanted = static_cast<uint64_t>(view.elements() * DTypeBytes(view.dtype));
  if (end - begin != wanted) {
    return InvalidArgument("data_offsets span {} bytes but {} {} needs {}", end - begin,
                           DTypeName(view.dtype), view.ShapeString(), wanted);
  }
  view.bytes = data.subspan(begin, end - begin);
  return view;
}

}  // namespace

Result<std::map<std::string, TensorView>> ParseSafetensors(std::span<const std::byte> file) {
  uint64_t header_bytes = 0;
  if (file.size() < sizeof(header_bytes)) return InvalidArgument("file is too short to be safetensors");
  std::memcpy(&header_bytes, file.data(), sizeof(header_bytes));
  if (header_bytes > kMaxHeaderBytes || header_bytes > file.size() - sizeof(header_bytes)) {
    return InvalidArgument("header claims {} bytes but the file has {}", header_bytes, file.size());
  }
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + sizeof(header_bytes),
                              header_bytes);
  JsonLimits limits;
  limits.max_bytes = kMaxHeaderBytes;
  limits.max_depth = 8;
  Result<Json> header = ParseJson(text, limits);
  if (!header.ok()) return std::move(header).status().WithContext("safetensors header");
  if (!header->is_object()) return InvalidArgument("safetensors header is not an object");
  const std::span<const std::byte> data = file.subspan(sizeof(header_bytes) + header_bytes);
  std::map<std::string, TensorView> tensors;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") continue;
    Result<TensorView> view = ParseEntry(entry, data);
    if (!view.ok()) return std::move(view).status().WithContext(fmt::format("tensor \"{}\"", name));
    tensors.emplace(name, std::move(view).value());
  }
  return tensors;
}

Status WriteSafetensors(const std::filesystem::path& path, const std::map<std::string, TensorView>& tensors) {
  Json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t offset = 0;
  for (const auto& [name, view] : tensors) {
    header[name] = {{"dtype", DTypeName(view.dtype)},
                    {"shape", view.shape},
                    {"data_offsets", {offset, offset + view.bytes.size()}}};
    offset += view.bytes.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::filesystem::path temporary = path;
  temporary += ".partial";
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    const uint64_t size = text.size();
    out.write(reinterpret_cast<const char*>(&size), sizeof(size));
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    for (const auto& [name, view] : tensors) {
      out.write(reinterpret_cast<const char*>(view.bytes.data()),
                static_cast<std::streamsize>(view.bytes.size()));
    }
    out.flush();
    if (!out) {
      std::error_code ignored;
      std::filesystem::remove(temporary, ignored);
      return InsufficientStorage("cannot write {}: is the folder writable and the disk not full?",
                                 path.string());
    }
  }
  std::error_code error;
  std::filesystem::rename(temporary, path, error);
  if (error)
    return Internal("cannot rename {} to {}: {}", temporary.string(), path.string(), error.message());
  return OkStatus();
}

}  // namespace saccade
