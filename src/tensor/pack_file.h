// A file of named byte blocks, written once and then mapped read-only: the container of packed weights.
//
// Layout: a 64-byte header, the blocks (each aligned to 64 bytes, large ones to 4 KiB), and a JSON index of
// names, notes, places and the XXH3 hashes of the data in pieces of 8 MiB. The header is hashed and written
// last, the file appears under its name in one rename: a half-written, cut, damaged or foreign file is
// recognised and never used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "tensor/mmap_file.h"

namespace saccade {

// One block of a pack file. `note` says what the bytes are; who asks for a block states what it expects.
struct PackEntry {
  std::string note;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Writes a pack file. Thread-compatible. Destroying it before Commit leaves nothing behind.
class PackWriter {
 public:
  // Starts a temporary file beside `path`, which is created or replaced by Commit. kInsufficientStorage when
  // the disk has less than `expected_bytes` to spare; kUnavailable when the folder cannot be written.
  static Result<std::unique_ptr<PackWriter>> Create(const std::filesystem::path& path,
                                                    uint64_t expected_bytes);
  ~PackWriter();
  PackWriter(const PackWriter&) = delete;
  PackWriter& operator=(const PackWriter&) = delete;

  // Appends a block. Names are unique. kInsufficientStorage when the disk is full.
  Status Add(std::string_view name, std::string_view note, std::span<const std::byte> bytes);
  // Writes index and header, forces them to disk and gives the file its name.
  Status Commit(std::string_view key);

 private:
  struct Hasher;
  PackWriter(std::filesystem::path path, std::filesystem::path temporary, Descriptor file);
  Status Write(std::span<const std::byte> bytes);
  Status PadTo(uint64_t alignment);

  const std::filesystem::path path_, temporary_;
  Descriptor file_;
  uint64_t position_ = 0;
  std::map<std::string, PackEntry, std::less<>> entries_;
  std::unique_ptr<Hasher> hasher_;
  bool committed_ = false;
};

// A verified, mapped pack file. Immutable and thread-safe; spans live as long as it does.
class PackFile {
 public:
  // Maps `path` and checks header, index and the hash of every piece (read in parallel on `pool`). kNotFound
  // when there is no such file; kInvalidArgument, with the reason, when it is damaged or when `key` is not
  // empty and differs from the file's.
  static Result<PackFile> Open(const std::filesystem::path& path, std::string_view key, ThreadPool& pool);

  // The block `name`, whose note must be `note`.
  Result<std::span<const std::byte>> Find(std::string_view name, std::string_view note) const;
  // nullptr when there is no such block.
  const PackEntry* Entry(std::string_view name) const;
  std::span<const std::byte> Bytes(const PackEntry& entry) const;
  // Drops the block's pages from this process's resident memory until they are touched again.
  void Release(const PackEntry& entry) const { file_.Release(Bytes(entry)); }

  const std::filesystem::path& path() const { return path_; }
  const std::string& key() const { return key_; }
  uint64_t file_bytes() const { return file_.bytes().size(); }

 private:
  Status ReadHeaderAndIndex(std::string_view key);
  Status CheckPieces(ThreadPool& pool) const;

  std::filesystem::path path_;
  MmapFile file_;
  std::string key_;
  std::map<std::string, PackEntry, std::less<>> entries_;
  std::vector<uint64_t> pieces_;  // hash of every kPieceBytes of [kHeaderBytes, data_end_)
  uint64_t data_end_ = 0;
};

}  // namespace saccade
