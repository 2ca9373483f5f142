#include "image/vips_decoder.h"

#include <vips/vips.h>

#include <algorithm>
#include <array>
#include <utility>

namespace saccade {
namespace {

// Rows per request to libvips: enough for cache-friendly turning (see UprightWriter), little enough that a
// strip of a 10,000 pixel wide picture stays in the L2 cache. A multiple of the 8 rows a JPEG yields at once.
constexpr int kStripRows = 32;

// More is not a picture for people; a TIFF may claim 10,000 samples per pixel.
constexpr int kMaxSamples = 8;

struct Unref {
  void operator()(void* object) const { g_object_unref(object); }
};
using RegionPtr = std::unique_ptr<VipsRegion, Unref>;

using Loader = int (*)(void*, size_t, VipsImage**, ...);

Loader LoaderFor(ImageKind kind) {
  switch (kind) {
    case ImageKind::kJpeg:
      return vips_jpegload_buffer;
    case ImageKind::kPng:
      return vips_pngload_buffer;
    case ImageKind::kWebp:
      return vips_webpload_buffer;
    case ImageKind::kGif:
      return vips_gifload_buffer;
    case ImageKind::kTiff:
      return vips_tiffload_buffer;
    case ImageKind::kHeic:
    case ImageKind::kAvif:
      return vips_heifload_buffer;
    case ImageKind::kBmp:
      break;
  }
  return nullptr;
}

// Colour spaces other than grey, RGB and CMYK (Lab and XYZ in TIFF) become 8-bit sRGB.
bool NeedsColourConversion(VipsInterpretation interpretation) {
  constexpr std::array kPlain = {VIPS_INTERPRETATION_MULTIBAND, VIPS_INTERPRETATION_B_W,
                                 VIPS_INTERPRETATION_CMYK,      VIPS_INTERPRETATION_RGB,
                                 VIPS_INTERPRETATION_sRGB,      VIPS_INTERPRETATION_RGB16,
                                 VIPS_INTERPRETATION_GREY16,    VIPS_INTERPRETATION_HISTOGRAM};
  return std::find(kPlain.begin(), kPlain.end(), interpretation) == kPlain.end();
}

}  // namespace

void VipsImageDeleter::operator()(VipsImage* image) const { g_object_unref(image); }

Result<std::unique_ptr<VipsDecoder>> VipsDecoder::Open(ImageKind kind, std::span<const std::byte> file) {
  SACCADE_RETURN_IF_ERROR(InitImageLibrary());
  std::unique_ptr<VipsDecoder> decoder(new VipsDecoder(kind));
  VipsImage* image = nullptr;
  // The WebP loader does not work row by row; unless told to use memory, libvips unpacks large ones to a
  // file.
  const gboolean in_memory = kind == ImageKind::kWebp ? TRUE : FALSE;
  // libvips does not write through the pointer. Damage that libjpeg only warns about is accepted, as Pillow
  // does; missing data and errors are not.
  const int failed =
      LoaderFor(kind)(const_cast<std::byte*>(file.data()), file.size(), &image, "access",
                      VIPS_ACCESS_SEQUENTIAL, "fail_on", VIPS_FAIL_ON_ERROR, "memory", in_memory, nullptr);
  decoder->image_.reset(image);
  if (failed) return decoder->errors_.Damaged();
  return decoder;
}

ImageInfo VipsDecoder::Info() const {
  ImageInfo info;
  info.kind = kind_;
  info.width = vips_image_get_width(image_.get());
  info.height = vips_image_get_height(image_.get());
  info.orientation = vips_image_get_orientation(image_.get());
  info.frames = std::max(1, vips_image_get_n_pages(image_.get()));
  return info;
}

// Adds the colour conversions that only libvips can do to the pipeline.
Status VipsDecoder::MakeReadable() {
  if (vips_image_get_bands(image_.get()) > kMaxSamples) {
    return Unsupported("the {} picture has {} channels; at most {} are supported", ImageKindName(kind_),
                       vips_image_get_bands(image_.get()), kMaxSamples);
  }
  const VipsInterpretation interpretation = vips_image_get_interpretation(image_.get());
  VipsImage* converted = nullptr;
  if (interpretation == VIPS_INTERPRETATION_CMYK) {
    if (!vips_image_get_typeof(image_.get(), VIPS_META_ICC_NAME)) return OkStatus();
    // A broken profile is as good as none.
    if (vips_icc_transform(image_.get(), &converted, "srgb", "embedded", TRUE, "depth", 8, nullptr) != 0) {
      return OkStatus();
    }
  } else if (NeedsColourConversion(interpretation)) {
    if (vips_colourspace(image_.get(), &converted, VIPS_INTERPRETATION_sRGB, nullptr) != 0) {
      return errors_.Damaged();
    }
  } else {
    return OkStatus();
  }
  image_.reset(converted);
  return OkStatus();
}

Result<PixelLayout> VipsDecoder::Layout() const {
  const VipsBandFormat format = vips_image_get_format(image_.get());
  if (format != VIPS_FORMAT_UCHAR && format != VIPS_FORMAT_USHORT) {
    return Unsupported("{} pictures with {} samples are not supported; save it with 8 or 16 bits per channel",
                       ImageKindName(kind_), vips_enum_nick(VIPS_TYPE_BAND_FORMAT, format));
  }
  PixelLayout layout;
  layout.samples = vips_image_get_bands(image_.get());
  layout.sixteen_bit = format == VIPS_FORMAT_USHORT;
  if (vips_image_get_interpretation(image_.get()) == VIPS_INTERPRETATION_CMYK && layout.samples >= 4) {
    layout.model = ColourModel::kCmyk;
  } else {
    layout.model = layout.samples < 3 ? ColourModel::kGray : ColourModel::kRgb;
  }
  layout.alpha = layout.samples > layout.colour_samples();
  return layout;
}

Status VipsDecoder::Decode(UprightWriter& writer) {
  SACCADE_RETURN_IF_ERROR(MakeReadable());
  SACCADE_ASSIGN_OR_RETURN(const PixelLayout layout, Layout());
  const RegionPtr region(vips_region_new(image_.get()));
  if (region == nullptr) return errors_.Damaged();
  const int width = vips_image_get_width(image_.get()), height = vips_image_get_height(image_.get());
  for (int top = 0; top < height; top += kStripRows) {
    const VipsRect strip = {0, top, width, std::min(kStripRows, height - top)};
    if (vips_region_prepare(region.get(), &strip) != 0) return errors_.Damaged();
    writer.WriteRows(top, strip.height, VIPS_REGION_ADDR(region.get(), 0, top),
                     VIPS_REGION_LSKIP(region.get()), layout);
  }
  return OkStatus();
}

}  // namespace saccade
