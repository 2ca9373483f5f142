#include "tensor/safetensors.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/status_testing.h"
#include "tensor/weight_store.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

std::string FileOf(const std::string& header, const std::string& data) {
  const uint64_t size = header.size();
  std::string file(reinterpret_cast<const char*>(&size), sizeof(size));
  return file + header + data;
}

Result<std::map<std::string, TensorView>> Parse(const std::string& file) {
  return ParseSafetensors(std::as_bytes(std::span(file)));
}

// A folder that is removed with the test.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& name) : path_(fs::path(::testing::TempDir()) / name) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  void Write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }

 private:
  fs::path path_;
};

TEST(Safetensors, ReadsTensors) {
  const std::string file = FileOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
    "b":{"dtype":"BF16","shape":[1,2],"data_offsets":[8,12]},"__metadata__":{"format":"pt"}})",
                                  std::string("\0\0\x80\x3f\0\0\0\x40\x80\x3f\0\x40", 12));
  SACCADE_ASSERT_OK_AND_ASSIGN(auto tensors, Parse(file));
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(ToFloats(tensors.at("a")), (std::vector<float>{1, 2}));
  EXPECT_EQ(ToFloats(tensors.at("b")), (std::vector<float>{1, 2}));
  EXPECT_EQ(tensors.at("b").ShapeString(), "[1, 2]");
}

TEST(Safetensors, RefusesEveryLie) {
  const auto entry = [](const std::string& fields) {
    return FileOf("{\"x\":{" + fields + "}}", std::string(8, '\0'));
  };
  EXPECT_THAT(Parse(""), FailsWith(StatusCode::kInvalidArgument, HasSubstr("too short")));
  EXPECT_THAT(Parse(std::string(8, '\xff')),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("header claims")));
  EXPECT_THAT(Parse(FileOf("{", "")),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("safetensors header")));
  EXPECT_THAT(Parse(FileOf("[]", "")), FailsWith(StatusCode::kInvalidArgument, HasSubstr("not an object")));
  EXPECT_THAT(Parse(entry(R"("dtype":"F32","shape":[3],"data_offsets":[0,12])")),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("truncated")));
  EXPECT_THAT(Parse(entry(R"("dtype":"F32","shape":[1],"data_offsets":[8,4])")),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("data_offsets")));
  EXPECT_THAT(Parse(entry(R"("dtype":"F32","shape":[1],"data_offsets":[0,8])")),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("needs 4")));
  EXPECT_THAT(Parse(entry(R"("dtype":"F32","shape":[-1],"data_offsets":[0,8])")),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("not a size")));
  EXPECT_THAT(Parse(entry(R"("dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,8])")),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("too large")));
  EXPECT_THAT(Parse(entry(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])")),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("not a size")));
  EXPECT_THAT(Parse(entry(R"("dtype":"F8","shape":[1],"data_offsets":[0,8])")),
              FailsWith(StatusCode::kUnsupported, HasSubstr("F8")));
  EXPECT_THAT(Parse(entry(R"("dtype":7,"shape":"x")")),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("needs dtype")));
}

TEST(Safetensors, EveryTruncationOfARealFileIsAnError) {
  const fs::path path = fs::path(SACCADE_TEST_DATA) / "golden/tiny-dense/golden_text_only.safetensors";
  std::ifstream stream(path, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(stream)), {});
  ASSERT_TRUE(Parse(file).ok());
  for (size_t size = 0; size < file.size(); size += 1 + size / 7)
    EXPECT_FALSE(Parse(file.substr(0, size)).ok()) << size;
  EXPECT_FALSE(Parse(file.substr(0, file.size() - 1)).ok());
}

TEST(Safetensors, WritesWhatItReads) {
  const TemporaryFolder folder("safetensors_write");
  const std::vector<float> values = {1.5F, -2, 3};
  const std::vector<int32_t> ids = {7, 8};
  const fs::path path = folder.path() / "t.safetensors";
  SACCADE_ASSERT_OK(WriteSafetensors(path, {{"values", {DType::kF32, {3}, std::as_bytes(std::span(values))}},
                                            {"ids", {DType::kI32, {2, 1}, std::as_bytes(std::span(ids))}}}));
  SACCADE_ASSERT_OK_AND_ASSIGN(const MmapFile file, MmapFile::Open(path));
  SACCADE_ASSERT_OK_AND_ASSIGN(auto tensors, ParseSafetensors(file.bytes()));
  EXPECT_EQ(ToFloats(tensors.at("values")), values);
  EXPECT_EQ(tensors.at("ids").dtype, DType::kI32);
  EXPECT_EQ(std::memcmp(tensors.at("ids").bytes.data(), ids.data(), 8), 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);  // no temporary file stays
}

TEST(DTypes, HalfAndBfloatConvertExactly) {
  EXPECT_EQ(F16ToFloat(0x3c00), 1.0F);
  EXPECT_EQ(F16ToFloat(0xc000), -2.0F);
  EXPECT_EQ(F16ToFloat(0x0001), 0x1p-24F);
  EXPECT_EQ(F16ToFloat(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(FloatToBf16(1.0F), 0x3f80);
  EXPECT_EQ(FloatToBf16(1.00390625F), 0x3f80);  // halfway, to even
  EXPECT_EQ(FloatToBf16(1.01171875F), 0x3f82);  // halfway, to even
  EXPECT_TRUE(Bf16ToFloat(FloatToBf16(std::numeric_limits<float>::quiet_NaN())) != 0.0F);
}

std::string Tensor(const std::string& name, int rows) {
  return FileOf("{\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[" + std::to_string(rows) +
                    "],\"data_offsets\":[0," + std::to_string(4 * rows) + "]}}",
                std::string(static_cast<size_t>(4 * rows), '\0'));
}

TEST(WeightStore, ReadsShards) {
  const TemporaryFolder folder("weights_shards");
  folder.Write("one.safetensors", Tensor("a", 2));
  folder.Write("two.safetensors", Tensor("b", 3));
  folder.Write("model.safetensors.index.json",
               R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  SACCADE_ASSERT_OK_AND_ASSIGN(const WeightStore store, WeightStore::Open(folder.path()));
  SACCADE_EXPECT_OK(store.Get("a", {2}));
  SACCADE_EXPECT_OK(store.Get("b", {3}));
}

TEST(WeightStore, NamesWhatIsWrong) {
  const TemporaryFolder folder("weights_wrong");
  EXPECT_THAT(WeightStore::Open(folder.path()),
              FailsWith(StatusCode::kNotFound, HasSubstr("model.safetensors")));
  folder.Write("model.safetensors", Tensor("a", 2));
  SACCADE_ASSERT_OK_AND_ASSIGN(const WeightStore store, WeightStore::Open(folder.path()));
  EXPECT_THAT(store.Get("c", {2, 5}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("\"c\", expected with shape [2, 5]")));
  EXPECT_THAT(store.Get("a", {3}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("\"a\" has shape [2], expected [3]")));
  folder.Write("model.safetensors.index.json", R"({"weight_map":{"a":"../model.safetensors"}})");
  EXPECT_THAT(WeightStore::Open(folder.path()),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("plain file name")));
  folder.Write("model.safetensors.index.json", R"({"weight_map":{"z":"model.safetensors"}})");
  EXPECT_THAT(WeightStore::Open(folder.path()), FailsWith(StatusCode::kInvalidArgument, HasSubstr("\"z\"")));
}

}  // namespace
}  // namespace saccade
