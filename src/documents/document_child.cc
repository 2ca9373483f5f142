// The child's side of RenderDocument: gives up its rights, reads the file, writes records.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new>

#include "base/json.h"
#include "documents/child_limits.h"
#include "documents/document.h"
#include "documents/document_wire.h"
#include "documents/render_pages.h"
#include "documents/wire.h"

namespace saccade {
namespace {

bool WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

void WriteRecord(const Json& header, std::string_view body = {}) {
  std::string out;
  AppendRecord(out, header.dump(-1, ' ', false, Json::error_handler_t::replace));
  AppendRecord(out, body);
  if (!WriteAll(out)) _exit(1);  // nobody listens any more
}

Result<std::span<const std::byte>> MapInput() {
  struct stat info = {};
  if (fstat(STDIN_FILENO, &info) != 0 || info.st_size <= 0) return InvalidArgument("the document is empty");
  const auto size = static_cast<size_t>(info.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0);
  if (data == MAP_FAILED) return TooLarge("the document does not fit the memory limit");
  return std::span(static_cast<const std::byte*>(data), size);
}

Status Render(std::string_view request_text) {
  SACCADE_ASSIGN_OR_RETURN(const Json json, ParseJson(request_text));
  const ChildRequest request = ChildRequestFromJson(json);
  SACCADE_RETURN_IF_ERROR(ConfineProcess(request.memory_bytes, request.cpu_seconds));
  SACCADE_ASSIGN_OR_RETURN(const std::span<const std::byte> file, MapInput());
  PageSink sink;
  sink.begin = [](int total, bool truncated) { WriteRecord({{"total", total}, {"truncated", truncated}}); };
  sink.page = [](const DocumentPage& page) {
    WriteRecord({{"page", page.number}, {"width", page.width}, {"height", page.height}, {"text", page.text}},
                {reinterpret_cast<const char*>(page.png.data()), page.png.size()});
  };
  return request.kind == DocumentKind::kPdf ? RenderPdf(file, request.options, sink)
                                            : RenderTiff(file, request.options, sink);
}

}  // namespace

std::optional<int> RunDocumentChild(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != kChildVerb) return std::nullopt;
  Status status;
  try {
    status = Render(argv[2]);
  } catch (const std::bad_alloc&) {
    return kOutOfMemoryExit;
  } catch (const std::exception&) {  // poppler's own; what it says is of no use to anybody
    status = InvalidArgument("the document is damaged");
  }
  if (status.ok()) {
    WriteRecord({{"end", true}});
  } else {
    WriteRecord({{"code", static_cast<int>(status.code())},
                 {"message", status.message()},
                 {"param", status.param()}});
  }
  // Not by way of destructors: libraries of a process with few rights left have nothing to tidy up.
  _exit(0);
}

}  // namespace saccade
