#include "server/request_pictures.h"

#include <algorithm>
#include <memory>

#include "base/base64.h"
#include "server/image_store.h"

namespace saccade {
namespace {

// detail: "low" means at most this many pixels, as a 512 x 512 picture has: 256 tokens of the published
// models.
constexpr int64_t kLowDetailPixels = 512 * 512;

std::string_view TrimSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool StartsWithNoCase(std::string_view text, std::string_view lower_prefix) {
  return text.size() >= lower_prefix.size() &&
         std::equal(lower_prefix.begin(), lower_prefix.end(), text.begin(), [](char want, char have) {
           return want == (have >= 'A' && have <= 'Z' ? static_cast<char>(have - 'A' + 'a') : have);
         });
}

// "https" for "https://..."; empty when there is no scheme. Base64 has neither ':' nor '.'.
std::string_view SchemeOf(std::string_view source) {
  const size_t colon = source.substr(0, 32).find("://");
  return colon == std::string_view::npos ? std::string_view() : source.substr(0, colon);
}

Status CheckArea(std::optional<int64_t> pixels, std::string_view name) {
  if (!pixels || (*pixels >= 1 && *pixels <= kMaxResizedPixels)) return OkStatus();
  return InvalidArgument("{} must be a whole number from 1 to {}", name, kMaxResizedPixels).WithParam(name);
}

Result<std::optional<PixelLimits>> PartLimits(const ContentPart& part,
                                              std::optional<PixelLimits> whole_request,
                                              PixelLimits defaults) {
  if (!part.detail.empty() && part.detail != "low" && part.detail != "high" && part.detail != "auto") {
    return InvalidArgument("detail must be one of low, high, auto").WithParam("detail");
  }
  SACCADE_RETURN_IF_ERROR(CheckArea(part.min_pixels, "min_pixels"));
  SACCADE_RETURN_IF_ERROR(CheckArea(part.max_pixels, "max_pixels"));
  const PixelLimits base = whole_request.value_or(defaults);
  std::optional<int64_t> max_pixels = part.max_pixels;
  if (part.detail == "low" && !max_pixels) max_pixels = std::min(kLowDetailPixels, base.max_pixels);
  SACCADE_ASSIGN_OR_RETURN(std::optional<PixelLimits> limits,
                           RequestedLimits(part.min_pixels, max_pixels, base));
  return limits ? limits : whole_request;
}

// The file that `source` names or contains.
Result<std::shared_ptr<const std::vector<std::byte>>> TakeBytes(std::string_view source,
                                                                const StoredPictures& stored) {
  const std::string_view trimmed = TrimSpace(source);
  if (StartsWithNoCase(trimmed, kStoredImagePrefix)) {
    if (!stored) return InvalidArgument("uploaded pictures cannot be used here; send the picture itself");
    return stored(trimmed.substr(kStoredImagePrefix.size()));
  }
  SACCADE_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, DecodePictureSource(source));
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

ContentPart TextPart(std::string text) {
  ContentPart part;
  part.text = std::move(text);
  return part;
}

// What TakePictures works on.
class PictureTaker {
 public:
  PictureTaker(std::optional<PixelLimits> whole_request, const DocumentRequest& documents,
               const PicturePartOptions& options)
      : whole_request_(whole_request), documents_(documents), options_(options) {}

  // Moves `part` to the end of `parts`, as one picture or as the pages of a document.
  Status Take(ContentPart part, std::vector<ContentPart>& parts) {
    if (part.kind == ContentPart::Kind::kVideo) {
      return Unsupported("videos are not supported yet; send single frames as pictures");
    }
    if (part.source.empty()) {
      return InvalidArgument(
          "a picture is given as {{\"url\": \"data:image/...;base64,...\"}} or as that string");
    }
    SACCADE_ASSIGN_OR_RETURN(const std::optional<PixelLimits> limits,
                             PartLimits(part, whole_request_, options_.defaults));
    PictureInput input;
    input.limits = limits;
    SACCADE_ASSIGN_OR_RETURN(input.bytes, TakeBytes(part.source, options_.stored));
    std::string().swap(part.source);
    if (!IsDocument(*input.bytes)) {
      if (!part.pages.empty())
        return InvalidArgument("a picture has no pages to choose from").WithParam("pages");
      return Add(std::move(input), std::move(part), parts);
    }
    SACCADE_ASSIGN_OR_RETURN(std::vector<RequestPage> pages,
                             TakeDocument(part, *input.bytes, documents_, options_.documents,
                                          limits.value_or(options_.defaults).max_pixels));
    for (RequestPage& page : pages) {
      page.picture.limits = limits;
      SACCADE_RETURN_IF_ERROR(AddPage(std::move(page), part, parts));
    }
    return OkStatus();
  }

  std::vector<RequestPicture> Finish() { return std::move(pictures_); }

 private:
  Status AddPage(RequestPage page, const ContentPart& part, std::vector<ContentPart>& parts) {
    if (documents_.page_by_page) return Add(std::move(page.picture), part, parts);
    const std::string text = page.picture.page_text;
    if (!page.heading.empty()) parts.push_back(TextPart(std::move(page.heading)));
    SACCADE_RETURN_IF_ERROR(Add(std::move(page.picture), part, parts));
    if (!text.empty()) parts.push_back(TextPart(PageTextPart(text)));
    return OkStatus();
  }

  Status Add(PictureInput input, ContentPart part, std::vector<ContentPart>& parts) {
    // Pages that are asked about one by one are never in one prompt.
    const bool alone = documents_.page_by_page && input.page > 0;
    if (!alone && ++together_ > options_.max_pictures) {
      return TooLarge("the request has more than {} pictures{}", options_.max_pictures,
                      input.page > 0 ? "; a long document can be asked about with \"documents\": {\"mode\": "
                                       "\"page_by_page\"}"
                                     : "");
    }
    pictures_.push_back({std::move(input), part.param});
    parts.push_back(std::move(part));
    return OkStatus();
  }

  const std::optional<PixelLimits> whole_request_;
  const DocumentRequest& documents_;
  const PicturePartOptions& options_;
  std::vector<RequestPicture> pictures_;
  size_t together_ = 0;
};

}  // namespace

Result<std::vector<std::byte>> DecodePictureSource(std::string_view source) {
  source = TrimSpace(source);
  const std::string_view scheme = SchemeOf(source);
  if (StartsWithNoCase(source, "file:")) {
    return InvalidArgument(
        "files of the server cannot be read; send the picture itself as a base64 data URL");
  }
  if (StartsWithNoCase(scheme, "http")) {
    return InvalidArgument(
        "fetching pictures by URL is switched off; send the picture itself as a base64 data URL");
  }
  if (!scheme.empty()) return InvalidArgument("{} URLs are not accepted; send a base64 data URL", scheme);
  if (StartsWithNoCase(source, "data:")) {
    const size_t comma = source.find(',');
    if (comma == std::string_view::npos) return InvalidArgument("the data URL has no comma before its data");
    const std::string_view header = TrimSpace(source.substr(0, comma));
    if (header.size() < 7 || !StartsWithNoCase(header.substr(header.size() - 7), ";base64")) {
      return InvalidArgument("only data URLs with ;base64 are accepted");
    }
    source = TrimSpace(source.substr(comma + 1));
    if (StartsWithNoCase(source, "data:")) return InvalidArgument("the data URL's prefix is there twice");
  }
  auto bytes = DecodeBase64(source);
  if (!bytes.ok()) return std::move(bytes).status().WithContext("the picture is not valid base64");
  if (bytes->empty()) return InvalidArgument("the picture is empty");
  return bytes;
}

Result<std::optional<PixelLimits>> RequestedLimits(std::optional<int64_t> min_pixels,
                                                   std::optional<int64_t> max_pixels, PixelLimits defaults) {
  if (!min_pixels && !max_pixels) return std::optional<PixelLimits>();
  PixelLimits limits = {min_pixels.value_or(defaults.min_pixels), max_pixels.value_or(defaults.max_pixels)};
  if (min_pixels && max_pixels && *min_pixels > *max_pixels) {
    return InvalidArgument("min_pixels is {}, more than max_pixels {}", *min_pixels, *max_pixels)
        .WithParam("min_pixels");
  }
  // A single limit moves the other out of its way.
  if (!min_pixels) limits.min_pixels = std::min(limits.min_pixels, limits.max_pixels);
  if (!max_pixels) limits.max_pixels = std::max(limits.min_pixels, limits.max_pixels);
  return std::optional<PixelLimits>(limits);
}

Result<std::vector<RequestPicture>> TakePictures(Conversation& conversation,
                                                 std::optional<PixelLimits> whole_request,
                                                 const DocumentRequest& documents,
                                                 const PicturePartOptions& options) {
  PictureTaker taker(whole_request, documents, options);
  for (Message& message : conversation.messages) {
    std::vector<ContentPart> parts;
    for (ContentPart& part : message.parts) {
      if (part.kind == ContentPart::Kind::kText) {
        parts.push_back(std::move(part));
        continue;
      }
      const std::string param = part.param;
      Status status = taker.Take(std::move(part), parts);
      if (!status.ok()) return std::move(status).WithParam(param);
    }
    message.parts = std::move(parts);
  }
  return taker.Finish();
}

}  // namespace saccade
