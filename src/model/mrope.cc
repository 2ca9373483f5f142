#include "model/mrope.h"

#include <algorithm>
#include <cmath>

namespace saccade {
namespace {

void AppendPicture(const GridThw& grid, int merge_size, int32_t start, PromptPositions& positions) {
  const int h = grid.h / merge_size, w = grid.w / merge_size;
  for (int it = 0; it < grid.t; ++it) {
    for (int ih = 0; ih < h; ++ih) {
      for (int iw = 0; iw < w; ++iw) {
        positions.t.push_back(start + it);
        positions.h.push_back(start + ih);
        positions.w.push_back(start + iw);
      }
    }
  }
}

// The reference computes 1 / theta^(2 i / dim) in float32.
std::vector<float> InverseFrequencies(double theta, int dim) {
  std::vector<float> frequencies(static_cast<size_t>(dim / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(dim);
    frequencies[i] = 1.0F / static_cast<float>(std::pow(static_cast<float>(theta), exponent));
  }
  return frequencies;
}

}  // namespace

Result<PromptPositions> ComputePositions(std::span<const int32_t> tokens, int32_t image_token,
                                         std::span<const GridThw> grids, int merge_size) {
  PromptPositions positions;
  for (std::vector<int32_t>* axis : {&positions.t, &positions.h, &positions.w}) axis->reserve(tokens.size());
  int32_t next = 0;
  size_t picture = 0;
  for (size_t i = 0; i < tokens.size();) {
    if (tokens[i] != image_token) {
      for (std::vector<int32_t>* axis : {&positions.t, &positions.h, &positions.w}) axis->push_back(next);
      ++next;
      ++i;
      continue;
    }
    if (picture == grids.size())
      return Internal("prompt has image tokens for more than {} pictures", grids.size());
    const GridThw& grid = grids[picture++];
    const auto count = static_cast<size_t>(grid.patches() / (int64_t{merge_size} * merge_size));
    const size_t end = i + count;
    if (count == 0 || end > tokens.size() ||
        std::any_of(tokens.begin() + static_cast<ptrdiff_t>(i), tokens.begin() + static_cast<ptrdiff_t>(end),
                    [image_token](int32_t token) { return token != image_token; })) {
      return Internal("picture {} needs {} image tokens in a row", picture - 1, count);
    }
    AppendPicture(grid, merge_size, next, positions);
    next += std::max({grid.t, grid.h / merge_size, grid.w / merge_size});
    i = end;
  }
  if (picture != grids.size())
    return Internal("prompt has image tokens for {} of {} pictures", picture, grids.size());
  positions.delta = next - static_cast<int32_t>(tokens.size());
  return positions;
}

void FillTextRope(const TextConfig& config, std::span<const int32_t> t, std::span<const int32_t> h,
                  std::span<const int32_t> w, float* cos, float* sin) {
  const std::vector<float> frequencies = InverseFrequencies(config.rope_theta, config.head_dim);
  const int pairs = config.head_dim / 2;
  for (size_t token = 0; token < t.size(); ++token) {
    for (int i = 0; i < pairs; ++i) {
      int32_t position = t[token];
      if (i % 3 == 1 && i < 3 * config.mrope_section[1]) position = h[token];
      if (i % 3 == 2 && i < 3 * config.mrope_section[2]) position = w[token];
      const float angle = static_cast<float>(position) * frequencies[static_cast<size_t>(i)];
      cos[token * static_cast<size_t>(pairs) + static_cast<size_t>(i)] = std::cos(angle);
      sin[token * static_cast<size_t>(pairs) + static_cast<size_t>(i)] = std::sin(angle);
    }
  }
}

void AppendPatchCoordinates(const GridThw& grid, int merge_size, std::vector<int32_t>& rows,
                            std::vector<int32_t>& columns) {
  for (int t = 0; t < grid.t; ++t) {
    for (int block_row = 0; block_row < grid.h; block_row += merge_size) {
      for (int block_column = 0; block_column < grid.w; block_column += merge_size) {
        for (int r = 0; r < merge_size; ++r) {
          for (int c = 0; c < merge_size; ++c) {
            rows.push_back(block_row + r);
            columns.push_back(block_column + c);
          }
        }
      }
    }
  }
}

void FillVisionRope(const VisionConfig& config, std::span<const int32_t> rows,
                    std::span<const int32_t> columns, float* cos, float* sin) {
  const int pairs = config.head_dim() / 2;
  const std::vector<float> frequencies = InverseFrequencies(config.rope_theta, pairs);
  const size_t half = frequencies.size();
  for (size_t patch = 0; patch < rows.size(); ++patch) {
    float* cos_row = cos + patch * static_cast<size_t>(pairs);
    float* sin_row = sin + patch * static_cast<size_t>(pairs);
    for (size_t i = 0; i < half; ++i) {
      const float row_angle = static_cast<float>(rows[patch]) * frequencies[i];
      const float column_angle = static_cast<float>(columns[patch]) * frequencies[i];
      cos_row[i] = std::cos(row_angle);
      sin_row[i] = std::sin(row_angle);
      cos_row[half + i] = std::cos(column_angle);
      sin_row[half + i] = std::sin(column_angle);
    }
  }
}

}  // namespace saccade
