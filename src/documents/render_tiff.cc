#include <vips/vips.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "documents/render_pages.h"

namespace saccade {
namespace {

struct Unref {
  void operator()(VipsImage* image) const { g_object_unref(image); }
};
using Image = std::unique_ptr<VipsImage, Unref>;

Status Damaged(int number) {
  return InvalidArgument("page {} of the TIFF is damaged or of a kind not known", number);
}

// One step of libvips: takes the image, leaves what `operation` made of it.
template <class Operation>
bool Step(Image& image, Operation operation) {
  VipsImage* out = nullptr;
  if (operation(image.get(), &out) != 0) return false;
  image.reset(out);
  return true;
}

// Upright 8-bit RGB over white, at most max_page_pixels.
bool Normalise(Image& image, int64_t max_page_pixels) {
  if (!Step(image, [](VipsImage* in, VipsImage** out) { return vips_autorot(in, out, nullptr); }))
    return false;
  if (!Step(image, [](VipsImage* in, VipsImage** out) {
        return vips_colourspace(in, out, VIPS_INTERPRETATION_sRGB, nullptr);
      })) {
    return false;
  }
  const double pixels = static_cast<double>(image->Xsize) * image->Ysize;
  if (pixels > static_cast<double>(max_page_pixels)) {
    const double scale = std::sqrt(static_cast<double>(max_page_pixels) / pixels);
    if (!Step(image, [&](VipsImage* in, VipsImage** out) { return vips_resize(in, out, scale, nullptr); }))
      return false;
  }
  if (vips_image_hasalpha(image.get()) != 0) {
    const std::unique_ptr<VipsArrayDouble, void (*)(VipsArrayDouble*)> white(
        vips_array_double_newv(1, 255.0), [](VipsArrayDouble* area) { vips_area_unref(VIPS_AREA(area)); });
    if (!Step(image, [&](VipsImage* in, VipsImage** out) {
          return vips_flatten(in, out, "background", white.get(), nullptr);
        })) {
      return false;
    }
  }
  return Step(image,
              [](VipsImage* in, VipsImage** out) { return vips_cast(in, out, VIPS_FORMAT_UCHAR, nullptr); });
}

Result<DocumentPage> RenderPage(std::span<const std::byte> file, int number, const DocumentOptions& options) {
  VipsImage* loaded = nullptr;
  if (vips_tiffload_buffer(const_cast<std::byte*>(file.data()), file.size(), &loaded, "page", number - 1,
                           nullptr) != 0) {
    return Damaged(number);
  }
  Image image(loaded);
  constexpr int64_t kMaxStoredPixels = 100'000'000;
  const int64_t stored = int64_t{image->Xsize} * image->Ysize;
  if (stored > kMaxStoredPixels) {
    return InvalidArgument("page {} of the TIFF has {} pixels, the limit is {}", number, stored,
                           kMaxStoredPixels);
  }
  if (!Normalise(image, options.max_page_pixels) || image->Bands != 3) return Damaged(number);
  size_t size = 0;
  const std::unique_ptr<void, void (*)(void*)> pixels(vips_image_write_to_memory(image.get(), &size), g_free);
  if (!pixels) return Damaged(number);
  DocumentPage page;
  page.number = number;
  page.width = image->Xsize;
  page.height = image->Ysize;
  SACCADE_ASSIGN_OR_RETURN(page.png, EncodePng(pixels.get(), page.width, page.height, 0));
  return page;
}

}  // namespace

Status RenderTiff(std::span<const std::byte> file, const DocumentOptions& options, const PageSink& sink) {
  // Its compiler of loops wants files of its own, which this process may not write.
  setenv("VIPS_NOVECTOR", "1", 1);
  if (VIPS_INIT("saccade") != 0) return Unavailable("libvips could not be started");
  vips_block_untrusted_set(TRUE);
  vips_cache_set_max(0);
  vips_concurrency_set(1);
  VipsImage* loaded = nullptr;
  if (vips_tiffload_buffer(const_cast<std::byte*>(file.data()), file.size(), &loaded, nullptr) != 0) {
    return InvalidArgument("the TIFF is damaged: it cannot be opened");
  }
  const Image first(loaded);
  bool truncated = false;
  const int total = vips_image_get_n_pages(first.get());
  SACCADE_ASSIGN_OR_RETURN(const std::vector<int> pages, ChoosePages(options, total, truncated));
  sink.begin(total, truncated);
  for (const int number : pages) {
    SACCADE_ASSIGN_OR_RETURN(DocumentPage page, RenderPage(file, number, options));
    sink.page(std::move(page));
  }
  return OkStatus();
}

}  // namespace saccade
