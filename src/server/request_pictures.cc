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

Result<PictureInput> TakePicture(ContentPart& part, std::optional<PixelLimits> whole_request,
                                 const PicturePartOptions& options) {
  if (part.source.empty()) {
    return InvalidArgument(
        "a picture is given as {{\"url\": \"data:image/...;base64,...\"}} or as that string");
  }
  PictureInput input;
  SACCADE_ASSIGN_OR_RETURN(input.limits, PartLimits(part, whole_request, options.defaults));
  SACCADE_ASSIGN_OR_RETURN(input.bytes, TakeBytes(part.source, options.stored));
  std::string().swap(part.source);
  return input;
}

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
                                                 const PicturePartOptions& options) {
  std::vector<RequestPicture> pictures;
  for (Message& message : conversation.messages) {
    for (ContentPart& part : message.parts) {
      if (part.kind == ContentPart::Kind::kText) continue;
      if (part.kind == ContentPart::Kind::kVideo) {
        return Unsupported("videos are not supported yet; send single frames as pictures")
            .WithParam(part.param);
      }
      if (pictures.size() >= options.max_pictures) {
        return TooLarge("the request has more than {} pictures", options.max_pictures).WithParam(part.param);
      }
      auto input = TakePicture(part, whole_request, options);
      if (!input.ok()) return std::move(input).status().WithParam(part.param);
      pictures.push_back({std::move(*input), part.param});
    }
  }
  return pictures;
}

}  // namespace saccade
