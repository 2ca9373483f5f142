#include "cli/draw_boxes.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "documents/png.h"

namespace saccade {
namespace {

using Colour = std::array<uint8_t, 3>;
constexpr Colour kColours[] = {{230, 25, 75},  {0, 130, 200},  {60, 180, 75},
                               {245, 130, 48}, {145, 30, 180}, {0, 128, 128}};

// Cut to the picture. right and bottom are not part of it.
void Fill(RgbImage& picture, PixelBox box, const Colour& colour) {
  for (int64_t y = std::max<int64_t>(0, box.top); y < std::min<int64_t>(picture.height, box.bottom); ++y) {
    for (int64_t x = std::max<int64_t>(0, box.left); x < std::min<int64_t>(picture.width, box.right); ++x) {
      std::copy(colour.begin(), colour.end(),
                picture.pixels.begin() + y * static_cast<int64_t>(picture.row_bytes()) + 3 * x);
    }
  }
}

}  // namespace

void DrawBoxes(const std::vector<AnswerBox>& boxes, RgbImage& picture) {
  const int64_t line = std::max(2, std::min(picture.width, picture.height) / 200);
  for (size_t i = 0; i < boxes.size(); ++i) {
    const Colour& colour = kColours[i % std::size(kColours)];
    const PixelBox at = ToPixels(boxes[i], picture.width, picture.height);
    if (boxes[i].is_point) {
      const int64_t arm = 5 * line, half = line / 2;
      Fill(picture, {at.left - arm, at.top - half, at.left + arm, at.top - half + line}, colour);
      Fill(picture, {at.left - half, at.top - arm, at.left - half + line, at.top + arm}, colour);
      continue;
    }
    Fill(picture, {at.left, at.top, at.right, at.top + line}, colour);
    Fill(picture, {at.left, at.bottom - line, at.right, at.bottom}, colour);
    Fill(picture, {at.left, at.top, at.left + line, at.bottom}, colour);
    Fill(picture, {at.right - line, at.top, at.right, at.bottom}, colour);
  }
}

Result<std::vector<std::byte>> ToPng(const RgbImage& picture) {
  return EncodePng(picture.pixels.data(), picture.width, picture.height,
                   static_cast<int>(picture.row_bytes()));
}

Result<int> WriteBoxes(std::string_view answer, RgbImage picture, int index,
                       const std::filesystem::path& path) {
  std::vector<AnswerBox> boxes = FindAnswerBoxes(answer);
  std::erase_if(boxes, [&](const AnswerBox& box) { return box.picture >= 0 && box.picture != index; });
  DrawBoxes(boxes, picture);
  SACCADE_ASSIGN_OR_RETURN(const std::vector<std::byte> png, ToPng(picture));
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(png.data()), static_cast<std::streamsize>(png.size()));
  if (!file.flush()) return InvalidArgument("{}: cannot be written", path.string());
  return static_cast<int>(boxes.size());
}

}  // namespace saccade
