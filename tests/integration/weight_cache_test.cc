// Weight files: the same answers as weights packed in memory, and never the content of a damaged or foreign
// file.
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/topology.h"
#include "engine_testing.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;
using testing::GoldenChat;
using testing::GoldenFolder;
using ::testing::HasSubstr;

class WeightCacheTest : public ::testing::TestWithParam<WeightType> {
 protected:
  WeightCacheTest() {
    std::string folder = (fs::temp_directory_path() / "saccade-cache-XXXXXX").string();
    folder_ = mkdtemp(folder.data());
    checkpoint_ = folder_ / "tiny";
    fs::create_directory(checkpoint_);
    for (const auto& entry : fs::directory_iterator(GoldenFolder() / "tiny-dense")) {
      if (entry.path().filename() != "goldens.json")
        fs::copy(entry.path(), checkpoint_, fs::copy_options::recursive);
    }
    options_.types = {GetParam(), GetParam()};
    options_.cache_folder = folder_ / "cache";
    options_.smallest_cached_bytes = 0;
  }
  ~WeightCacheTest() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }

  std::shared_ptr<const Checkpoint> Load(const fs::path& source) {
    Result<std::shared_ptr<const Checkpoint>> loaded = Checkpoint::Load(source, options_, pool_);
    EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
    return loaded.ok() ? *loaded : nullptr;
  }
  WeightOrigin::Kind LoadedFrom() { return Load(checkpoint_)->model->origin().kind; }
  fs::path File() const { return WeightFilePath(checkpoint_, options_).value(); }
  size_t FilesInCache() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(options_.cache_folder), {}));
  }

  std::vector<int32_t> Answer(std::shared_ptr<const Checkpoint> checkpoint) {
    EngineOptions engine_options;
    engine_options.kv_cache_tokens = 8192;
    engine_options.pin_threads = false;
    const auto engine = Engine::Start(std::move(checkpoint), engine_options).value();
    ChatInput input = GoldenChat("tiny-dense", "two_images");
    input.options.max_tokens = 24;
    testing::Recorder recorder;
    testing::Submit(*engine, input, recorder);
    recorder.Wait();
    return recorder.tokens();
  }

  ThreadPool pool_{2};
  fs::path folder_, checkpoint_;
  WeightOptions options_;
};

TEST_P(WeightCacheTest, MappedWeightsGiveTheSameAnswer) {
  WeightOptions memory = options_;
  memory.cache_folder.clear();
  const auto packed = Checkpoint::Load(checkpoint_, memory, pool_).value();
  EXPECT_EQ(packed->model->origin().kind, WeightOrigin::Kind::kMemory);
  const std::vector<int32_t> expected = Answer(packed);
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(LoadedFrom(), WeightOrigin::Kind::kBuilt);
  EXPECT_EQ(LoadedFrom(), WeightOrigin::Kind::kMapped);
  EXPECT_EQ(Answer(Load(checkpoint_)), expected);
  // The file needs nothing else: configuration and vocabulary are inside.
  const fs::path alone = folder_ / "alone.saccade";
  fs::copy(File(), alone);
  fs::remove_all(checkpoint_);
  const auto loaded = Load(alone);
  EXPECT_EQ(loaded->name, "alone");
  EXPECT_EQ(loaded->model->types().text, GetParam());
  EXPECT_EQ(Answer(loaded), expected);
}

TEST_P(WeightCacheTest, DamagedFilesAreReplaced) {
  ASSERT_EQ(LoadedFrom(), WeightOrigin::Kind::kBuilt);
  const auto size = static_cast<int64_t>(fs::file_size(File()));
  for (const int64_t place : {int64_t{0}, int64_t{40}, int64_t{5000}, size / 2, size - 2}) {
    std::fstream file(File(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(place);
    const int byte = file.get();
    file.seekp(place);
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    const auto checkpoint = Load(checkpoint_);
    EXPECT_EQ(checkpoint->model->origin().kind, WeightOrigin::Kind::kBuilt) << place;
    EXPECT_THAT(checkpoint->model->origin().note, HasSubstr(File().filename().string()));
  }
  fs::resize_file(File(), static_cast<size_t>(size / 3));
  EXPECT_EQ(LoadedFrom(), WeightOrigin::Kind::kBuilt);
  EXPECT_EQ(LoadedFrom(), WeightOrigin::Kind::kMapped);
}

TEST_P(WeightCacheTest, AFileOfOtherWeightsIsNotUsed) {
  ASSERT_EQ(LoadedFrom(), WeightOrigin::Kind::kBuilt);
  const fs::path old = File();
  const fs::path tensors = checkpoint_ / "model.safetensors";
  {
    std::fstream file(tensors, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<int64_t>(fs::file_size(tensors)) - 1);
    file.put('\1');
  }
  ASSERT_NE(File(), old);
  fs::copy(old, File());  // the right name does not help
  EXPECT_EQ(LoadedFrom(), WeightOrigin::Kind::kBuilt);
}

TEST_P(WeightCacheTest, ProcessesThatStartTogetherDoNotClash) {
  constexpr int kProcesses = 4;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      ThreadPool pool(1);
      const auto loaded = Checkpoint::Load(checkpoint_, options_, pool);
      _exit(!loaded.ok() ? 9 : (*loaded)->model->origin().kind == WeightOrigin::Kind::kBuilt ? 1 : 0);
    }
    children.push_back(child);
  }
  int built = 0;
  for (const pid_t child : children) {
    int state = 0;
    waitpid(child, &state, 0);
    ASSERT_TRUE(WIFEXITED(state));
    ASSERT_LE(WEXITSTATUS(state), 1);
    built += WEXITSTATUS(state);
  }
  EXPECT_EQ(built, 1);
  EXPECT_EQ(FilesInCache(), 2U);  // the file and its lock
}

TEST_P(WeightCacheTest, LeftoversOfKilledProcessesGo) {
  fs::create_directories(options_.cache_folder);
  std::ofstream(File().string() + ".part-abc123") << "half";
  EXPECT_EQ(LoadedFrom(), WeightOrigin::Kind::kBuilt);
  EXPECT_EQ(FilesInCache(), 2U);
}

TEST_P(WeightCacheTest, WithoutAPlaceToWriteItRunsFromMemoryAndSaysSo) {
  std::ofstream(folder_ / "file") << "not a folder";
  options_.cache_folder = folder_ / "file" / "cache";
  const auto checkpoint = Load(checkpoint_);
  EXPECT_EQ(checkpoint->model->origin().kind, WeightOrigin::Kind::kMemory);
  EXPECT_FALSE(checkpoint->model->origin().note.empty());
}

TEST_P(WeightCacheTest, SmallCheckpointsAreNotCached) {
  options_.smallest_cached_bytes = int64_t{1} << 40;
  EXPECT_EQ(LoadedFrom(), WeightOrigin::Kind::kMemory);
  EXPECT_FALSE(fs::exists(options_.cache_folder));
}

INSTANTIATE_TEST_SUITE_P(Types, WeightCacheTest, ::testing::ValuesIn(kAllWeightTypes),
                         [](const auto& param) { return std::string(WeightTypeName(param.param)); });

}  // namespace
}  // namespace saccade
