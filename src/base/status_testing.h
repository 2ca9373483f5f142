// GoogleTest matchers for Status and Result. Included by tests only.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status.h"

namespace saccade::testing {

inline const Status& AsStatus(const Status& status) { return status; }
template <class T>
const Status& AsStatus(const Result<T>& result) {
  return result.status();
}

// EXPECT_THAT(Parse(bytes), FailsWith(StatusCode::kInvalidArgument, HasSubstr("truncated")));
MATCHER_P2(FailsWith, code, message_matcher, "") {
  const Status& status = AsStatus(arg);
  *result_listener << "status is " << status.ToString();
  return status.code() == code && ::testing::Matches(message_matcher)(status.message());
}

}  // namespace saccade::testing

#define SACCADE_EXPECT_OK(expression)                                                \
  do {                                                                               \
    const auto& outcome_ = (expression);                                             \
    EXPECT_TRUE(outcome_.ok()) << ::saccade::testing::AsStatus(outcome_).ToString(); \
  } while (false)
#define SACCADE_ASSERT_OK(expression)                                                \
  do {                                                                               \
    const auto& outcome_ = (expression);                                             \
    ASSERT_TRUE(outcome_.ok()) << ::saccade::testing::AsStatus(outcome_).ToString(); \
  } while (false)
// Declares `target` from a Result in a test, or fails the test with the reason.
#define SACCADE_ASSERT_OK_AND_ASSIGN(target, expression) \
  SACCADE_ASSERT_OK_AND_ASSIGN_IMPL(SACCADE_CONCAT(test_result_, __LINE__), target, expression)
#define SACCADE_ASSERT_OK_AND_ASSIGN_IMPL(result, target, expression) \
  auto result = (expression);                                         \
  ASSERT_TRUE(result.ok()) << result.status().ToString();             \
  target = std::move(result).value()
