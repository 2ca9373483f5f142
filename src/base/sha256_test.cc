#include "base/sha256.h"

#include <gtest/gtest.h>

namespace saccade {
namespace {

TEST(Sha256, VectorsOfFips180) {
  EXPECT_EQ(ToHex(Sha256Of("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(ToHex(Sha256Of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(ToHex(Sha256Of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, StreamEqualsOneShot) {
  const std::string text(1000003, 'a');
  Sha256 hash;
  for (size_t pos = 0; pos < text.size(); pos += 4099) hash.Update(std::string_view(text).substr(pos, 4099));
  hash.Update("");
  EXPECT_EQ(hash.Finish(), Sha256Of(text));
}

}  // namespace
}  // namespace saccade
