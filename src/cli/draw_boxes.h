// --boxes out.png: the picture with the boxes of the answer drawn on it.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/status.h"
#include "image/image.h"
#include "text/text.h"

namespace saccade {

// Rectangles in a colour of their own each, points as crosses. Lines are thick enough to be seen.
void DrawBoxes(const std::vector<AnswerBox>& boxes, RgbImage& picture);

Result<std::vector<std::byte>> ToPng(const RgbImage& picture);

// Draws the boxes of `answer` that are about picture number `index` and writes a PNG. Returns how many.
Result<int> WriteBoxes(std::string_view answer, RgbImage picture, int index,
                       const std::filesystem::path& path);

}  // namespace saccade
