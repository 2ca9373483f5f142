// Damaged files must end in a picture or in an error, from several threads as well. Worth most under the
// sanitizers.
#include <random>
#include <thread>

#include "base/status_testing.h"
#include "image/image_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::Bytes;
using ::saccade::testing::GoldenFile;
using ::saccade::testing::GoldenJson;
using ::saccade::testing::GoldenNames;
using ::saccade::testing::HexOf;

// A limit of our own keeps damaged headers from making the test slow.
constexpr DecodeLimits kLimits = {.max_pixels = 4'000'000};

void ExpectSaneOutcome(const std::string& file, const std::string& what) {
  // An exact-size copy, so that the sanitizer sees a read past the end.
  const std::vector<std::byte> exact(Bytes(file).begin(), Bytes(file).end());
  const Result<RgbImage> image = DecodeImage(exact, kLimits);
  if (image.ok()) {
    EXPECT_LE(image->size().pixels(), kLimits.max_pixels) << what;
    EXPECT_EQ(image->pixels.size(), static_cast<size_t>(image->size().pixels()) * 3) << what;
  } else {
    EXPECT_FALSE(image.status().message().empty()) << what;
    EXPECT_LT(image.status().message().size(), 400u) << what;
    EXPECT_NE(image.status().code(), StatusCode::kInternal) << what;
  }
}

TEST(Robustness, TruncatedAnywhere) {
  for (const std::string& name : GoldenNames("images")) {
    const std::string file = GoldenFile("images/" + name);
    const int cuts = file.size() > 60000 ? 24 : 64;
    for (int i = 0; i < cuts; ++i) {
      // Dense at the headers, sparse in the pixels, and close to the end.
      const double part = static_cast<double>(i) / cuts;
      const size_t length = i % 8 == 7 ? file.size() - static_cast<size_t>(i) / 8 - 1
                                       : static_cast<size_t>(part * part * static_cast<double>(file.size()));
      ExpectSaneOutcome(file.substr(0, length), name + " cut at " + std::to_string(length));
    }
  }
}

TEST(Robustness, HalfAPictureIsNeverAPicture) {
  for (const std::string& name : GoldenNames("images")) {
    const std::string file = GoldenFile("images/" + name);
    // The first of three frames ends after a third of the file; only that one is decoded.
    const size_t length = name == "gif_animated.gif" ? file.size() / 6 : file.size() / 2;
    EXPECT_FALSE(DecodeImage(Bytes(file.substr(0, length))).ok()) << name;
  }
}

TEST(Robustness, FlippedBytes) {
  std::mt19937 random(20250101);
  for (const std::string& name : GoldenNames("images")) {
    const std::string file = GoldenFile("images/" + name);
    const int rounds = file.size() > 60000 ? 12 : 48;
    for (int i = 0; i < rounds; ++i) {
      std::string damaged = file;
      // Half of the rounds damage the first 200 bytes, where sizes and tables are.
      const size_t reach = i % 2 == 0 ? std::min<size_t>(200, file.size()) : file.size();
      for (int flips = 1 + i % 4; flips > 0; --flips) damaged[random() % reach] = static_cast<char>(random());
      ExpectSaneOutcome(damaged, name + " round " + std::to_string(i));
    }
  }
}

TEST(Robustness, RandomBytesBehindEveryMagic) {
  std::mt19937 random(7);
  for (const std::string& name : GoldenNames("images")) {
    std::string file = GoldenFile("images/" + name).substr(0, 16);
    for (int i = 0; i < 2000; ++i) file += static_cast<char>(random());
    ExpectSaneOutcome(file, name);
  }
}

TEST(Robustness, SeveralThreadsDecodeTheSamePixelsAndTheirOwnErrors) {
  const Json expected = GoldenJson("decoded_images.json");
  const std::vector<std::string> names = GoldenNames("images");
  std::map<std::string, std::string> files;
  for (const std::string& name : names) files[name] = GoldenFile("images/" + name);
  const std::string broken = GoldenFile("bad_images/truncated.jpg");
  const auto work = [&](size_t offset) {
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string& name = names[(i * 7 + offset) % names.size()];
      const Result<RgbImage> image = DecodeImage(Bytes(files.at(name)));
      ASSERT_TRUE(image.ok()) << name << ": " << image.status().ToString();
      EXPECT_EQ(HexOf(image->pixels), expected.at(name).at("sha256_rgb")) << name;
      const Status error = DecodeImage(Bytes(broken)).status();
      EXPECT_TRUE(error.message().starts_with("the JPEG picture is damaged or cut short")) << error.message();
      EXPECT_EQ(error.message().find("PNG"), std::string::npos);
    }
  };
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) threads.emplace_back(work, t * 11);
  for (std::thread& thread : threads) thread.join();
}

// The decoder's messages belong to no terminal.
TEST(Robustness, NothingIsPrinted) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  for (const std::string& name : GoldenNames("bad_images")) {
    EXPECT_FALSE(DecodeImage(Bytes(GoldenFile("bad_images/" + name))).ok()) << name;
  }
  for (const std::string& name : GoldenNames("images")) {
    const std::string file = GoldenFile("images/" + name);
    (void)DecodeImage(Bytes(file.substr(0, file.size() / 2)));
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace saccade
