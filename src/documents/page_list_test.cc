#include "documents/page_list.h"

#include <gmock/gmock.h>

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int> Pages(std::string_view list, int total) {
  auto pages = ParsePageList(list, total);
  EXPECT_TRUE(pages.ok()) << pages.status().ToString();
  return pages.ok() ? *pages : std::vector<int>();
}

TEST(PageList, RangesInTheirOrderAndEachPageOnce) {
  EXPECT_THAT(Pages("1-3,8", 10), ElementsAre(1, 2, 3, 8));
  EXPECT_THAT(Pages(" 8 , 2 - 3,2", 10), ElementsAre(8, 2, 3));
  EXPECT_THAT(Pages("9-", 10), ElementsAre(9, 10));
  EXPECT_THAT(Pages("", 3), ElementsAre(1, 2, 3));
  EXPECT_THAT(Pages("10", 10), ElementsAre(10));
}

TEST(PageList, WhatIsNoList) {
  for (const char* list : {"0", "-3", "3-1", "1,,2", "a", "1-2-3", "1.5", ",", "99999999999", "1,"}) {
    const auto pages = ParsePageList(list, 10);
    ASSERT_FALSE(pages.ok()) << list;
    EXPECT_EQ(pages.status().param(), "pages");
    EXPECT_FALSE(CheckPageList(list).ok()) << list;
  }
  SACCADE_EXPECT_OK(CheckPageList("1-3,8"));
  EXPECT_FALSE(CheckPageList(std::string(5000, '1')).ok());
}

TEST(PageList, PagesBeyondTheEndAreNamed) {
  EXPECT_THAT(ParsePageList("11", 10).status().message(), HasSubstr("no page 11: the document has 10"));
  EXPECT_THAT(ParsePageList("5-12", 10).status().message(), HasSubstr("no page 12"));
  EXPECT_THAT(ParsePageList("11-", 10).status().message(), HasSubstr("no page 11"));
}

}  // namespace
}  // namespace saccade
