// What parent and child tell each other.
#pragma once

#include <string_view>

#include "base/json.h"
#include "documents/document.h"

namespace saccade {

inline constexpr std::string_view kChildVerb = "render-document";
inline constexpr int kOutOfMemoryExit = 77;

// The one argument of the child.
struct ChildRequest {
  DocumentKind kind = DocumentKind::kPdf;
  DocumentOptions options;
  int64_t memory_bytes = 0;
  int cpu_seconds = 0;
};

inline Json ToJson(const ChildRequest& request) {
  return {{"tiff", request.kind == DocumentKind::kTiff},
          {"pages", request.options.pages},
          {"max_pages", request.options.max_pages},
          {"truncate", request.options.truncate},
          {"dpi", request.options.dpi},
          {"max_page_pixels", request.options.max_page_pixels},
          {"text", request.options.text},
          {"memory_bytes", request.memory_bytes},
          {"cpu_seconds", request.cpu_seconds}};
}

// `json` is what ToJson made: it comes from this very program.
inline ChildRequest ChildRequestFromJson(const Json& json) {
  ChildRequest request;
  request.kind = json.value("tiff", false) ? DocumentKind::kTiff : DocumentKind::kPdf;
  request.options.pages = json.value("pages", "");
  request.options.max_pages = json.value("max_pages", 1);
  request.options.truncate = json.value("truncate", false);
  request.options.dpi = json.value("dpi", 0.0);
  request.options.max_page_pixels = json.value("max_page_pixels", int64_t{1} << 20);
  request.options.text = json.value("text", false);
  request.memory_bytes = json.value("memory_bytes", int64_t{1} << 30);
  request.cpu_seconds = json.value("cpu_seconds", 10);
  return request;
}

}  // namespace saccade
