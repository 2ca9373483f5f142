#include "model/mrope.h"

#include <cmath>

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int32_t kImage = 9;

TEST(MRope, TextCountsOnInAllAxes) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const PromptPositions p,
                               ComputePositions(std::vector<int32_t>{1, 2, 3}, kImage, {}, 2));
  EXPECT_THAT(p.t, ElementsAre(0, 1, 2));
  EXPECT_EQ(p.t, p.h);
  EXPECT_EQ(p.t, p.w);
  EXPECT_EQ(p.delta, 0);
}

TEST(MRope, APictureSpansItsLongerSideOnly) {
  // 2 x 3 merged tokens between one token of text on each side.
  const std::vector<int32_t> tokens = {1, kImage, kImage, kImage, kImage, kImage, kImage, 2};
  const std::vector<GridThw> grids = {{1, 4, 6}};
  SACCADE_ASSERT_OK_AND_ASSIGN(const PromptPositions p, ComputePositions(tokens, kImage, grids, 2));
  EXPECT_THAT(p.t, ElementsAre(0, 1, 1, 1, 1, 1, 1, 4));
  EXPECT_THAT(p.h, ElementsAre(0, 1, 1, 1, 2, 2, 2, 4));
  EXPECT_THAT(p.w, ElementsAre(0, 1, 2, 3, 1, 2, 3, 4));
  EXPECT_EQ(p.delta, 5 - 8);
}

TEST(MRope, TwoPicturesBackToBackStayApart) {
  const std::vector<int32_t> tokens = {kImage, kImage};
  const std::vector<GridThw> grids = {{1, 2, 2}, {1, 2, 2}};
  SACCADE_ASSERT_OK_AND_ASSIGN(const PromptPositions p, ComputePositions(tokens, kImage, grids, 2));
  EXPECT_THAT(p.t, ElementsAre(0, 1));
}

TEST(MRope, TokensAndPicturesMustBelongTogether) {
  const std::vector<GridThw> grids = {{1, 4, 4}};
  EXPECT_THAT(ComputePositions(std::vector<int32_t>{kImage, kImage, kImage}, kImage, grids, 2),
              FailsWith(StatusCode::kInternal, HasSubstr("needs 4")));
  EXPECT_THAT(ComputePositions(std::vector<int32_t>{1}, kImage, grids, 2),
              FailsWith(StatusCode::kInternal, HasSubstr("0 of 1")));
  EXPECT_THAT(ComputePositions(std::vector<int32_t>{kImage}, kImage, {}, 2),
              FailsWith(StatusCode::kInternal, HasSubstr("more than 0")));
}

TEST(MRope, AxesInterleaveOverThePairs) {
  TextConfig config;
  config.head_dim = 16;
  config.rope_theta = 1;  // every frequency is 1: the angle is the position itself
  config.mrope_section = {4, 2, 2};
  const std::vector<int32_t> t = {1}, h = {2}, w = {3};
  std::vector<float> cos(8), sin(8);
  FillTextRope(config, t, h, w, cos.data(), sin.data());
  const std::vector<int> expected = {1, 2, 3, 1, 2, 3, 1, 1};
  for (size_t i = 0; i < 8; ++i) EXPECT_FLOAT_EQ(sin[i], std::sin(static_cast<float>(expected[i]))) << i;
}

TEST(MRope, PatchesComeInMergeBlocks) {
  std::vector<int32_t> rows, columns;
  AppendPatchCoordinates({1, 2, 4}, 2, rows, columns);
  EXPECT_THAT(rows, ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  EXPECT_THAT(columns, ElementsAre(0, 1, 0, 1, 2, 3, 2, 3));
}

}  // namespace
}  // namespace saccade
