#include "image/patchify.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "image/resize.h"

namespace saccade {
namespace {

PatchGrid MakeGrid(Size resized, int patch_size, int merge_size) {
  SACCADE_CHECK(patch_size > 0 && merge_size > 0);
  const int factor = patch_size * merge_size;
  SACCADE_CHECK(resized.width > 0 && resized.width % factor == 0);
  SACCADE_CHECK(resized.height > 0 && resized.height % factor == 0);
  PatchGrid grid;
  grid.grid_h = resized.height / patch_size;
  grid.grid_w = resized.width / patch_size;
  grid.patch_size = patch_size;
  grid.resized = resized;
  grid.patches.resize(static_cast<size_t>(resized.pixels()) * 3);
  return grid;
}

// Cuts one row of merge blocks: patch_size * merge_size rows of pixels. Returns the end of what it wrote.
uint8_t* CutBand(const PixelKernels& kernels, const uint8_t* band, const PatchGrid& grid, int merge_size,
                 uint8_t* patch) {
  const size_t size = static_cast<size_t>(grid.patch_size);
  const size_t row_bytes = 3 * static_cast<size_t>(grid.resized.width);
  for (int block = 0; block < grid.grid_w; block += merge_size) {
    for (int i = 0; i < merge_size * merge_size; ++i, patch += 3 * size * size) {
      const size_t y = static_cast<size_t>(i / merge_size) * size;
      const size_t x = static_cast<size_t>(block + i % merge_size) * size;
      kernels.cut_patch(band + y * row_bytes + 3 * x, row_bytes, size, patch);
    }
  }
  return patch;
}

}  // namespace

Status CheckPreprocessorConfig(const PreprocessorConfig& config) {
  constexpr int kMaxSize = 256;
  for (int size : {config.patch_size, config.merge_size, config.temporal_patch_size}) {
    if (size < 1 || size > kMaxSize) {
      return InvalidArgument("patch_size {}, merge_size {} and temporal_patch_size {} must be 1 to {}",
                             config.patch_size, config.merge_size, config.temporal_patch_size, kMaxSize);
    }
  }
  for (size_t c = 0; c < 3; ++c) {
    if (!std::isfinite(config.mean[c]) || !std::isfinite(config.std[c]) || config.std[c] <= 0) {
      return InvalidArgument("image_mean {} and image_std {} must be finite, image_std positive",
                             config.mean[c], config.std[c]);
    }
  }
  return CheckPixelLimits(config.limits);
}

PatchGrid Patchify(const RgbImage& resized, int patch_size, int merge_size, const PixelKernels& kernels) {
  PatchGrid grid = MakeGrid(resized.size(), patch_size, merge_size);
  const size_t band_bytes = resized.row_bytes() * static_cast<size_t>(patch_size * merge_size);
  uint8_t* patch = grid.patches.data();
  for (size_t at = 0; at < resized.pixels.size(); at += band_bytes) {
    patch = CutBand(kernels, resized.pixels.data() + at, grid, merge_size, patch);
  }
  return grid;
}

PatchGrid ResizeToPatches(const RgbImage& image, Size size, int patch_size, int merge_size,
                          const PixelKernels& kernels) {
  if (size == image.size()) return Patchify(image, patch_size, merge_size, kernels);
  PatchGrid grid = MakeGrid(size, patch_size, merge_size);
  const size_t row_bytes = 3 * static_cast<size_t>(size.width);
  std::vector<uint8_t> band(row_bytes * static_cast<size_t>(patch_size * merge_size));
  RowResizer resizer(image, size, kernels);
  uint8_t* patch = grid.patches.data();
  for (int y = 0; y < size.height; y += patch_size * merge_size) {
    for (size_t at = 0; at < band.size(); at += row_bytes) resizer.NextRow(band.data() + at);
    patch = CutBand(kernels, band.data(), grid, merge_size, patch);
  }
  return grid;
}

Sha256Digest PictureDigest(const PatchGrid& grid) {
  const std::array<int32_t, 4> shape = {grid.grid_t, grid.grid_h, grid.grid_w, grid.patch_size};
  Sha256 sha;
  sha.Update(std::as_bytes(std::span(shape)));
  sha.Update(std::as_bytes(std::span(grid.patches)));
  return sha.Finish();
}

std::array<std::array<float, 256>, 3> NormalisedValues(const PreprocessorConfig& config) {
  std::array<std::array<float, 256>, 3> values;
  for (size_t c = 0; c < 3; ++c) {
    const float mean = config.mean[c] * 255.0f, std = config.std[c] * 255.0f;
    for (size_t v = 0; v < 256; ++v) values[c][v] = (static_cast<float>(v) - mean) / std;
  }
  return values;
}

void NormalisePatches(const PatchGrid& grid, const PreprocessorConfig& config, std::span<float> out) {
  const size_t plane = static_cast<size_t>(grid.patch_size) * static_cast<size_t>(grid.patch_size);
  const size_t frames = static_cast<size_t>(config.temporal_patch_size);
  SACCADE_CHECK(out.size() == grid.patches.size() * frames);
  const auto values = NormalisedValues(config);
  const uint8_t* source = grid.patches.data();
  float* target = out.data();
  for (int64_t patch = 0; patch < grid.patch_count(); ++patch) {
    for (size_t c = 0; c < 3; ++c, source += plane) {
      for (size_t i = 0; i < plane; ++i) target[i] = values[c][source[i]];
      for (size_t frame = 1; frame < frames; ++frame) std::copy_n(target, plane, target + frame * plane);
      target += frames * plane;
    }
  }
}

PixelTransform MakePixelTransform(const PreprocessorConfig& config) {
  PixelTransform transform;
  for (size_t c = 0; c < 3; ++c) {
    transform.scale[c] = 1.0f / (255.0f * config.std[c]);
    transform.offset[c] = -config.mean[c] / config.std[c];
  }
  return transform;
}

}  // namespace saccade
