// Pages of one document to pictures. Used in the child process only: the libraries may exit, hang or take all
// they get.
#pragma once

#include <functional>
#include <span>

#include "base/status.h"
#include "documents/document.h"
#include "documents/png.h"  // IWYU pragma: export

namespace saccade {

// What a renderer reports, in this order: once how many pages there are, then each page.
struct PageSink {
  std::function<void(int total, bool truncated)> begin;
  std::function<void(DocumentPage page)> page;
};

Status RenderPdf(std::span<const std::byte> file, const DocumentOptions& options, const PageSink& sink);
Status RenderTiff(std::span<const std::byte> file, const DocumentOptions& options, const PageSink& sink);

// The pages to render of `total`, after options.pages, max_pages and truncate.
Result<std::vector<int>> ChoosePages(const DocumentOptions& options, int total, bool& truncated);

}  // namespace saccade
