#include "engine/prefix_cache.h"

#include <numeric>

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::testing::ElementsAre;

constexpr int kPage = 16;

class PrefixCacheTest : public ::testing::Test {
 protected:
  void Make(int64_t pages, bool enabled = true) {
    KvLayout layout;
    layout.type = KvType::kF32;
    layout.kv_heads = 1;
    layout.head_dim = 8;
    layout.page_tokens = kPage;
    pool_ = KvPagePool::Make(layout, 2, pages).value();
    cache_ = std::make_unique<PrefixCache>(*pool_, enabled);
  }
  // Plays a sequence that computes all its tokens, from the first that is not known, and ends.
  int64_t Run(const std::vector<int32_t>& tokens, std::vector<PicturePlace> pictures = {},
              std::string_view scope = "") {
    PrefixChain chain(scope, std::move(pictures), kPage);
    std::vector<int32_t> pages;
    const auto count = static_cast<int64_t>(tokens.size());
    const int64_t known = cache_->Match(chain, tokens, count - 1, pages);
    EXPECT_TRUE(cache_->Grow(pages, count));
    for (int64_t i = known; i < count; ++i)
      *Byte(pages, i) = static_cast<std::byte>(tokens[static_cast<size_t>(i)]);
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_EQ(*Byte(pages, i), static_cast<std::byte>(tokens[static_cast<size_t>(i)])) << i;
    }
    cache_->Insert(chain, tokens, count, pages, true);
    pool_->Release(pages);
    return known;
  }
  // One byte that stands for the keys and values of a token.
  std::byte* Byte(const std::vector<int32_t>& pages, int64_t token) {
    const KvCacheView& view = pool_->view();
    return view.base + static_cast<size_t>(pages[static_cast<size_t>(token / kPage)]) * view.page_stride +
           static_cast<size_t>(token % kPage);
  }

  std::unique_ptr<KvPagePool> pool_;
  std::unique_ptr<PrefixCache> cache_;
};

std::vector<int32_t> Count(int32_t first, size_t length) {
  std::vector<int32_t> tokens(length);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<int32_t> operator+(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(PrefixCacheTest, ASequenceIsKnownUpToTheFirstDifferentToken) {
  Make(32);
  EXPECT_EQ(Run(Count(0, 40)), 0);
  EXPECT_EQ(Run(Count(0, 40)), 39);  // the last token is always computed
  EXPECT_EQ(Run(Count(0, 36) + Count(100, 30)), 36);
  EXPECT_EQ(Run(Count(0, 36) + Count(100, 29) + Count(7, 20)), 65);
  EXPECT_EQ(Run(Count(0, 33) + Count(50, 30)), 33);
  EXPECT_EQ(Run(Count(1, 40)), 0);
  EXPECT_EQ(pool_->used(), cache_->pages());  // nobody but the cache holds a page
  EXPECT_EQ(cache_->available(), 32);
}

TEST_F(PrefixCacheTest, CompletePagesAreSharedNotCopied) {
  Make(32);
  PrefixChain first("", {}, kPage), second("", {}, kPage);
  std::vector<int32_t> a, b;
  const std::vector<int32_t> tokens = Count(0, 50);
  ASSERT_TRUE(cache_->Grow(a, 50));
  cache_->Insert(first, tokens, 50, a, false);
  EXPECT_EQ(cache_->Match(second, tokens, 49, b), 48);
  EXPECT_EQ(b, std::vector<int32_t>(a.begin(), a.begin() + 3));
  EXPECT_EQ(pool_->holders(a[0]), 3);
  EXPECT_EQ(pool_->used(), 4);
  pool_->Release(a);
  pool_->Release(b);
  EXPECT_EQ(pool_->used(), 3);
}

TEST_F(PrefixCacheTest, PicturesAreToldApartByDigestAndRow) {
  Make(64);
  const std::vector<int32_t> tokens = Count(0, 10) + std::vector<int32_t>(30, 999) + Count(20, 10);
  const PicturePlace cat = {10, 30, Sha256Of("cat")}, dog = {10, 30, Sha256Of("dog")};
  EXPECT_EQ(Run(tokens, {cat}), 0);
  EXPECT_EQ(Run(tokens, {dog}), 10);
  EXPECT_EQ(Run(tokens, {cat}), 49);
  // The same token ids, but the picture begins one row later.
  const PicturePlace late = {11, 29, Sha256Of("cat")};
  EXPECT_EQ(Run(tokens, {late}), 10);
}

TEST_F(PrefixCacheTest, ScopesShareNothing) {
  Make(64);
  EXPECT_EQ(Run(Count(0, 40), {}, "alice"), 0);
  EXPECT_EQ(Run(Count(0, 40), {}, "bob"), 0);
  EXPECT_EQ(Run(Count(0, 40), {}, "alice"), 39);
}

TEST_F(PrefixCacheTest, MakesRoomFromTheEndsOfTheLeastRecentlyUsed) {
  Make(6);
  Run(Count(0, 48));    // three pages
  Run(Count(100, 48));  // three more: full
  EXPECT_EQ(cache_->pages(), 6);
  EXPECT_EQ(Run(Count(0, 20)), 19);  // the first sequence is the younger one now; needs one page to copy into
  EXPECT_EQ(Run(Count(100, 33)), 32);  // lost its third page only
  EXPECT_EQ(cache_->available(), 6);
}

TEST_F(PrefixCacheTest, PagesInUseAreNeverGivenUp) {
  Make(4);
  PrefixChain chain("", {}, kPage);
  std::vector<int32_t> held, more;
  ASSERT_TRUE(cache_->Grow(held, 48));
  cache_->Insert(chain, Count(0, 48), 48, held, false);
  EXPECT_EQ(cache_->available(), 1);
  EXPECT_FALSE(cache_->Grow(more, 32));
  EXPECT_TRUE(more.empty());
  EXPECT_TRUE(cache_->Grow(more, 16));
  pool_->Release(held);
  EXPECT_TRUE(cache_->Grow(more, 48));
  EXPECT_EQ(cache_->pages(), 1);
}

TEST_F(PrefixCacheTest, ALongerLastPageReplacesTheShorter) {
  Make(32);
  Run(Count(0, 20));
  Run(Count(0, 25));
  EXPECT_EQ(cache_->pages(), 2);
  Run(Count(0, 22));
  EXPECT_EQ(cache_->pages(), 2);
  EXPECT_EQ(Run(Count(0, 30)), 25);
}

TEST_F(PrefixCacheTest, DisabledItKeepsNothing) {
  Make(8, false);
  EXPECT_EQ(Run(Count(0, 40)), 0);
  EXPECT_EQ(Run(Count(0, 40)), 0);
  EXPECT_EQ(pool_->used(), 0);
}

}  // namespace
}  // namespace saccade
