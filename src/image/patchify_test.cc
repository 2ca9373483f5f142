#include "image/patchify.h"

#include <cstring>

#include "base/status_testing.h"
#include "image/image_testing.h"
#include "tensor/safetensors.h"

namespace saccade {
namespace {

using ::saccade::testing::Bytes;
using ::saccade::testing::FailsWith;
using ::saccade::testing::GoldenFile;
using ::saccade::testing::GoldenJson;
using ::saccade::testing::TinyConfig;
using ::saccade::testing::UsablePixelKernels;
using ::testing::HasSubstr;

// A picture whose every byte tells where it is.
RgbImage Numbered(Size size) {
  RgbImage image = {size.width, size.height, {}};
  for (int64_t i = 0; i < size.pixels() * 3; ++i) {
    image.pixels.push_back(static_cast<uint8_t>(i * 7 + i / 251));
  }
  return image;
}

class GoldenPixels : public ::testing::TestWithParam<std::string> {};

// Every recorded row, bit for bit: all of `one_image`, the first 8 of the other conversations.
TEST_P(GoldenPixels, EqualPixelValues) {
  const PreprocessorConfig config = TinyConfig(GetParam());
  int pictures = 0;
  const Json conversations = GoldenJson(GetParam() + "/goldens.json");
  for (const auto& [name, conversation] : conversations.items()) {
    if (conversation.at("images").empty()) continue;
    const std::string picture = GoldenFile("images/" + conversation.at("images")[0].get<std::string>());
    SACCADE_ASSERT_OK_AND_ASSIGN(const PreparedPicture prepared, PreparePicture(Bytes(picture), config));
    const std::string recorded = GoldenFile(GetParam() + "/golden_" + name + ".safetensors");
    SACCADE_ASSERT_OK_AND_ASSIGN(const auto tensors, ParseSafetensors(Bytes(recorded)));
    const TensorView& expected = tensors.at("pixel_values");

    std::vector<float> values(prepared.grid.patches.size() * static_cast<size_t>(config.temporal_patch_size));
    NormalisePatches(prepared.grid, config, values);
    EXPECT_EQ(expected.shape[0], name == "one_image" ? prepared.grid.patch_count() : 8) << name;
    ASSERT_EQ(expected.shape[1], 3 * 2 * 16 * 16);
    ASSERT_LE(expected.bytes.size(), values.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(values.data(), expected.bytes.data(), expected.bytes.size()), 0) << name;
    int32_t grid[3];
    std::memcpy(grid, tensors.at("image_grid_thw").bytes.data(), sizeof(grid));
    EXPECT_EQ(grid[0], prepared.grid.grid_t);
    EXPECT_EQ(grid[1], prepared.grid.grid_h);
    EXPECT_EQ(grid[2], prepared.grid.grid_w);
    ++pictures;
  }
  EXPECT_EQ(pictures, 4);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, GoldenPixels, ::testing::Values("tiny-dense", "tiny-untied"),
                         [](const auto& info) { return info.param == "tiny-dense" ? "dense" : "untied"; });

TEST(Patchify, OrderIsMergeBlocksThenChannels) {
  for (const auto& [patch, merge] :
       std::vector<std::pair<int, int>>{{16, 2}, {14, 2}, {3, 1}, {2, 3}, {32, 2}}) {
    const int factor = patch * merge;
    const RgbImage image = Numbered({factor * 3, factor * 2});
    for (const PixelKernels* kernels : UsablePixelKernels()) {
      const PatchGrid grid = Patchify(image, patch, merge, *kernels);
      ASSERT_EQ(grid.grid_h, 2 * merge);
      ASSERT_EQ(grid.grid_w, 3 * merge);
      size_t at = 0;
      for (int block = 0; block < 6; ++block) {
        for (int inner = 0; inner < merge * merge; ++inner) {
          for (int c = 0; c < 3; ++c) {
            for (int pixel = 0; pixel < patch * patch; ++pixel) {
              const int y = (block / 3 * merge + inner / merge) * patch + pixel / patch;
              const int x = (block % 3 * merge + inner % merge) * patch + pixel % patch;
              ASSERT_EQ(grid.patches[at++], image.pixels[static_cast<size_t>((y * image.width + x) * 3 + c)]);
            }
          }
        }
      }
      EXPECT_EQ(at, grid.patches.size());
    }
  }
}

TEST(ResizeToPatches, EqualsResizeThenCut) {
  const RgbImage image = Numbered({150, 97});
  for (Size size : {Size{64, 96}, Size{160, 97 / 32 * 32}, Size{320, 224}, Size{150 / 32 * 32, 128}}) {
    for (const PixelKernels* kernels : UsablePixelKernels()) {
      const PatchGrid direct = ResizeToPatches(image, size, 16, 2, *kernels);
      const PatchGrid staged = Patchify(ResizeBicubic(image, size, *kernels), 16, 2, *kernels);
      EXPECT_EQ(direct.patches, staged.patches);
      EXPECT_EQ(direct.resized, size);
    }
  }
  const RgbImage fitting = Numbered({64, 32});
  EXPECT_EQ(ResizeToPatches(fitting, {64, 32}, 16, 2).patches, Patchify(fitting, 16, 2).patches);
}

TEST(PictureDigest, TellsGridsAndPixelsApart) {
  const PatchGrid wide = Patchify(RgbImage{64, 32, std::vector<uint8_t>(64 * 32 * 3, 9)}, 16, 2);
  const PatchGrid tall = Patchify(RgbImage{32, 64, std::vector<uint8_t>(64 * 32 * 3, 9)}, 16, 2);
  PatchGrid changed = wide;
  changed.patches.back() ^= 1;
  EXPECT_EQ(PictureDigest(wide), PictureDigest(PatchGrid(wide)));
  EXPECT_NE(PictureDigest(wide), PictureDigest(tall));
  EXPECT_NE(PictureDigest(wide), PictureDigest(changed));
}

TEST(MakePixelTransform, AgreesWithTheReferenceValues) {
  PreprocessorConfig config;
  config.mean = {0.48145466f, 0.4578275f, 0.40821073f};
  config.std = {0.26862954f, 0.26130258f, 0.27577711f};
  const auto values = NormalisedValues(config);
  const PixelTransform transform = MakePixelTransform(config);
  for (size_t c = 0; c < 3; ++c) {
    for (size_t v = 0; v < 256; ++v) {
      // Three roundings of numbers up to about 4.
      EXPECT_NEAR(values[c][v], static_cast<float>(v) * transform.scale[c] + transform.offset[c], 2e-6);
    }
  }
}

TEST(CheckPreprocessorConfig, NamesTheFault) {
  SACCADE_EXPECT_OK(CheckPreprocessorConfig({}));
  PreprocessorConfig config;
  config.patch_size = 0;
  EXPECT_THAT(CheckPreprocessorConfig(config),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("patch_size 0")));
  config = {};
  config.std[1] = 0;
  EXPECT_THAT(CheckPreprocessorConfig(config),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("image_std")));
  config = {};
  config.limits = {10, 5};
  EXPECT_THAT(CheckPreprocessorConfig(config),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("max_pixels 5")));
}

}  // namespace
}  // namespace saccade
