#include "text/answer_boxes.h"

#include <gtest/gtest.h>

namespace saccade {
namespace {

TEST(AnswerBoxes, FindsBoxesAndPointsInFencedJson) {
  const auto boxes = FindAnswerBoxes(
      "Here:\n```json\n[{\"bbox_2d\": [100, 200, 300, 450], \"label\": \"a {cat}\"},\n"
      " {\"point_2d\": [512.5, 7], \"label\": \"\\u661f\"}]\n```\nand {nothing} more");
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].label, "a {cat}");
  EXPECT_EQ(boxes[0].left, 100);
  EXPECT_EQ(boxes[0].bottom, 450);
  EXPECT_FALSE(boxes[0].is_point);
  EXPECT_TRUE(boxes[1].is_point);
  EXPECT_EQ(boxes[1].left, 512.5);
  EXPECT_EQ(boxes[1].right, 512.5);
  EXPECT_EQ(boxes[1].label, "\xE6\x98\x9F");
}

TEST(AnswerBoxes, OrdersAndCutsCoordinates) {
  const auto boxes = FindAnswerBoxes(R"({"bbox_2d": [900, 1200, -5, 10], "picture": 2})");
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].left, 0);
  EXPECT_EQ(boxes[0].top, 10);
  EXPECT_EQ(boxes[0].right, 900);
  EXPECT_EQ(boxes[0].bottom, 1000);
  EXPECT_EQ(boxes[0].picture, 2);
}

TEST(AnswerBoxes, PassesOverWhatIsNoBox) {
  EXPECT_TRUE(
      FindAnswerBoxes(R"({"bbox_2d": [1, 2, 3]} {"bbox_2d": [1, 2, 3, "x"]} {"bbox_2d": "1"})").empty());
  EXPECT_TRUE(FindAnswerBoxes("{\"bbox_2d\": [1, 2, 3, 4").empty());
  EXPECT_TRUE(FindAnswerBoxes(std::string(100'000, '{')).empty());
  EXPECT_EQ(FindAnswerBoxes(R"({"objects": [{"bbox_2d": [1, 2, 3, 4]}]})").size(), 1u);
}

TEST(AnswerBoxes, StopsAtTheLimit) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += R"({"point_2d": [1, 2]})";
  EXPECT_EQ(FindAnswerBoxes(text, 3).size(), 3u);
}

TEST(AnswerBoxes, PixelsAreOfTheOriginal) {
  AnswerBox box;
  box.left = 250, box.top = 100, box.right = 1000, box.bottom = 500;
  const PixelBox pixels = ToPixels(box, 4000, 3000);
  EXPECT_EQ(pixels.left, 1000);
  EXPECT_EQ(pixels.top, 300);
  EXPECT_EQ(pixels.right, 4000);
  EXPECT_EQ(pixels.bottom, 1500);
}

}  // namespace
}  // namespace saccade
