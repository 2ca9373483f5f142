#include "base/json.h"

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ParseJson, ReadsValues) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const Json value,
                               ParseJson("{\"a\": [1, -2, 3.5, true, null], \"b\": {\"c\": \"\\u4e16\"}}"));
  EXPECT_EQ(value["a"].size(), 5U);
  EXPECT_EQ(value["b"]["c"], "\xE4\xB8\x96");
  SACCADE_ASSERT_OK_AND_ASSIGN(const Json bom, ParseJson("\xEF\xBB\xBF 1"));
  EXPECT_EQ(bom, 1);
}

TEST(ParseJson, SyntaxErrorsGiveTheByte) {
  EXPECT_THAT(ParseJson("{\"a\": nope}"),
              FailsWith(StatusCode::kInvalidArgument,
                        AllOf(HasSubstr("invalid JSON at byte 8"), HasSubstr("invalid literal"))));
  EXPECT_THAT(ParseJson(""), FailsWith(StatusCode::kInvalidArgument, HasSubstr("unexpected end of input")));
  EXPECT_THAT(ParseJson("[1,]"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("at byte 4")));
  EXPECT_THAT(ParseJson("1 2"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("at byte 3")));
  EXPECT_THAT(ParseJson("1e999"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("number overflow")));
  EXPECT_THAT(ParseJson("[NaN]"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("byte 2")));
  for (const char* text :
       {"{", "[", "\"", "{\"a\"", "{\"a\":", "[1", "{a:1}", "'a'", "// x\n1", "01", "tru"}) {
    EXPECT_FALSE(ParseJson(text).ok()) << text;
    EXPECT_FALSE(ParseOrderedJson(text).ok()) << text;
  }
}

TEST(ParseJson, RefusesBadBytes) {
  EXPECT_THAT(ParseJson("[\"\xFF\"]"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
  EXPECT_THAT(ParseJson("[\"\xC3\"]"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("UTF-8")));
  EXPECT_THAT(ParseJson("[\"\\ud800\"]"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("surrogate")));
  EXPECT_THAT(ParseJson(std::string_view("{}\0garbage", 10)),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("at byte 2: NUL")));
}

TEST(ParseJson, ErrorsDoNotQuoteTheText) {
  const std::string text = "[\"" + std::string(1 << 20, 'x') + "\xFF\"]";
  const auto result = ParseJson(text);
  ASSERT_FALSE(result.ok());
  EXPECT_LT(result.status().message().size(), 300U);
  EXPECT_THAT(result.status().message(), Not(HasSubstr("xxx")));
  EXPECT_LT(ParseJson(std::string(100000, '9') + "e999").status().message().size(), 300U);
}

TEST(ParseJson, Limits) {
  EXPECT_THAT(ParseJson("[1,2]", {.max_bytes = 4}),
              FailsWith(StatusCode::kTooLarge, HasSubstr("has 5 bytes, the limit is 4")));
  SACCADE_EXPECT_OK(ParseJson("[[[]]]", {.max_depth = 3}));
  EXPECT_THAT(ParseJson("[[{\"a\":[]}]]", {.max_depth = 3}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("more than 3 levels")));
  EXPECT_THAT(ParseJson(std::string(1 << 20, '[')),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("more than 64 levels")));
  EXPECT_THAT(ParseJson("[1,2,3]", {.max_values = 3}),
              FailsWith(StatusCode::kTooLarge, HasSubstr("more than 3 values")));
  SACCADE_EXPECT_OK(ParseOrderedJson("{\"a\":1,\"b\":2}", {.max_members = 2}));
  EXPECT_THAT(ParseOrderedJson("{\"a\":1,\"b\":2,\"a\":3}", {.max_members = 2}),
              FailsWith(StatusCode::kTooLarge, HasSubstr("more than 2 members")));
}

TEST(ParseJson, LastOfDuplicateMembersCounts) {
  constexpr const char* kText = "{\"a\":1,\"b\":{\"x\":1,\"x\":[2]},\"a\":{\"y\":3},\"c\":4,\"a\":5}";
  SACCADE_ASSERT_OK_AND_ASSIGN(const Json plain, ParseJson(kText));
  EXPECT_EQ(plain.dump(), "{\"a\":5,\"b\":{\"x\":[2]},\"c\":4}");
  SACCADE_ASSERT_OK_AND_ASSIGN(const OrderedJson ordered, ParseOrderedJson(kText));
  EXPECT_EQ(ordered.dump(), "{\"a\":5,\"b\":{\"x\":[2]},\"c\":4}");
}

TEST(ParseJson, KeepsTheOrderOfMembers) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const OrderedJson value,
                               ParseOrderedJson("{\"z\":{\"b\":1,\"a\":2},\"y\":0}"));
  EXPECT_EQ(value.dump(), "{\"z\":{\"b\":1,\"a\":2},\"y\":0}");
}

// Many wide objects: quadratic insertion would need billions of comparisons here.
TEST(ParseJson, WideObjectsAreLinear) {
  std::string object = "{";
  for (int i = 0; i < 2000; ++i) object += fmt::format("{}\"key{}\":0", i == 0 ? "" : ",", i);
  object += "}";
  std::string text = "[" + object;
  for (int i = 0; i < 400; ++i) text += "," + object;
  text += "]";
  SACCADE_ASSERT_OK_AND_ASSIGN(const OrderedJson value, ParseOrderedJson(text));
  EXPECT_EQ(value.size(), 401U);
  EXPECT_EQ(value[400].size(), 2000U);
}

template <class J>
class JsonGetters : public ::testing::Test {
 protected:
  J Object(std::string_view text) {
    if constexpr (std::is_same_v<J, Json>) {
      return *ParseJson(text);
    } else {
      return *ParseOrderedJson(text);
    }
  }
};
using BothKinds = ::testing::Types<Json, OrderedJson>;
TYPED_TEST_SUITE(JsonGetters, BothKinds);

TYPED_TEST(JsonGetters, ReadMembers) {
  const auto object = this->Object(
      "{\"i\": 7, \"whole\": 5e6, \"big\": 18446744073709551615, \"f\": 1e-6, \"s\": \"x\", \"b\": false,"
      " \"l\": [5, 11, 17], \"n\": null, \"o\": {\"k\": 1}}");
  EXPECT_EQ(*GetInt(object, "i"), 7);
  EXPECT_EQ(*GetInt(object, "whole"), 5000000);
  EXPECT_EQ(*GetFloat(object, "f"), 1e-6);
  EXPECT_EQ(*GetFloat(object, "i"), 7.0);
  EXPECT_EQ(*GetString(object, "s"), "x");
  EXPECT_EQ(*GetBool(object, "b"), false);
  EXPECT_THAT(*GetIntList(object, "l"), ElementsAre(5, 11, 17));
  EXPECT_EQ(*GetInt(**GetObject(object, "o"), "k"), 1);
  EXPECT_EQ((*GetArray(object, "l"))->size(), 3U);
}

TYPED_TEST(JsonGetters, AbsentAndNullAreAlike) {
  const auto object = this->Object("{\"n\": null}");
  for (const char* key : {"n", "absent"}) {
    EXPECT_EQ(*FindInt(object, key), std::nullopt);
    EXPECT_EQ(*FindFloat(object, key), std::nullopt);
    EXPECT_EQ(*FindBool(object, key), std::nullopt);
    EXPECT_EQ(*FindString(object, key), std::nullopt);
    EXPECT_EQ(*FindIntList(object, key), std::nullopt);
    EXPECT_EQ(*FindObject(object, key), nullptr);
    EXPECT_EQ(*GetIntOr(object, key, 3), 3);
    EXPECT_EQ(*GetFloatOr(object, key, 0.5), 0.5);
    EXPECT_EQ(*GetBoolOr(object, key, true), true);
    EXPECT_EQ(*GetStringOr(object, key, "d"), "d");
    const auto missing = GetInt(object, key);
    EXPECT_THAT(missing, FailsWith(StatusCode::kInvalidArgument, HasSubstr("is missing")));
    EXPECT_EQ(missing.status().param(), key);
    EXPECT_THAT(GetObject(object, key), FailsWith(StatusCode::kInvalidArgument, HasSubstr("is missing")));
  }
}

TYPED_TEST(JsonGetters, WrongTypesNameTheField) {
  const auto object = this->Object(
      "{\"i\": 7, \"s\": \"x\", \"half\": 0.5, \"l\": [1, \"2\"], \"big\": 18446744073709551615, \"e\": "
      "1e300}");
  const auto wrong = GetInt(object, "s");
  EXPECT_THAT(wrong, FailsWith(StatusCode::kInvalidArgument, "\"s\" must be a whole number, not a string"));
  EXPECT_EQ(wrong.status().param(), "s");
  EXPECT_THAT(GetInt(object, "half"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("whole number")));
  EXPECT_THAT(GetInt(object, "big"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("63 bits")));
  EXPECT_THAT(GetInt(object, "e"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("63 bits")));
  EXPECT_THAT(GetString(object, "i"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("not a number")));
  EXPECT_THAT(GetBoolOr(object, "l", true),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("not an array")));
  EXPECT_EQ(GetIntList(object, "l").status().param(), "l[1]");
  EXPECT_THAT(GetFloat(object, "s"),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("\"s\" must be a number")));
  EXPECT_THAT(GetInt(this->Object("[1]"), "i"),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("expected a JSON object")));
}

TYPED_TEST(JsonGetters, RangesAreChecked) {
  const auto object = this->Object("{\"i\": 7, \"f\": 2.5, \"l\": [1, 9]}");
  SACCADE_EXPECT_OK(GetInt(object, "i", {.min = 7, .max = 7}));
  EXPECT_THAT(GetInt(object, "i", {.min = 8, .max = 10}),
              FailsWith(StatusCode::kInvalidArgument, "\"i\" is 7, accepted is 8 to 10"));
  EXPECT_THAT(GetFloat(object, "f", {.min = 0, .max = 2}),
              FailsWith(StatusCode::kInvalidArgument, "\"f\" is 2.5, accepted is 0 to 2"));
  EXPECT_THAT(GetIntList(object, "l", {.min = 0, .max = 8}),
              FailsWith(StatusCode::kInvalidArgument, "\"l[1]\" is 9, accepted is 0 to 8"));
}

}  // namespace
}  // namespace saccade
