#include "base/status.h"

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;

Result<int> Half(int value) {
  if (value % 2 != 0) return InvalidArgument("{} is odd", value);
  return value / 2;
}

Result<int> Quarter(int value) {
  SACCADE_ASSIGN_OR_RETURN(const int half, Half(value));
  return Half(half);
}

TEST(Status, CarriesCodeAndMessage) {
  EXPECT_THAT(Half(3), FailsWith(StatusCode::kInvalidArgument, HasSubstr("3 is odd")));
  EXPECT_TRUE(OkStatus().ok());
}

TEST(Status, AssignOrReturnPropagates) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_THAT(Quarter(6), FailsWith(StatusCode::kInvalidArgument, "3 is odd"));
}

TEST(Status, ParamsJoinFromTheInsideOut) {
  Status status = InvalidArgument("bad");
  status.WithParam("image_url").WithParam("content[1]").WithParam("messages[0]");
  EXPECT_EQ(status.param(), "messages[0].content[1].image_url");
  EXPECT_EQ(InvalidArgument("x").WithParam("[2]").WithParam("stop").param(), "stop[2]");
}

TEST(Status, ContextComesFirst) {
  EXPECT_EQ(NotFound("no such file").WithContext("config.json").message(), "config.json: no such file");
}

}  // namespace
}  // namespace saccade
