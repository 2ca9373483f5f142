// The small files of a checkpoint by name, wherever they lie: a folder, or the copies inside a weight file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace saccade {

// Thread-safe to read.
class FileSet {
 public:
  virtual ~FileSet() = default;

  // The content of the file `name` of at most `max_bytes`; kNotFound when there is none.
  virtual Result<std::string> Read(std::string_view name, size_t max_bytes) const = 0;
  // What to call the file `name` (or, when empty, the whole set) in messages.
  virtual std::string Where(std::string_view name) const = 0;

  // nullopt when there is no such file.
  Result<std::optional<std::string>> ReadOptional(std::string_view name, size_t max_bytes) const;
};

// The files of one folder, without its subfolders.
class FolderFiles : public FileSet {
 public:
  explicit FolderFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Result<std::string> Read(std::string_view name, size_t max_bytes) const override;
  std::string Where(std::string_view name) const override;

 private:
  const std::filesystem::path folder_;
};

}  // namespace saccade
