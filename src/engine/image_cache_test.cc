#include "engine/image_cache.h"

#include <gtest/gtest.h>

#include <limits>

namespace saccade {
namespace {

ImageCache::Features Features(float value) {
  ImageFeatures features;
  features.tokens = 1;
  features.merged.assign(25, value);  // 100 bytes
  return std::make_shared<const ImageFeatures>(std::move(features));
}

Sha256Digest Digest(std::string_view text) { return Sha256Of(text); }

TEST(ImageCache, TheLeastRecentlyUsedGoesFirst) {
  ImageCache cache(200);
  cache.Insert(Digest("a"), Features(1));
  cache.Insert(Digest("b"), Features(2));
  ASSERT_NE(cache.Find(Digest("a")), nullptr);
  cache.Insert(Digest("c"), Features(3));
  EXPECT_EQ(cache.bytes(), 200);
  EXPECT_EQ(cache.Find(Digest("b")), nullptr);
  ASSERT_NE(cache.Find(Digest("a")), nullptr);
  EXPECT_EQ(cache.Find(Digest("a"))->merged[0], 1);
  EXPECT_EQ(cache.Find(Digest("c"))->merged[0], 3);
  EXPECT_EQ(cache.hits(), 4);
  EXPECT_EQ(cache.misses(), 1);
}

TEST(ImageCache, KeepsNeitherTooLargeNorBrokenFeatures) {
  ImageCache small(99), cache(1000);
  small.Insert(Digest("a"), Features(1));
  cache.Insert(Digest("a"), Features(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_EQ(small.bytes(), 0);
  EXPECT_EQ(cache.bytes(), 0);
}

}  // namespace
}  // namespace saccade
