#include "server/pixel_boxes.h"

namespace saccade {

std::optional<size_t> UsualPicture(const Conversation& conversation) {
  std::optional<size_t> usual;
  size_t pictures = 0;
  for (const Message& message : conversation.messages) {
    const size_t before = pictures;
    for (const ContentPart& part : message.parts) pictures += part.kind == ContentPart::Kind::kImage;
    if (pictures > before) usual = before;
  }
  return usual;
}

OrderedJson PixelBoxesJson(std::string_view answer, const BoxPictures& pictures) {
  OrderedJson list = OrderedJson::array();
  for (const AnswerBox& box : FindAnswerBoxes(answer)) {
    const size_t index = box.picture < 0 ? pictures.usual : static_cast<size_t>(box.picture);
    if (index >= pictures.sizes.size()) continue;
    const Size size = pictures.sizes[index];
    const PixelBox pixels = ToPixels(box, size.width, size.height);
    OrderedJson entry;
    if (box.is_point) {
      entry["point"] = {pixels.left, pixels.top};
    } else {
      entry["box"] = {pixels.left, pixels.top, pixels.right, pixels.bottom};
    }
    entry["label"] = box.label;
    entry["picture"] = index;
    entry["picture_size"] = {size.width, size.height};
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace saccade
