#include "server/image_store.h"

#include "base/status_testing.h"

namespace saccade {
namespace {

using std::chrono::seconds;

ImageStore::Bytes File(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return std::make_shared<const std::vector<std::byte>>(data, data + text.size());
}

class ImageStoreTest : public ::testing::Test {
 protected:
  ImageStore::Clock::time_point now_{};
  ImageStore store_{{.max_bytes = 10, .lifetime = seconds(60)}, [this] { return now_; }};

  std::string Put(std::string_view text, std::string_view owner = "me") {
    auto kept = store_.Put(owner, File(text));
    EXPECT_TRUE(kept.ok()) << kept.status().ToString();
    return kept.ok() ? kept->id : "";
  }
  bool Has(const std::string& id) { return store_.Get(id).ok(); }
};

TEST_F(ImageStoreTest, TheSameFileOfTheSameOwnerIsKeptOnce) {
  const std::string id = Put("abcd");
  EXPECT_EQ(Put("abcd"), id);
  EXPECT_NE(Put("abcd", "you"), id);
  EXPECT_EQ(store_.count(), 2u);
  EXPECT_EQ(store_.bytes(), 8u);
  EXPECT_EQ(id.size(), 44u);
  const auto kept = store_.Get(id);
  SACCADE_ASSERT_OK(kept);
  EXPECT_EQ(kept->bytes->size(), 4u);
}

TEST_F(ImageStoreTest, IdsOfTwoProcessesDiffer) {
  ImageStore other({}, [this] { return now_; });
  EXPECT_NE(other.Put("me", File("abcd"))->id, Put("abcd"));
}

TEST_F(ImageStoreTest, ForgetsWhatWasNotUsedForLongest) {
  const std::string a = Put("aaaa"), b = Put("bbbb");
  EXPECT_TRUE(Has(a));
  const std::string c = Put("cccc");
  EXPECT_TRUE(Has(a));
  EXPECT_FALSE(Has(b));
  EXPECT_TRUE(Has(c));
  EXPECT_EQ(store_.bytes(), 8u);
}

TEST_F(ImageStoreTest, ExpiresAfterTheLastUse) {
  const std::string a = Put("aaaa"), b = Put("bbbb");
  now_ += seconds(59);
  EXPECT_TRUE(Has(a));
  now_ += seconds(1);
  EXPECT_FALSE(Has(b));
  EXPECT_TRUE(Has(a));
  now_ += seconds(60);
  const auto gone = store_.Get(a);
  EXPECT_EQ(gone.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store_.bytes(), 0u);
}

TEST_F(ImageStoreTest, RefusesAFileOverTheLimitAndRemoves) {
  EXPECT_EQ(store_.Put("me", File("12345678901")).status().code(), StatusCode::kTooLarge);
  const std::string a = Put("1234567890");
  EXPECT_TRUE(store_.Remove(a));
  EXPECT_FALSE(store_.Remove(a));
  EXPECT_EQ(store_.bytes(), 0u);
}

}  // namespace
}  // namespace saccade
