#include "engine/kv_pages.h"

#include "base/status_testing.h"

namespace saccade {
namespace {

KvLayout SmallLayout() {
  KvLayout layout;
  layout.type = KvType::kF32;
  layout.kv_heads = 1;
  layout.head_dim = 8;
  layout.page_tokens = 16;
  return layout;
}

TEST(KvPagePool, GrowsAndReleases) {
  SACCADE_ASSERT_OK_AND_ASSIGN(auto pool, KvPagePool::Make(SmallLayout(), 2, 4));
  std::vector<int32_t> pages;
  EXPECT_TRUE(pool->Grow(pages, 17));
  EXPECT_EQ(pages.size(), 2U);
  EXPECT_TRUE(pool->Grow(pages, 32));  // already has room
  EXPECT_EQ(pool->used(), 2);
  pool->Release(pages);
  EXPECT_EQ(pool->used(), 0);
  EXPECT_TRUE(pages.empty());
}

TEST(KvPagePool, RefusesWithoutChangingAnything) {
  SACCADE_ASSERT_OK_AND_ASSIGN(auto pool, KvPagePool::Make(SmallLayout(), 2, 4));
  std::vector<int32_t> pages;
  ASSERT_TRUE(pool->Grow(pages, 30));
  EXPECT_FALSE(pool->Grow(pages, 5 * 16));
  EXPECT_EQ(pages.size(), 2U);
  EXPECT_EQ(pool->available(), 2);
}

TEST(KvPagePool, UsesFreedPagesBeforeFreshOnes) {
  SACCADE_ASSERT_OK_AND_ASSIGN(auto pool, KvPagePool::Make(SmallLayout(), 2, 8));
  std::vector<int32_t> first, second;
  ASSERT_TRUE(pool->Grow(first, 32));
  const std::vector<int32_t> before = first;
  pool->Release(first);
  ASSERT_TRUE(pool->Grow(second, 32));
  EXPECT_EQ(second, before);
}

TEST(KvPagePool, ASharedPageIsFreeWhenTheLastHolderLetsGo) {
  SACCADE_ASSERT_OK_AND_ASSIGN(auto pool, KvPagePool::Make(SmallLayout(), 2, 4));
  std::vector<int32_t> first;
  ASSERT_TRUE(pool->Grow(first, 32));
  std::vector<int32_t> second = {first[0]};
  pool->Share(first[0]);
  pool->Release(first);
  EXPECT_EQ(pool->used(), 1);
  pool->Release(second);
  EXPECT_EQ(pool->used(), 0);
}

TEST(KvPagePool, CopiesAndClearsAllLayers) {
  SACCADE_ASSERT_OK_AND_ASSIGN(auto pool, KvPagePool::Make(SmallLayout(), 2, 4));
  std::vector<int32_t> pages;
  ASSERT_TRUE(pool->Grow(pages, 48));
  const KvCacheView& view = pool->view();
  const auto at = [&](int32_t page) { return view.base + static_cast<size_t>(page) * view.page_stride; };
  std::fill_n(at(pages[0]), view.page_stride, std::byte{7});
  pool->Copy(pages[0], pages[2]);
  EXPECT_EQ(at(pages[2])[0], std::byte{7});
  EXPECT_EQ(at(pages[2])[view.page_stride - 1], std::byte{7});
  EXPECT_EQ(at(pages[1])[0], std::byte{0});
  pool->Clear(pages[0]);
  EXPECT_EQ(at(pages[0])[view.page_stride - 1], std::byte{0});
  EXPECT_EQ(at(pages[2])[0], std::byte{7});
}

}  // namespace
}  // namespace saccade
