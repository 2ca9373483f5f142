#include <poppler-document.h>
#include <poppler-page-renderer.h>
#include <poppler-page.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "documents/render_pages.h"

namespace saccade {
namespace {

constexpr double kPointsPerInch = 72;
// A side of 35 m. The format's own bound is 200 inches; long web pages printed to PDF go somewhat beyond it.
constexpr double kMaxSidePoints = 100'000;
constexpr size_t kMaxTextBytes = size_t{200} << 10;  // per page

Result<double> PageDpi(const poppler::page& page, int number, const DocumentOptions& options) {
  const poppler::rectf box = page.page_rect();
  const double width = box.width(), height = box.height();
  if (!std::isfinite(width) || !std::isfinite(height) || width <= 0 || height <= 0 ||
      width > kMaxSidePoints || height > kMaxSidePoints) {
    return InvalidArgument("page {} is {:.0f} x {:.0f} points large, accepted are up to {:.0f} a side",
                           number, width, height, kMaxSidePoints);
  }
  const double square_inches = width * height / (kPointsPerInch * kPointsPerInch);
  const double largest = std::sqrt(static_cast<double>(options.max_page_pixels) / square_inches);
  return std::min(options.dpi > 0 ? options.dpi : kAutomaticDpi, largest);
}

std::string PageText(const poppler::page& page) {
  const poppler::byte_array utf8 = page.text().to_utf8();
  return {utf8.data(), std::min(utf8.size(), kMaxTextBytes)};
}

Result<DocumentPage> RenderPage(const poppler::document& document, int number,
                                const DocumentOptions& options) {
  const std::unique_ptr<poppler::page> page(document.create_page(number - 1));
  if (!page) return InvalidArgument("page {} of the PDF is damaged", number);
  SACCADE_ASSIGN_OR_RETURN(const double dpi, PageDpi(*page, number, options));
  poppler::page_renderer renderer;
  renderer.set_image_format(poppler::image::format_rgb24);
  renderer.set_render_hint(poppler::page_renderer::antialiasing);
  renderer.set_render_hint(poppler::page_renderer::text_antialiasing);
  const poppler::image image = renderer.render_page(page.get(), dpi, dpi);
  if (!image.is_valid() || image.width() <= 0 || image.height() <= 0) {
    return InvalidArgument("page {} of the PDF cannot be drawn", number);
  }
  // Without memory for the page poppler draws on a single pixel and says nothing.
  const poppler::rectf box = page->page_rect();
  const double inches = std::max(box.width(), box.height()) / kPointsPerInch;
  if (image.width() == 1 && image.height() == 1 && inches * dpi >= 2) {
    return Unsupported("page {} needs more memory to draw than documents may take; lower dpi", number);
  }
  DocumentPage result;
  result.number = number;
  result.width = image.width();
  result.height = image.height();
  SACCADE_ASSIGN_OR_RETURN(
      result.png, EncodePng(image.const_data(), image.width(), image.height(), image.bytes_per_row()));
  if (options.text) result.text = PageText(*page);
  return result;
}

}  // namespace

Status RenderPdf(std::span<const std::byte> file, const DocumentOptions& options, const PageSink& sink) {
  if (file.size() > std::numeric_limits<int>::max()) return TooLarge("the PDF has more than 2 GiB");
  poppler::set_debug_error_function([](const std::string&, void*) {}, nullptr);
  const std::unique_ptr<poppler::document> document(poppler::document::load_from_raw_data(
      reinterpret_cast<const char*>(file.data()), static_cast<int>(file.size())));
  if (!document) return InvalidArgument("the PDF is damaged: it cannot be opened");
  if (document->is_locked()) {
    return InvalidArgument("the PDF is encrypted and needs a password; remove it and send the file again");
  }
  const int total = document->pages();
  if (total < 1) return InvalidArgument("the PDF is damaged: it has no pages");
  bool truncated = false;
  SACCADE_ASSIGN_OR_RETURN(const std::vector<int> pages, ChoosePages(options, total, truncated));
  sink.begin(total, truncated);
  for (const int number : pages) {
    SACCADE_ASSIGN_OR_RETURN(DocumentPage page, RenderPage(*document, number, options));
    sink.page(std::move(page));
  }
  return OkStatus();
}

}  // namespace saccade
