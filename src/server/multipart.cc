#include "server/multipart.h"

#include <algorithm>
#include <cctype>

namespace saccade {
namespace {

// RFC 2046.
constexpr size_t kMaxBoundary = 70;
constexpr size_t kMaxPartHeader = 8 << 10;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// The parameter of a header value: `name="value"` or `name=value`; a name counts after ';' or a space only.
std::string Parameter(std::string_view header, std::string_view name) {
  const std::string lower = Lower(header);
  const std::string wanted = std::string(name) + "=";
  for (size_t at = lower.find(wanted); at != std::string::npos; at = lower.find(wanted, at + 1)) {
    if (at == 0 || (header[at - 1] != ';' && header[at - 1] != ' ')) continue;
    const std::string_view value = header.substr(at + wanted.size());
    if (value.empty() || value.front() != '"') return std::string(value.substr(0, value.find_first_of("; ")));
    std::string unquoted;
    for (size_t i = 1; i < value.size() && value[i] != '"'; ++i) {
      if (value[i] == '\\' && i + 1 < value.size() && (value[i + 1] == '"' || value[i + 1] == '\\')) ++i;
      unquoted += value[i];
    }
    return unquoted;
  }
  return {};
}

Status Malformed(std::string_view what) { return InvalidArgument("the multipart body {}", what); }

// `header` is everything between the boundary's line and the empty line.
Result<FormPart> ReadPart(std::string_view header, std::string_view bytes) {
  FormPart part;
  part.bytes = bytes;
  while (!header.empty()) {
    const size_t end = std::min(header.find("\r\n"), header.size());
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 2, header.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string name = Lower(line.substr(0, colon));
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    if (name == "content-type") part.content_type = Lower(value);
    if (name != "content-disposition") continue;
    part.name = Parameter(value, "name");
    part.filename = Parameter(value, "filename");
  }
  if (part.name.empty()) return Malformed("has a part without a name");
  return part;
}

}  // namespace

bool IsMultipart(std::string_view content_type) {
  return Lower(content_type.substr(0, 19)) == "multipart/form-data";
}

Result<std::vector<FormPart>> ParseMultipart(std::string_view content_type, std::string_view body,
                                             size_t max_parts) {
  const std::string boundary = Parameter(content_type, "boundary");
  if (boundary.empty() || boundary.size() > kMaxBoundary) return Malformed("has no usable boundary");
  const std::string mark = "\r\n--" + boundary;
  // The first boundary may stand at the very beginning.
  size_t at = body.substr(0, mark.size() - 2) == std::string_view(mark).substr(2)
                  ? mark.size() - 2
                  : body.find(mark) + mark.size();
  if (at > body.size() || at < mark.size() - 2) return Malformed("does not contain its boundary");
  std::vector<FormPart> parts;
  while (true) {
    if (body.substr(at, 2) == "--") return parts;
    // White space may follow a boundary on its line.
    while (at < body.size() && (body[at] == ' ' || body[at] == '\t')) ++at;
    if (body.substr(at, 2) != "\r\n") return Malformed("is cut short");
    const size_t header_end = body.substr(at, kMaxPartHeader).find("\r\n\r\n");
    if (header_end == std::string_view::npos) return Malformed("has a part without an end of its header");
    const std::string_view header = header_end == 0 ? "" : body.substr(at + 2, header_end - 2);
    const size_t begin = at + header_end + 4;
    // An empty part's bytes end where they begin: its line break belongs to the boundary.
    const size_t end = body.find(mark, begin - 2);
    if (end == std::string_view::npos) return Malformed("is cut short");
    if (parts.size() == max_parts) return TooLarge("the multipart body has more than {} parts", max_parts);
    const std::string_view bytes = end < begin ? std::string_view() : body.substr(begin, end - begin);
    SACCADE_ASSIGN_OR_RETURN(FormPart part, ReadPart(header, bytes));
    parts.push_back(std::move(part));
    at = end + mark.size();
  }
}

}  // namespace saccade
