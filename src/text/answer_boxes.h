// Boxes and points that an answer names, in the form in which Qwen3-VL writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace saccade {

// From {"bbox_2d": [left, top, right, bottom], "label": "..."} or {"point_2d": [x, y], ...}. Coordinates are
// in the model's space, 0..1000 over the picture, ordered and cut to it; a point has left == right.
struct AnswerBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  bool is_point = false;
  std::string label;
  int picture = -1;  // from a member "image" or "picture", counted from 0; -1: the answer does not say
};

// In the order of the text, from JSON anywhere in it (Markdown fences included). What is not well formed is
// passed over; at most `max_boxes`. Time is linear in the text's length. Thread-safe.
std::vector<AnswerBox> FindAnswerBoxes(std::string_view answer, size_t max_boxes = 1000);

// The same box in pixels of a picture of this size, rounded to whole ones.
struct PixelBox {
  int64_t left = 0, top = 0, right = 0, bottom = 0;
};
PixelBox ToPixels(const AnswerBox& box, int64_t width, int64_t height);

}  // namespace saccade
