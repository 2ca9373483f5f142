// "boxes": "pixels" of a chat request: the boxes of an answer once more, in pixels of the pictures.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "engine/request.h"

namespace saccade {

// The pictures that boxes may refer to.
struct BoxPictures {
  std::vector<Size> sizes;  // upright, as viewers show them: EXIF orientation applied
  size_t usual = 0;         // meant when a box does not say: the first one of the last message with pictures
};

// Index of the first picture of the last message that has any; nullopt without pictures.
std::optional<size_t> UsualPicture(const Conversation& conversation);

// [{"box": [left, top, right, bottom] or "point": [x, y], "label", "picture", "picture_size": [width,
// height]}]. Boxes of pictures that do not exist are left out.
OrderedJson PixelBoxesJson(std::string_view answer, const BoxPictures& pictures);

}  // namespace saccade
