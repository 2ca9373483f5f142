// Cuts a resized picture into the patches the vision tower reads, and normalises them as the reference does.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sha256.h"
#include "base/status.h"
#include "image/pixel_kernels.h"
#include "image/rgb_image.h"
#include "image/smart_resize.h"

namespace saccade {

// The checkpoint's preprocessor_config.json. Defaults are those of the published Qwen3-VL checkpoints.
struct PreprocessorConfig {
  int patch_size = 16;
  int merge_size = 2;           // patches per side that the tower merges into one token
  int temporal_patch_size = 2;  // frames per patch; a still picture is repeated
  PixelLimits limits = {65536, 16777216};
  std::array<float, 3> mean = {0.5f, 0.5f, 0.5f}, std = {0.5f, 0.5f, 0.5f};

  int factor() const { return patch_size * merge_size; }
};

// Ranges that the rest of this layer relies on: sizes 1..256, std positive, limits as CheckPixelLimits wants.
Status CheckPreprocessorConfig(const PreprocessorConfig& config);

// A picture as the tower wants it. `patches`: [grid_h * grid_w, 3, patch_size, patch_size] bytes in
// merge-block order: blocks of merge_size x merge_size patches row by row, rows and columns inside a block.
// The repetition over temporal_patch_size is not stored.
struct PatchGrid {
  int grid_t = 1, grid_h = 0, grid_w = 0;
  int patch_size = 0;
  std::vector<uint8_t> patches;
  Size resized;

  int64_t patch_count() const { return int64_t{grid_t} * grid_h * grid_w; }
};

// Both sides of `resized` must be multiples of patch_size * merge_size.
PatchGrid Patchify(const RgbImage& resized, int patch_size, int merge_size,
                   const PixelKernels& kernels = BestPixelKernels());

// Equal to Patchify(ResizeBicubic(image, size), ...) without the resized picture in between: one band of
// patch rows at a time stays in the cache.
PatchGrid ResizeToPatches(const RgbImage& image, Size size, int patch_size, int merge_size,
                          const PixelKernels& kernels = BestPixelKernels());

// Identifies a picture after preprocessing: SHA-256 over grid, patch size and all patches. Equal digests mean
// equal input to the tower, whatever file it came from.
Sha256Digest PictureDigest(const PatchGrid& grid);

// What a pixel becomes, as [channel][value]: (value - 255 mean) / (255 std) in the float operations of the
// reference, which folds the rescaling by 1/255 into mean and std.
std::array<std::array<float, 256>, 3> NormalisedValues(const PreprocessorConfig& config);

// Rows of the reference's pixel_values, bit for bit. out: [patch_count, 3 * temporal_patch_size *
// patch_size^2].
void NormalisePatches(const PatchGrid& grid, const PreprocessorConfig& config, std::span<float> out);

// The same as one multiply-add per pixel, within rounding: value * scale + offset.
struct PixelTransform {
  std::array<float, 3> scale, offset;
};
PixelTransform MakePixelTransform(const PreprocessorConfig& config);

}  // namespace saccade
