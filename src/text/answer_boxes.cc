#include "text/answer_boxes.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/json.h"

namespace saccade {
namespace {

constexpr double kSpace = 1000;  // both sides of every picture
// Longer objects are not boxes; the bound keeps the search for closing braces linear.
constexpr size_t kMaxObjectBytes = 4096;

// Length of the object that starts at text[0] == '{', when it has no object inside; 0 when there is none. A
// box has no inner objects, and an outer object's inner ones are found by themselves.
size_t FlatObjectLength(std::string_view text) {
  bool in_string = false;
  for (size_t i = 1; i < std::min(text.size(), kMaxObjectBytes); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      return 0;
    } else if (c == '}') {
      return i + 1;
    }
  }
  return 0;
}

std::optional<std::vector<double>> Numbers(const Json& object, const char* key, size_t count) {
  const auto member = object.find(key);
  if (member == object.end() || !member->is_array() || member->size() != count) return std::nullopt;
  std::vector<double> numbers;
  for (const Json& entry : *member) {
    if (!entry.is_number() || !std::isfinite(entry.get<double>())) return std::nullopt;
    numbers.push_back(std::clamp(entry.get<double>(), 0.0, kSpace));
  }
  return numbers;
}

std::string Label(const Json& object) {
  for (const char* key : {"label", "text_content", "text"}) {
    const auto member = object.find(key);
    if (member != object.end() && member->is_string()) return member->get<std::string>();
  }
  return "";
}

int PictureIndex(const Json& object) {
  for (const char* key : {"picture", "image"}) {
    const auto member = object.find(key);
    if (member != object.end() && member->is_number_integer()) {
      return static_cast<int>(std::clamp<int64_t>(member->get<int64_t>(), -1, 1 << 20));
    }
  }
  return -1;
}

std::optional<AnswerBox> ReadBox(const Json& object) {
  AnswerBox box;
  if (const auto corners = Numbers(object, "bbox_2d", 4)) {
    box.left = std::min((*corners)[0], (*corners)[2]);
    box.right = std::max((*corners)[0], (*corners)[2]);
    box.top = std::min((*corners)[1], (*corners)[3]);
    box.bottom = std::max((*corners)[1], (*corners)[3]);
  } else if (const auto point = Numbers(object, "point_2d", 2)) {
    box.left = box.right = (*point)[0];
    box.top = box.bottom = (*point)[1];
    box.is_point = true;
  } else {
    return std::nullopt;
  }
  box.label = Label(object);
  box.picture = PictureIndex(object);
  return box;
}

}  // namespace

std::vector<AnswerBox> FindAnswerBoxes(std::string_view answer, size_t max_boxes) {
  std::vector<AnswerBox> boxes;
  size_t at = 0;
  while (boxes.size() < max_boxes && (at = answer.find('{', at)) != std::string_view::npos) {
    const size_t length = FlatObjectLength(answer.substr(at));
    if (length == 0) {
      ++at;
      continue;
    }
    const Result<Json> object = ParseJson(answer.substr(at, length));
    if (object.ok() && object->is_object()) {
      if (auto box = ReadBox(*object)) boxes.push_back(std::move(*box));
    }
    at += length;
  }
  return boxes;
}

PixelBox ToPixels(const AnswerBox& box, int64_t width, int64_t height) {
  const auto scale = [](double value, int64_t side) {
    return static_cast<int64_t>(std::llround(value / kSpace * static_cast<double>(side)));
  };
  return {scale(box.left, width), scale(box.top, height), scale(box.right, width), scale(box.bottom, height)};
}

}  // namespace saccade
