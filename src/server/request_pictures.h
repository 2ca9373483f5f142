// The pictures of a chat request: from the text that stands in the messages to the bytes of picture files.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/request.h"
#include "server/document_parts.h"

namespace saccade {

// The file behind the id of an uploaded picture.
using StoredPictures =
    std::function<Result<std::shared_ptr<const std::vector<std::byte>>>(std::string_view id)>;

struct PicturePartOptions {
  size_t max_pictures = 64;  // per request
  PixelLimits defaults;      // the checkpoint's; a request may give only one of the two
  StoredPictures stored;     // for "saccade-image:ID"; may be null
  DocumentSettings documents;
};

struct RequestPicture {
  PictureInput input;
  std::string path;  // "messages[0].content[1].image_url", for errors found later
};

// The bytes behind the text of an image_url: a data URL of any or no media type, or bare base64; standard or
// URL-safe alphabet, white space anywhere. http(s) and file URLs are refused: nothing is fetched.
Result<std::vector<std::byte>> DecodePictureSource(std::string_view source);

// Decodes the pictures of `conversation` in order. A document becomes a picture for each of its pages, with a
// heading and its text around it unless the pages are asked about one by one. Their sources are cleared
// there, as they may be megabytes. `whole_request` are the limits given beside the messages; those of a
// picture come first.
Result<std::vector<RequestPicture>> TakePictures(Conversation& conversation,
                                                 std::optional<PixelLimits> whole_request,
                                                 const DocumentRequest& documents,
                                                 const PicturePartOptions& options);

// Combines what a request gives with the defaults; nullopt when it gives nothing.
Result<std::optional<PixelLimits>> RequestedLimits(std::optional<int64_t> min_pixels,
                                                   std::optional<int64_t> max_pixels, PixelLimits defaults);

}  // namespace saccade
