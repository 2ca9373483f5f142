// Facade of the documents layer: PDF files and multi-page TIFFs to pictures of their pages. Foreign files are
// opened in a child process with limits of its own, so that the worst of them costs an error message.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace saccade {

enum class DocumentKind : uint8_t { kPdf, kTiff };

// What `file` is by its first bytes: a PDF header within the first KiB, or TIFF magic.
std::optional<DocumentKind> SniffDocument(std::span<const std::byte> file);

struct DocumentOptions {
  std::string pages;   // "1-3,8,20-": 1-based, in this order; empty: all
  int max_pages = 64;  // more are refused, or with `truncate` left out
  bool truncate = false;
  double dpi = 0;  // of PDF pages; 0: kAutomaticDpi, less for pages over max_page_pixels
  int64_t max_page_pixels = int64_t{4} << 20;
  bool text = false;  // extract the text layer of PDF pages
};

// Resolution at which 8-point print is still legible for the published models.
inline constexpr double kAutomaticDpi = 110;

// What the child process may take. Reaching one ends it.
struct DocumentLimits {
  int64_t max_file_bytes = int64_t{128} << 20;
  int64_t memory_bytes = int64_t{1} << 30;  // of address space
  int cpu_seconds = 60;
  std::chrono::milliseconds wall{90'000};
  int64_t max_output_bytes = int64_t{256} << 20;  // pages as PNG and text together
};

struct DocumentPage {
  int number = 0;  // 1-based
  int width = 0, height = 0;
  std::vector<std::byte> png;
  std::string text;  // valid UTF-8; empty unless asked for and there
};

struct Document {
  DocumentKind kind = DocumentKind::kPdf;
  int total_pages = 0;     // of the file
  bool truncated = false;  // pages that were asked for were left out
  std::vector<DocumentPage> pages;
};

// Blocks until the pages are there. kInvalidArgument for what is broken or encrypted and for pages that do
// not exist (param "pages"), kTooLarge for too many pages, kUnsupported for what needs more than `limits`.
// Thread-safe; each call has a child process of its own.
Result<Document> RenderDocument(std::span<const std::byte> file, const DocumentOptions& options,
                                const DocumentLimits& limits = {});

// The child's side. RenderDocument runs this very program (/proc/self/exe) with special arguments; every
// program that calls it must hand its arguments over first and, when it gets an exit code, end with it.
std::optional<int> RunDocumentChild(int argc, char** argv);

}  // namespace saccade
