// The weight file: packed weights and the small files of a checkpoint in one file that later starts map.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/file_set.h"
#include "base/status.h"
#include "kernels/kernels.h"
#include "tensor/pack_file.h"

namespace saccade {

struct WeightTypes {
  WeightType text = WeightType::kBf16, vision = WeightType::kBf16;
};

// How weights are loaded.
struct WeightOptions {
  WeightTypes types = {};
  // Where weight files are kept and looked for; empty: pack in memory at every start.
  std::filesystem::path cache_folder = {};
  // Checkpoints with fewer bytes than this are packed in memory: that is quicker than reading a second file.
  int64_t smallest_cached_bytes = int64_t{256} << 20;
};

// Where the weights in use lie, for the log and `saccade info`.
struct WeightOrigin {
  enum class Kind : uint8_t {
    kMemory,  // packed in this process's own memory
    kMapped,  // a weight file that was there
    kBuilt,   // a weight file that this start wrote
  };
  Kind kind = Kind::kMemory;
  std::filesystem::path file;  // of kMapped and kBuilt
  std::string note;            // why there is no file, or why an old one was replaced; may be empty
};

// Changes whenever a file of the checkpoint changes: config.json, and of each safetensors file name, size,
// time of change, and the ends of its content.
Result<std::string> CheckpointIdentity(const std::filesystem::path& checkpoint);

// The file in `options.cache_folder` for this checkpoint and these types.
Result<std::filesystem::path> WeightFilePath(const std::filesystem::path& checkpoint,
                                             const WeightOptions& options);

// Writes the weight file of a checkpoint folder to `path`. Needs memory for one matrix at a time.
Status BuildWeightFile(const std::filesystem::path& checkpoint, WeightTypes types,
                       const std::filesystem::path& path, KernelContext& context);

// The weight file of a checkpoint folder, which is written first when it is missing, damaged or made from
// other weights. Processes that start together wait for the one that writes. nullopt, with the reason in
// `origin.note`, when weights have to be packed in memory instead.
Result<std::optional<PackFile>> OpenOrBuildWeightFile(const std::filesystem::path& checkpoint,
                                                      const WeightOptions& options, KernelContext& context,
                                                      WeightOrigin& origin);

// A weight file that the user names. Its types are those it was made with.
Result<PackFile> OpenWeightFile(const std::filesystem::path& path, ThreadPool& pool);
Result<WeightTypes> WeightTypesOf(const PackFile& file);

// The small files inside a weight file.
class PackedFiles : public FileSet {
 public:
  explicit PackedFiles(const PackFile& file) : file_(file) {}
  Result<std::string> Read(std::string_view name, size_t max_bytes) const override;
  std::string Where(std::string_view name) const override;

 private:
  const PackFile& file_;
};

}  // namespace saccade
