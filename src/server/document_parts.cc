#include "server/document_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "server/schema.h"

namespace saccade {
namespace {

// Pages are drawn with more pixels than the model sees: shrinking them afterwards gives the model's own
// resize, and clean letters.
constexpr int64_t kPixelsPerModelPixel = 4;
constexpr int64_t kMaxPagePixels = int64_t{16} << 20;
constexpr int64_t kMinPagePixels = int64_t{64} << 10;
constexpr size_t kMaxName = 100;

PageByPage& Pages(DocumentRequest& out) {
  if (!out.page_by_page) out.page_by_page.emplace();
  return *out.page_by_page;
}

using DocumentField = Field<DocumentRequest>;
constexpr DocumentField kFields[] = {
    {{.name = "pages",
      .type = FieldType::kString,
      .help = "pages to read, as in \"1-3,8\" or \"5-\"; default all"},
     [](DocumentRequest& out, const OrderedJson& value) { out.pages = value.get<std::string>(); }},
    {{.name = "dpi",
      .type = FieldType::kNumber,
      .help = "resolution to draw PDF pages at; default automatic",
      .min = 1,
      .max = 1200},
     [](DocumentRequest& out, const OrderedJson& value) { out.dpi = value.get<double>(); }},
    {{.name = "text", .type = FieldType::kBool, .help = "also give the model the text layer of PDF pages"},
     [](DocumentRequest& out, const OrderedJson& value) { out.text = value.get<bool>(); }},
    {{.name = "max_pages",
      .type = FieldType::kInt,
      .help = "pages of one document; not more than the server allows",
      .min = 1,
      .max = 1'000'000},
     [](DocumentRequest& out, const OrderedJson& value) { out.max_pages = value.get<int>(); }},
    {{.name = "too_many",
      .type = FieldType::kString,
      .help = "what happens to a document with more pages",
      .choices = "refuse|truncate"},
     [](DocumentRequest& out, const OrderedJson& value) { out.truncate = value == "truncate"; }},
    {{.name = "mode",
      .type = FieldType::kString,
      .help = "\"together\": all pages in one prompt; \"page_by_page\": the question is asked about each "
              "page, then "
              "the answers are combined and cite their pages",
      .choices = "together|page_by_page"},
     [](DocumentRequest& out, const OrderedJson& value) {
       if (value == "page_by_page") Pages(out);
     }},
    {{.name = "combine",
      .type = FieldType::kString,
      .help = "of page_by_page: \"answer\" lets the model combine what the pages say, \"list\" gives their "
              "answers",
      .choices = "answer|list"},
     [](DocumentRequest& out, const OrderedJson& value) {
       if (out.page_by_page) out.page_by_page->list = value == "list";
     }},
    {{.name = "page_prompt",
      .type = FieldType::kString,
      .help = "of page_by_page: said after the question about each page; the default asks for the words NOT "
              "ON THIS "
              "PAGE when a page does not answer it"},
     [](DocumentRequest& out, const OrderedJson& value) {
       if (out.page_by_page) out.page_by_page->page_prompt = value.get<std::string>();
     }},
    {{.name = "min_confidence",
      .type = FieldType::kNumber,
      .help = "of page_by_page: answers of pages whose tokens have a lower mean probability do not count",
      .min = 0,
      .max = 1},
     [](DocumentRequest& out, const OrderedJson& value) {
       if (out.page_by_page) out.page_by_page->min_confidence = value.get<double>();
     }},
};

// Headings and citations are one line of text.
std::string DisplayName(const std::string& filename) {
  std::string name = filename.substr(0, kMaxName);
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '[' || c == ']'; }, ' ');
  return name;
}

DocumentOptions OptionsOf(const ContentPart& part, const DocumentRequest& request,
                          const DocumentSettings& settings, int64_t max_pixels) {
  DocumentOptions options;
  options.pages = part.pages.empty() ? request.pages : part.pages;
  options.dpi = part.dpi.value_or(request.dpi);
  options.text = request.text;
  options.max_pages = std::min(request.max_pages.value_or(settings.max_pages), settings.max_pages);
  options.truncate = request.truncate.value_or(settings.truncate);
  options.max_page_pixels =
      std::clamp(std::min(max_pixels, kMaxPagePixels) * kPixelsPerModelPixel, kMinPagePixels, kMaxPagePixels);
  return options;
}

}  // namespace

Result<DocumentRequest> ReadDocumentRequest(const OrderedJson& object) {
  DocumentRequest request;
  Status status = ReadFields<DocumentRequest>(object, kFields, request);
  if (!status.ok()) return std::move(status).WithParam("documents");
  return request;
}

OrderedJson DocumentRequestSchema() { return ObjectSchema<DocumentRequest>(kFields); }

bool IsDocument(std::span<const std::byte> file) {
  const Result<ImageKind> image = SniffImage(file);
  if (!image.ok()) return SniffDocument(file).has_value();
  if (*image != ImageKind::kTiff) return false;
  const Result<ImageInfo> info = ProbeImage(file);
  return info.ok() && info->frames > 1;
}

std::string PageTextPart(std::string_view text) { return fmt::format("\nText of this page:\n{}\n", text); }

Result<std::vector<RequestPage>> TakeDocument(const ContentPart& part, std::span<const std::byte> file,
                                              const DocumentRequest& request,
                                              const DocumentSettings& settings, int64_t max_pixels) {
  SACCADE_ASSIGN_OR_RETURN(
      Document document,
      RenderDocument(file, OptionsOf(part, request, settings, max_pixels), settings.limits));
  const std::string name = DisplayName(part.filename);
  std::vector<RequestPage> pages;
  for (DocumentPage& drawn : document.pages) {
    RequestPage page;
    page.picture.bytes = std::make_shared<const std::vector<std::byte>>(std::move(drawn.png));
    page.picture.page = drawn.number;
    page.picture.document = name;
    page.picture.page_text = std::move(drawn.text);
    if (document.total_pages > 1) {
      page.heading = name.empty() ? fmt::format("Page {}:\n", drawn.number)
                                  : fmt::format("{}, page {}:\n", name, drawn.number);
    }
    pages.push_back(std::move(page));
  }
  return pages;
}

}  // namespace saccade
