// Documents in a chat request: what a request may say about them, and their pages as pictures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "documents/document.h"
#include "engine/request.h"

namespace saccade {

// The server's side.
struct DocumentSettings {
  int max_pages = 100;    // of one document; more are refused
  bool truncate = false;  // or left out
  DocumentLimits limits;
};

// The member "documents" of a request. A part's own "pages" and "dpi" come before these.
struct DocumentRequest {
  std::string pages;
  double dpi = 0;
  bool text = false;
  std::optional<int> max_pages;
  std::optional<bool> truncate;
  std::optional<PageByPage> page_by_page;
};

// Errors name the member, e.g. "documents.pages".
Result<DocumentRequest> ReadDocumentRequest(const OrderedJson& object);
OrderedJson DocumentRequestSchema();

// Whether these bytes are a document: a PDF, or a TIFF with more than one page. Everything else is for the
// picture decoders to judge.
bool IsDocument(std::span<const std::byte> file);

// What stands after a page's picture for its text layer.
std::string PageTextPart(std::string_view text);

// One page as it goes into the prompt.
struct RequestPage {
  PictureInput picture;
  std::string heading;  // before the picture, when a document has several pages
};

// Draws the pages that `part` and `request` choose. `max_pixels` is what the model will shrink a page to.
Result<std::vector<RequestPage>> TakeDocument(const ContentPart& part, std::span<const std::byte> file,
                                              const DocumentRequest& request,
                                              const DocumentSettings& settings, int64_t max_pixels);

}  // namespace saccade
