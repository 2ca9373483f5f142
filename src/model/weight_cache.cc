#include "model/weight_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/descriptor.h"
#include "base/sha256.h"
#include "model/model.h"
#include "model/weight_source.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;

// Raise it when packed bytes change for the same weights: layout, rounding, choice of scales, sensitive
// matrices.
constexpr int kWeightFormat = 1;

constexpr std::string_view kTypesBlock = "saccade weight types";
constexpr std::string_view kFilePrefix = "file/";
constexpr std::string_view kFileNote = "file";
constexpr size_t kMaxSmallFileBytes = size_t{64} << 20;
constexpr std::array<std::string_view, 8> kSmallFiles = {
    "config.json",    "generation_config.json", "preprocessor_config.json", "processor_config.json",
    "tokenizer.json", "tokenizer_config.json",  "chat_template.jinja",      "chat_template.json"};

// Of each end of a safetensors file: its header lies at the start.
constexpr int64_t kIdentityBytes = int64_t{256} << 10;

std::string TypesNote(WeightTypes types) {
  return fmt::format("text {} vision {}", WeightTypeName(types.text), WeightTypeName(types.vision));
}

std::vector<fs::path> TensorFiles(const fs::path& checkpoint) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(checkpoint, error)) {
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

int64_t TensorBytes(const fs::path& checkpoint) {
  int64_t bytes = 0;
  std::error_code error;
  for (const fs::path& file : TensorFiles(checkpoint))
    bytes += static_cast<int64_t>(fs::file_size(file, error));
  return bytes;
}

// Name, size, time of change and both ends of one file.
Status HashTensorFile(const fs::path& path, Sha256& hash) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  if (!file.ok() || fstat(file.get(), &info) != 0) {
    return InvalidArgument("{} cannot be read: {}", path.string(), std::strerror(errno));
  }
  hash.Update(fmt::format("{} {} {}.{}\n", path.filename().string(), info.st_size, info.st_mtim.tv_sec,
                          info.st_mtim.tv_nsec));
  std::vector<std::byte> buffer(static_cast<size_t>(std::min<int64_t>(kIdentityBytes, info.st_size)));
  for (const int64_t offset : {int64_t{0}, info.st_size - static_cast<int64_t>(buffer.size())}) {
    const ssize_t got = pread(file.get(), buffer.data(), buffer.size(), offset);
    if (got < 0) return InvalidArgument("{} cannot be read: {}", path.string(), std::strerror(errno));
    hash.Update(std::span(buffer).first(static_cast<size_t>(got)));
  }
  return OkStatus();
}

std::string KeyOf(const std::string& identity, WeightTypes types) {
  return fmt::format("saccade weights {}; {}; checkpoint {}", kWeightFormat, TypesNote(types), identity);
}

Status AddSmallFiles(const fs::path& checkpoint, PackWriter& writer) {
  const FolderFiles files(checkpoint);
  for (std::string_view name : kSmallFiles) {
    SACCADE_ASSIGN_OR_RETURN(const auto text, files.ReadOptional(name, kMaxSmallFileBytes));
    if (!text) continue;
    SACCADE_RETURN_IF_ERROR(
        writer.Add(std::string(kFilePrefix).append(name), kFileNote, std::as_bytes(std::span(*text))));
  }
  return OkStatus();
}

// Held while a weight file is written; other processes wait for it. The lock file stays.
class BuildLock {
 public:
  explicit BuildLock(const fs::path& path) : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_.ok()) {
      while (flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) continue;
    }
  }

 private:
  Descriptor file_;  // closing it unlocks
};

// Left over by processes that were killed while they wrote. Only called under the lock.
void RemoveLeftovers(const fs::path& path) {
  const std::string prefix = path.filename().string() + ".part-";
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(path.parent_path(), error)) {
    if (entry.path().filename().string().rfind(prefix, 0) == 0) fs::remove(entry.path(), error);
  }
}

}  // namespace

Result<std::string> CheckpointIdentity(const fs::path& checkpoint) {
  Sha256 hash;
  SACCADE_ASSIGN_OR_RETURN(const std::string config,
                           FolderFiles(checkpoint).Read("config.json", kMaxSmallFileBytes));
  hash.Update(config);
  for (const fs::path& file : TensorFiles(checkpoint)) SACCADE_RETURN_IF_ERROR(HashTensorFile(file, hash));
  return ToHex(hash.Finish());
}

Result<fs::path> WeightFilePath(const fs::path& checkpoint, const WeightOptions& options) {
  SACCADE_ASSIGN_OR_RETURN(const std::string identity, CheckpointIdentity(checkpoint));
  fs::path name = fs::absolute(checkpoint).lexically_normal();
  if (!name.has_filename()) name = name.parent_path();
  return options.cache_folder / fmt::format("{}-{}-{}-{}.saccade", name.filename().string(),
                                            WeightTypeName(options.types.text),
                                            WeightTypeName(options.types.vision), identity.substr(0, 16));
}

Status BuildWeightFile(const fs::path& checkpoint, WeightTypes types, const fs::path& path,
                       KernelContext& context) {
  SACCADE_ASSIGN_OR_RETURN(const ModelConfig config, LoadModelConfig(FolderFiles(checkpoint)));
  SACCADE_ASSIGN_OR_RETURN(const WeightStore store, WeightStore::Open(checkpoint));
  SACCADE_ASSIGN_OR_RETURN(const std::string identity, CheckpointIdentity(checkpoint));
  // The embedding table is copied as it is; the rest is packed.
  const int64_t table_bytes = config.text.vocab * config.text.hidden * 4;
  const auto expected = static_cast<uint64_t>(EstimateWeightBytes(config, types).total() + table_bytes);
  SACCADE_ASSIGN_OR_RETURN(const auto writer, PackWriter::Create(path, expected));
  SACCADE_RETURN_IF_ERROR(writer->Add(kTypesBlock, TypesNote(types), {}));
  SACCADE_RETURN_IF_ERROR(AddSmallFiles(checkpoint, *writer));
  CheckpointSource source(context, store, writer.get());
  WeightLoader vision_loader(source, types.vision), text_loader(source, types.text);
  SACCADE_ASSIGN_OR_RETURN(const VisionTower vision, VisionTower::Load(vision_loader, config.vision));
  SACCADE_ASSIGN_OR_RETURN(
      const TextDecoder text,
      TextDecoder::Load(text_loader, config.text, static_cast<int>(config.vision.deepstack_layers.size())));
  return writer->Commit(KeyOf(identity, types));
}

namespace {

// Under the lock: opens what another process wrote meanwhile, or writes the file and opens it.
Result<PackFile> BuildAndOpen(const fs::path& checkpoint, WeightTypes types, const std::string& key,
                              KernelContext& context, WeightOrigin& origin) {
  std::error_code error;
  fs::create_directories(origin.file.parent_path(), error);
  const BuildLock lock(origin.file.string() + ".lock");
  RemoveLeftovers(origin.file);
  Result<PackFile> file = PackFile::Open(origin.file, key, context.pool());
  if (file.ok()) return file;
  if (file.status().code() != StatusCode::kNotFound) origin.note = file.status().message();
  SACCADE_RETURN_IF_ERROR(BuildWeightFile(checkpoint, types, origin.file, context));
  origin.kind = WeightOrigin::Kind::kBuilt;
  return PackFile::Open(origin.file, key, context.pool());
}

// Reasons to go on without a weight file; everything else is a fault of the checkpoint.
bool IsStorageFault(const Status& status) {
  return status.code() == StatusCode::kInsufficientStorage || status.code() == StatusCode::kUnavailable;
}

}  // namespace

Result<std::optional<PackFile>> OpenOrBuildWeightFile(const fs::path& checkpoint,
                                                      const WeightOptions& options, KernelContext& context,
                                                      WeightOrigin& origin) {
  if (options.cache_folder.empty()) return std::optional<PackFile>();
  if (TensorBytes(checkpoint) < options.smallest_cached_bytes) return std::optional<PackFile>();
  SACCADE_ASSIGN_OR_RETURN(const std::string identity, CheckpointIdentity(checkpoint));
  SACCADE_ASSIGN_OR_RETURN(origin.file, WeightFilePath(checkpoint, options));
  origin.kind = WeightOrigin::Kind::kMapped;
  const std::string key = KeyOf(identity, options.types);
  Result<PackFile> file = PackFile::Open(origin.file, key, context.pool());
  if (!file.ok()) file = BuildAndOpen(checkpoint, options.types, key, context, origin);
  if (file.ok()) return std::optional<PackFile>(std::move(file).value());
  if (!IsStorageFault(file.status())) return std::move(file).status();
  origin = {WeightOrigin::Kind::kMemory, {}, file.status().message()};
  return std::optional<PackFile>();
}

Result<PackFile> OpenWeightFile(const fs::path& path, ThreadPool& pool) {
  SACCADE_ASSIGN_OR_RETURN(PackFile file, PackFile::Open(path, "", pool));
  const std::string expected = fmt::format("saccade weights {};", kWeightFormat);
  if (file.key().rfind(expected, 0) != 0) {
    return InvalidArgument("{} was written by another version; make it again with `saccade quantize`",
                           path.string());
  }
  return file;
}

Result<WeightTypes> WeightTypesOf(const PackFile& file) {
  const PackEntry* entry = file.Entry(kTypesBlock);
  for (const WeightType text : kAllWeightTypes) {
    for (const WeightType vision : kAllWeightTypes) {
      const WeightTypes types{text, vision};
      if (entry != nullptr && entry->note == TypesNote(types)) return types;
    }
  }
  return InvalidArgument("{} does not say what weights it holds", file.path().string());
}

Result<std::string> PackedFiles::Read(std::string_view name, size_t max_bytes) const {
  const PackEntry* entry = file_.Entry(std::string(kFilePrefix).append(name));
  if (entry == nullptr || entry->note != kFileNote) return NotFound("{}: no such file", Where(name));
  if (entry->bytes > max_bytes) {
    return TooLarge("{} has {} bytes, the limit is {}", Where(name), entry->bytes, max_bytes);
  }
  const auto bytes = file_.Bytes(*entry);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string PackedFiles::Where(std::string_view name) const {
  return name.empty() ? file_.path().string() : fmt::format("{} in {}", name, file_.path().string());
}

}  // namespace saccade
