#include "text/python_json.h"

#include "base/status_testing.h"

namespace saccade {
namespace {

// Expected values are those of Python 3.11.
TEST(PythonJson, Floats) {
  const std::pair<double, const char*> vectors[] = {{0.0, "0.0"},
                                                    {-0.0, "-0.0"},
                                                    {1, "1.0"},
                                                    {-2.5, "-2.5"},
                                                    {0.1, "0.1"},
                                                    {100, "100.0"},
                                                    {12345.678, "12345.678"},
                                                    {0.0001, "0.0001"},
                                                    {0.00012345, "0.00012345"},
                                                    {0.00001, "1e-05"},
                                                    {1.5e-7, "1.5e-07"},
                                                    {1e15, "1000000000000000.0"},
                                                    {1234567890123456.7, "1234567890123456.8"},
                                                    {1e16, "1e+16"},
                                                    {1.25e17, "1.25e+17"},
                                                    {1e22, "1e+22"},
                                                    {1e100, "1e+100"},
                                                    {5e-324, "5e-324"},
                                                    {1.7976931348623157e308, "1.7976931348623157e+308"},
                                                    {0.30000000000000004, "0.30000000000000004"},
                                                    {9007199254740993.0, "9007199254740992.0"},
                                                    {2e-3, "0.002"}};
  for (const auto& [value, text] : vectors) EXPECT_EQ(PythonFloat(value), text);
  EXPECT_EQ(PythonFloat(std::numeric_limits<double>::infinity()), "Infinity");
}

TEST(PythonJson, Values) {
  const auto dump = [](std::string_view json) { return DumpLikePython(*ParseOrderedJson(json)); };
  EXPECT_EQ(dump("{\"b\":[1,-2,3.0,true,false,null,[],{}],\"a\":{\"x\":\"y\"}}"),
            "{\"b\": [1, -2, 3.0, true, false, null, [], {}], \"a\": {\"x\": \"y\"}}");
  EXPECT_EQ(dump("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(dump("\"\\u00e9\\u4e16\\ud83d\\ude42\\/<>&'\""), "\"\xC3\xA9\xE4\xB8\x96\xF0\x9F\x99\x82/<>&'\"");
  EXPECT_EQ(dump("\"\\\"\\\\\\n\\r\\t\\b\\f\\u0000\\u001f\\u007f\\u2028\""),
            "\"\\\"\\\\\\n\\r\\t\\b\\f\\u0000\\u001f\x7F\xE2\x80\xA8\"");
}

}  // namespace
}  // namespace saccade
