#include "image/smart_resize.h"

#include "base/status_testing.h"
#include "image/image_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::saccade::testing::GoldenJson;
using ::testing::HasSubstr;

constexpr PixelLimits kPublished = {65536, 16777216};

TEST(SmartResize, EqualsTheReferenceTable) {
  const Json table = GoldenJson("smart_resize.json");
  const int factor = table.at("factor");
  ASSERT_GE(table.at("rows").size(), 400u);
  for (const Json& row : table.at("rows")) {
    const Size picture = {row[0], row[1]};
    const Result<Size> resized = SmartResize(picture, factor, {row[2], row[3]});
    if (row[4] == -1) {
      EXPECT_THAT(resized, FailsWith(StatusCode::kInvalidArgument, HasSubstr("aspect ratio of")))
          << row.dump();
    } else {
      ASSERT_TRUE(resized.ok()) << row.dump() << resized.status().ToString();
      EXPECT_EQ(*resized, (Size{row[4], row[5]})) << row.dump();
    }
  }
}

TEST(SmartResize, RoundsHalfToEven) {
  // 720 / 32 = 22.5 and 528 / 32 = 16.5: rounding half away gives 23 and 17.
  EXPECT_EQ(*SmartResize({1280, 720}, 32, kPublished), (Size{1280, 704}));
  EXPECT_EQ(*SmartResize({528, 528}, 32, kPublished), (Size{512, 512}));
  EXPECT_EQ(*SmartResize({1360, 784}, 32, kPublished), (Size{1344, 768}));
}

TEST(SmartResize, RatioOf200PassesAndMoreDoesNot) {
  EXPECT_EQ(*SmartResize({2000, 10}, 32, kPublished), (Size{3648, 32}));
  EXPECT_THAT(SmartResize({5, 1093}, 32, kPublished),
              FailsWith(StatusCode::kInvalidArgument,
                        HasSubstr("5x1093 pixels, an aspect ratio of 218.60; the limit is 200")));
  EXPECT_THAT(SmartResize({2001, 10}, 32, kPublished),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("200.10")));
}

TEST(SmartResize, TinyPicturesGrow) {
  EXPECT_EQ(*SmartResize({1, 1}, 32, kPublished), (Size{256, 256}));
  EXPECT_EQ(*SmartResize({27, 257}, 32, kPublished), (Size{96, 800}));
}

TEST(SmartResize, RefusesNonsense) {
  EXPECT_FALSE(SmartResize({0, 5}, 32, kPublished).ok());
  EXPECT_FALSE(SmartResize({5, -1}, 32, kPublished).ok());
  EXPECT_THAT(SmartResize({5, 5}, 32, {0, 100}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("min_pixels 0")));
  EXPECT_THAT(SmartResize({5, 5}, 32, {200, 100}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("max_pixels 100")));
  EXPECT_THAT(SmartResize({5, 5}, 32, {200, int64_t{1} << 40}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("over the limit")));
}

}  // namespace
}  // namespace saccade
