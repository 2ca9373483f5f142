#include "tensor/pack_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "base/json.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the header is written as it lies in memory");

constexpr std::array<char, 8> kMagic = {'S', 'A', 'C', 'C', 'P', 'A', 'C', 'K'};
constexpr uint32_t kContainerVersion = 1;
constexpr uint64_t kHeaderBytes = 64;
// Small enough to share out evenly among threads, large enough that hashes take no room.
constexpr uint64_t kPieceBytes = uint64_t{8} << 20;
constexpr uint64_t kMaxIndexBytes = uint64_t{16} << 20;
constexpr uint64_t kBlockAlignment = 64, kLargeBlockAlignment = 4096;

struct Header {
  std::array<char, 8> magic = kMagic;
  uint32_t version = kContainerVersion;
  uint32_t reserved = 0;
  uint64_t index_offset = 0;
  uint64_t index_bytes = 0;
  uint64_t index_hash = 0;
  uint64_t file_bytes = 0;
  uint64_t reserved2 = 0;
  uint64_t header_hash = 0;  // of everything before it
};
static_assert(sizeof(Header) == kHeaderBytes);

uint64_t HashOf(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

uint64_t HeaderHash(const Header& header) { return XXH3_64bits(&header, offsetof(Header, header_hash)); }

Status WriteError(int error, const fs::path& path) {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return InsufficientStorage("the disk of {} is full", path.string());
  }
  return Unavailable("cannot write {}: {}", path.string(), std::strerror(error));
}

Status WriteAll(int file, std::span<const std::byte> bytes, uint64_t offset, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError(errno, path);
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return OkStatus();
}

// A rename is durable once the folder is.
void SyncFolder(const fs::path& folder) {
  const Descriptor directory(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.ok()) fsync(directory.get());
}

}  // namespace

// Hashes of the pieces of everything that was written after the header.
struct PackWriter::Hasher {
  Hasher() : state(XXH3_createState()) { XXH3_64bits_reset(state); }
  ~Hasher() { XXH3_freeState(state); }
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;

  void Update(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const size_t part = std::min<size_t>(bytes.size(), kPieceBytes - filled);
      XXH3_64bits_update(state, bytes.data(), part);
      filled += part;
      bytes = bytes.subspan(part);
      if (filled == kPieceBytes) ClosePiece();
    }
  }
  void ClosePiece() {
    if (filled == 0) return;
    pieces.push_back(XXH3_64bits_digest(state));
    XXH3_64bits_reset(state);
    filled = 0;
  }

  XXH3_state_t* state;
  uint64_t filled = 0;
  std::vector<uint64_t> pieces;
};

PackWriter::PackWriter(fs::path path, fs::path temporary, Descriptor file)
    : path_(std::move(path)),
      temporary_(std::move(temporary)),
      file_(std::move(file)),
      position_(kHeaderBytes),
      hasher_(std::make_unique<Hasher>()) {}

PackWriter::~PackWriter() {
  if (!committed_) unlink(temporary_.c_str());
}

Result<std::unique_ptr<PackWriter>> PackWriter::Create(const fs::path& path, uint64_t expected_bytes) {
  struct statvfs disk = {};
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (statvfs(folder.c_str(), &disk) != 0) return WriteError(errno, folder);
  const uint64_t spare = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (spare < expected_bytes) {
    return InsufficientStorage("{} has {} MiB to spare, the packed weights need {}", folder.string(),
                               spare >> 20, expected_bytes >> 20);
  }
  std::string name = path.string() + ".part-XXXXXX";
  const int file = mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) return WriteError(errno, folder);
  return std::unique_ptr<PackWriter>(new PackWriter(path, name, Descriptor(file)));
}

Status PackWriter::Write(std::span<const std::byte> bytes) {
  SACCADE_RETURN_IF_ERROR(WriteAll(file_.get(), bytes, position_, temporary_));
  hasher_->Update(bytes);
  position_ += bytes.size();
  return OkStatus();
}

Status PackWriter::PadTo(uint64_t alignment) {
  static constexpr std::array<std::byte, kLargeBlockAlignment> kZeros = {};
  const uint64_t missing = (alignment - position_ % alignment) % alignment;
  return Write(std::span(kZeros).first(missing));
}

Status PackWriter::Add(std::string_view name, std::string_view note, std::span<const std::byte> bytes) {
  SACCADE_CHECK(!entries_.contains(name));
  SACCADE_RETURN_IF_ERROR(
      PadTo(bytes.size() < kLargeBlockAlignment ? kBlockAlignment : kLargeBlockAlignment));
  entries_.emplace(name, PackEntry{std::string(note), position_, bytes.size()});
  return Write(bytes);
}

Status PackWriter::Commit(std::string_view key) {
  hasher_->ClosePiece();
  Json blocks = Json::object();
  for (const auto& [name, entry] : entries_) blocks[name] = {entry.note, entry.offset, entry.bytes};
  const std::string index = Json({{"key", key}, {"blocks", blocks}, {"hashes", hasher_->pieces}}).dump();
  const auto index_bytes = std::as_bytes(std::span(index));
  Header header;
  header.index_offset = position_;
  header.index_bytes = index.size();
  header.index_hash = HashOf(index_bytes);
  header.file_bytes = position_ + index.size();
  header.header_hash = HeaderHash(header);
  SACCADE_RETURN_IF_ERROR(WriteAll(file_.get(), index_bytes, position_, temporary_));
  SACCADE_RETURN_IF_ERROR(WriteAll(file_.get(), std::as_bytes(std::span(&header, 1)), 0, temporary_));
  if (fchmod(file_.get(), 0644) != 0 || fsync(file_.get()) != 0) return WriteError(errno, temporary_);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) return WriteError(errno, path_);
  committed_ = true;
  SyncFolder(path_.has_parent_path() ? path_.parent_path() : fs::path("."));
  return OkStatus();
}

Result<PackFile> PackFile::Open(const fs::path& path, std::string_view key, ThreadPool& pool) {
  PackFile pack;
  pack.path_ = path;
  SACCADE_ASSIGN_OR_RETURN(pack.file_, MmapFile::Open(path));
  Status status = pack.ReadHeaderAndIndex(key);
  if (status.ok()) status = pack.CheckPieces(pool);
  if (!status.ok()) return std::move(status).WithContext(path.string());
  return pack;
}

namespace {

// The blocks of the index; every one must lie within [kHeaderBytes, data_end).
Result<std::map<std::string, PackEntry, std::less<>>> ParseBlocks(const Json& blocks, uint64_t data_end) {
  std::map<std::string, PackEntry, std::less<>> entries;
  for (const auto& [name, value] : blocks.items()) {
    if (!value.is_array() || value.size() != 3 || !value[0].is_string() || !value[1].is_number_unsigned() ||
        !value[2].is_number_unsigned()) {
      return InvalidArgument("block \"{}\" is not [note, offset, bytes]", name);
    }
    PackEntry entry{value[0].get<std::string>(), value[1].get<uint64_t>(), value[2].get<uint64_t>()};
    if (entry.offset < kHeaderBytes || entry.offset > data_end || entry.bytes > data_end - entry.offset ||
        entry.offset % kBlockAlignment != 0) {
      return InvalidArgument("block \"{}\" lies outside the data", name);
    }
    entries.emplace(name, std::move(entry));
  }
  return entries;
}

}  // namespace

Status PackFile::ReadHeaderAndIndex(std::string_view key) {
  const std::span<const std::byte> bytes = file_.bytes();
  Header header;
  if (bytes.size() < kHeaderBytes) return InvalidArgument("is too short for a pack file");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kMagic) return InvalidArgument("is not a pack file");
  if (header.version != kContainerVersion) return InvalidArgument("has format version {}", header.version);
  if (header.header_hash != HeaderHash(header)) return InvalidArgument("has a damaged header");
  if (header.file_bytes != bytes.size()) {
    return InvalidArgument("has {} bytes instead of {}", bytes.size(), header.file_bytes);
  }
  if (header.index_bytes > kMaxIndexBytes || header.index_offset < kHeaderBytes ||
      header.index_offset > bytes.size() || header.index_bytes != bytes.size() - header.index_offset) {
    return InvalidArgument("has its index in the wrong place");
  }
  const auto index_bytes = bytes.subspan(header.index_offset, header.index_bytes);
  if (HashOf(index_bytes) != header.index_hash) return InvalidArgument("has a damaged index");
  SACCADE_ASSIGN_OR_RETURN(
      const Json index, ParseJson({reinterpret_cast<const char*>(index_bytes.data()), index_bytes.size()}));
  SACCADE_ASSIGN_OR_RETURN(key_, GetString(index, "key"));
  if (!key.empty() && key != key_)
    return InvalidArgument("was made from other weights or by another version");
  data_end_ = header.index_offset;
  SACCADE_ASSIGN_OR_RETURN(const Json* blocks, GetObject(index, "blocks"));
  SACCADE_ASSIGN_OR_RETURN(entries_, ParseBlocks(*blocks, data_end_));
  SACCADE_ASSIGN_OR_RETURN(const Json* hashes, GetArray(index, "hashes"));
  for (const Json& hash : *hashes) {
    if (!hash.is_number_unsigned()) return InvalidArgument("has a hash that is not a number");
    pieces_.push_back(hash.get<uint64_t>());
  }
  return OkStatus();
}

Status PackFile::CheckPieces(ThreadPool& pool) const {
  const auto data = file_.bytes().subspan(kHeaderBytes, data_end_ - kHeaderBytes);
  if (pieces_.size() != (data.size() + kPieceBytes - 1) / kPieceBytes) {
    return InvalidArgument("has {} hashes for {} bytes", pieces_.size(), data.size());
  }
  std::atomic<bool> damaged{false};
  pool.ParallelFor(static_cast<int64_t>(pieces_.size()), [&](int64_t piece, int) {
    const auto begin = static_cast<uint64_t>(piece) * kPieceBytes;
    const auto part = data.subspan(begin, std::min<uint64_t>(kPieceBytes, data.size() - begin));
    if (HashOf(part) != pieces_[static_cast<size_t>(piece)]) damaged = true;
    file_.Release(
        part);  // stays in the page cache; what is never used must not count as this process's memory
  });
  return damaged ? InvalidArgument("has damaged data") : OkStatus();
}

const PackEntry* PackFile::Entry(std::string_view name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

std::span<const std::byte> PackFile::Bytes(const PackEntry& entry) const {
  return file_.bytes().subspan(entry.offset, entry.bytes);
}

Result<std::span<const std::byte>> PackFile::Find(std::string_view name, std::string_view note) const {
  const PackEntry* entry = Entry(name);
  if (entry == nullptr) return InvalidArgument("{} lacks block \"{}\"", path_.string(), name);
  if (entry->note != note) {
    return InvalidArgument("block \"{}\" of {} is \"{}\", expected \"{}\"", name, path_.string(), entry->note,
                           note);
  }
  return Bytes(*entry);
}

}  // namespace saccade
