#include "documents/document.h"

#include <algorithm>
#include <csignal>

#include "base/json.h"
#include "base/utf8.h"
#include "documents/child_process.h"
#include "documents/document_wire.h"
#include "documents/page_list.h"
#include "documents/wire.h"

namespace saccade {
namespace {

// Why there are no pages although the child gave no reason.
Status WhyItDied(const ChildRun& run, const DocumentLimits& limits) {
  if (run.timed_out || run.signal == SIGXCPU) {
    return Unsupported("the document takes longer than {} s to draw; send fewer of its pages",
                       run.timed_out ? static_cast<int>(limits.wall.count() / 1000) : limits.cpu_seconds);
  }
  if (run.too_much) {
    return TooLarge("the pages of the document have more than {} bytes as pictures; send fewer, or lower dpi",
                    limits.max_output_bytes);
  }
  if (run.exit_code == kOutOfMemoryExit || run.signal == SIGKILL) {
    return Unsupported("the document needs more than {} MiB of memory to draw", limits.memory_bytes >> 20);
  }
  return InvalidArgument("the document is damaged, or needs more than {} MiB of memory to draw",
                         limits.memory_bytes >> 20);
}

Status ErrorOf(const Json& header) {
  const int code = header.value("code", 0);
  if (code <= static_cast<int>(StatusCode::kOk) || code > static_cast<int>(StatusCode::kInternal)) {
    return Internal("the process for documents said nothing that can be understood");
  }
  Status status(static_cast<StatusCode>(code), ReplaceInvalidUtf8(header.value("message", "")));
  const std::string param = header.value("param", "");
  return param.empty() ? status : std::move(status).WithParam(param);
}

DocumentPage PageOf(const Json& header, std::string_view png) {
  DocumentPage page;
  page.number = header.value("page", 0);
  page.width = header.value("width", 0);
  page.height = header.value("height", 0);
  page.text = ReplaceInvalidUtf8(header.value("text", ""));
  const auto* data = reinterpret_cast<const std::byte*>(png.data());
  page.png.assign(data, data + png.size());
  return page;
}

// A hostile file may have taken the child over, so what it wrote is foreign as well: pictures go through the
// decoder's checks like any upload.
Result<Document> ReadRecords(const ChildRun& run, const DocumentLimits& limits) {
  Document document;
  std::string_view rest = run.output;
  while (true) {
    const auto header_text = TakeRecord(rest);
    const auto body = TakeRecord(rest);
    if (!header_text || !body) return WhyItDied(run, limits);
    const Result<Json> header = ParseJson(*header_text);
    if (!header.ok() || !header->is_object()) return Internal("the process for documents wrote no JSON");
    try {
      if (header->contains("code")) return ErrorOf(*header);
      if (header->contains("end")) return document;
      if (header->contains("total")) {
        document.total_pages = header->value("total", 0);
        document.truncated = header->value("truncated", false);
      } else {
        document.pages.push_back(PageOf(*header, *body));
      }
    } catch (const Json::exception&) {  // a member of another type
      return Internal("the process for documents wrote something else");
    }
  }
}

}  // namespace

std::optional<DocumentKind> SniffDocument(std::span<const std::byte> file) {
  const std::string_view head(reinterpret_cast<const char*>(file.data()),
                              std::min<size_t>(file.size(), 1024));
  if (head.find("%PDF-") != std::string_view::npos) return DocumentKind::kPdf;
  const std::string_view magic = head.substr(0, 4);
  for (const std::string_view tiff : {std::string_view("II*\0", 4), std::string_view("MM\0*", 4),
                                      std::string_view("II+\0", 4), std::string_view("MM\0+", 4)}) {
    if (magic == tiff) return DocumentKind::kTiff;
  }
  return std::nullopt;
}

Result<Document> RenderDocument(std::span<const std::byte> file, const DocumentOptions& options,
                                const DocumentLimits& limits) {
  const std::optional<DocumentKind> kind = SniffDocument(file);
  if (!kind) return InvalidArgument("this is neither a PDF document nor a TIFF");
  if (static_cast<int64_t>(file.size()) > limits.max_file_bytes) {
    return TooLarge("the document has {} bytes, the limit is {}", file.size(), limits.max_file_bytes);
  }
  SACCADE_RETURN_IF_ERROR(CheckPageList(options.pages));
  const ChildRequest request = {*kind, options, limits.memory_bytes, limits.cpu_seconds};
  SACCADE_ASSIGN_OR_RETURN(const ChildRun run,
                           RunSelf({std::string(kChildVerb), ToJson(request).dump()}, file,
                                   {limits.wall, static_cast<size_t>(limits.max_output_bytes)}));
  SACCADE_ASSIGN_OR_RETURN(Document document, ReadRecords(run, limits));
  document.kind = *kind;
  return document;
}

}  // namespace saccade
