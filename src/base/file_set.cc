#include "base/file_set.h"

#include "base/file.h"

namespace saccade {

Result<std::optional<std::string>> FileSet::ReadOptional(std::string_view name, size_t max_bytes) const {
  Result<std::string> text = Read(name, max_bytes);
  if (text.ok()) return std::optional<std::string>(std::move(text).value());
  if (text.status().code() == StatusCode::kNotFound) return std::optional<std::string>();
  return std::move(text).status();
}

Result<std::string> FolderFiles::Read(std::string_view name, size_t max_bytes) const {
  return ReadFile(folder_ / name, max_bytes);
}

std::string FolderFiles::Where(std::string_view name) const {
  return name.empty() ? folder_.string() : (folder_ / name).string();
}

}  // namespace saccade
