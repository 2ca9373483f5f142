#include "tensor/pack_file.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <numeric>

#include "base/status_testing.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class PackFileTest : public ::testing::Test {
 protected:
  PackFileTest() {
    std::string folder = (fs::temp_directory_path() / "saccade-pack-XXXXXX").string();
    folder_ = mkdtemp(folder.data());
    path_ = folder_ / "weights.saccade";
    large_.resize(20 << 20);  // more than two pieces
    std::iota(reinterpret_cast<uint32_t*>(large_.data()),
              reinterpret_cast<uint32_t*>(large_.data() + large_.size()), 1U);
  }
  ~PackFileTest() override { fs::remove_all(folder_); }

  Status WriteFile(const std::string& key = "key") {
    SACCADE_ASSIGN_OR_RETURN(const auto writer, PackWriter::Create(path_, 1));
    SACCADE_RETURN_IF_ERROR(writer->Add("small", "three bytes", std::as_bytes(std::span("abc", 3))));
    SACCADE_RETURN_IF_ERROR(writer->Add("large", "numbers", large_));
    SACCADE_RETURN_IF_ERROR(writer->Add("empty", "nothing", {}));
    return writer->Commit(key);
  }

  std::string Content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Overwrite(const std::string& content) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << content;
  }
  std::vector<std::string> FilesInFolder() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    return names;
  }

  ThreadPool pool_{2};
  fs::path folder_, path_;
  std::vector<std::byte> large_;
};

TEST_F(PackFileTest, GivesBackWhatWasWritten) {
  ASSERT_TRUE(WriteFile().ok());
  SACCADE_ASSERT_OK_AND_ASSIGN(const PackFile file, PackFile::Open(path_, "key", pool_));
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto small, file.Find("small", "three bytes"));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(small.data()), small.size()), "abc");
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto large, file.Find("large", "numbers"));
  EXPECT_TRUE(std::equal(large.begin(), large.end(), large_.begin(), large_.end()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(large.data()) % 4096, 0U);
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto empty, file.Find("empty", "nothing"));
  EXPECT_TRUE(empty.empty());
  EXPECT_THAT(file.Find("large", "words").status().message(), HasSubstr("\"numbers\", expected \"words\""));
  EXPECT_THAT(file.Find("absent", "").status().message(), HasSubstr("lacks block \"absent\""));
}

TEST_F(PackFileTest, RefusesAnotherKeyButTakesAnyWhenNoneIsAsked) {
  ASSERT_TRUE(WriteFile("one").ok());
  EXPECT_THAT(PackFile::Open(path_, "two", pool_).status().message(), HasSubstr("other weights"));
  EXPECT_EQ(PackFile::Open(path_, "", pool_)->key(), "one");
}

TEST_F(PackFileTest, NothingIsLeftBehindWithoutCommit) {
  {
    SACCADE_ASSERT_OK_AND_ASSIGN(const auto writer, PackWriter::Create(path_, 1));
    ASSERT_TRUE(writer->Add("large", "numbers", large_).ok());
    EXPECT_EQ(FilesInFolder().size(), 1U);
  }
  EXPECT_TRUE(FilesInFolder().empty());
  EXPECT_EQ(PackFile::Open(path_, "", pool_).status().code(), StatusCode::kNotFound);
}

TEST_F(PackFileTest, RefusesEveryCut) {
  ASSERT_TRUE(WriteFile().ok());
  const std::string whole = Content();
  for (const size_t size :
       {size_t{0}, size_t{10}, size_t{63}, size_t{64}, size_t{5000}, whole.size() / 2, whole.size() - 1}) {
    Overwrite(whole.substr(0, size));
    EXPECT_EQ(PackFile::Open(path_, "key", pool_).status().code(), StatusCode::kInvalidArgument) << size;
  }
  Overwrite(whole + "x");
  EXPECT_EQ(PackFile::Open(path_, "key", pool_).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(PackFileTest, NoticesOneChangedByteAnywhere) {
  ASSERT_TRUE(WriteFile().ok());
  const std::string whole = Content();
  std::vector<size_t> places = {whole.size() - 1, whole.size() - 100, whole.size() - 200};
  for (size_t place = 0; place < 64; ++place) places.push_back(place);
  for (size_t place = 64; place < whole.size(); place += 1999993) places.push_back(place);
  for (const size_t place : places) {
    std::string changed = whole;
    changed[place] = static_cast<char>(changed[place] ^ 4);
    Overwrite(changed);
    EXPECT_FALSE(PackFile::Open(path_, "key", pool_).ok()) << "byte " << place;
  }
  Overwrite(whole);
  EXPECT_TRUE(PackFile::Open(path_, "key", pool_).ok());
}

TEST_F(PackFileTest, ForeignFilesAreNotPackFiles) {
  Overwrite(std::string(4096, 'x'));
  EXPECT_THAT(PackFile::Open(path_, "", pool_).status().message(), HasSubstr("not a pack file"));
}

TEST_F(PackFileTest, SaysWhenTheDiskIsTooSmallOrTheFolderMissing) {
  EXPECT_EQ(PackWriter::Create(path_, uint64_t{1} << 60).status().code(), StatusCode::kInsufficientStorage);
  EXPECT_EQ(PackWriter::Create(folder_ / "no" / "such", 1).status().code(), StatusCode::kUnavailable);
}

TEST_F(PackFileTest, AFullDiskIsAnErrorAndLeavesNothing) {
  // A file size limit stands in for a full disk: the kernel fails the write in the same place.
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4 << 20, 4 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    _exit(WriteFile().code() == StatusCode::kInsufficientStorage ? 0 : 1);
  }
  int state = 0;
  waitpid(child, &state, 0);
  EXPECT_EQ(state, 0);
  EXPECT_TRUE(FilesInFolder().empty());
}

}  // namespace
}  // namespace saccade
