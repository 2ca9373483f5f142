#include "cli/ask_files.h"

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>

#include "base/file.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxFileBytes = int64_t{256} << 20;

bool HasKnownEnding(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  constexpr std::string_view kKnown[] = {".png", ".jpg",  ".jpeg", ".webp", ".gif", ".bmp",
                                         ".tif", ".tiff", ".heic", ".avif", ".pdf"};
  return std::find(std::begin(kKnown), std::end(kKnown), ending) != std::end(kKnown);
}

Status AddFolder(const std::string& folder, AskFiles& files) {
  std::error_code error;
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error) && HasKnownEnding(entry.path())) found.push_back(entry.path().string());
  }
  if (error) return InvalidArgument("{}: {}", folder, error.message());
  if (found.empty()) return NotFound("{}: no pictures and no PDF files in this folder", folder);
  std::sort(found.begin(), found.end());
  files.names.insert(files.names.end(), found.begin(), found.end());
  return OkStatus();
}

Status AddPattern(const std::string& pattern, AskFiles& files) {
  glob_t matches = {};
  const int result = glob(pattern.c_str(), 0, nullptr, &matches);
  for (size_t i = 0; result == 0 && i < matches.gl_pathc; ++i) files.names.emplace_back(matches.gl_pathv[i]);
  globfree(&matches);
  return result == 0 ? OkStatus() : NotFound("{}: no file matches", pattern);
}

Result<std::string> ReadInput(const std::string& name) {
  if (name != "-") return ReadFile(name, kMaxFileBytes);
  std::string bytes{std::istreambuf_iterator<char>(std::cin), {}};
  if (bytes.empty()) return InvalidArgument("no picture came on standard input");
  return bytes;
}

void AddPicture(PictureInput picture, ChatInput& input, Message& message) {
  input.pictures.push_back(std::move(picture));
  message.parts.emplace_back().kind = ContentPart::Kind::kImage;
}

}  // namespace

Result<AskFiles> ExpandArguments(const std::vector<std::string>& arguments) {
  AskFiles files;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (argument == "-" || fs::is_regular_file(argument, error)) {
      files.names.push_back(argument);
    } else if (fs::is_directory(argument, error)) {
      files.many = true;
      SACCADE_RETURN_IF_ERROR(AddFolder(argument, files));
    } else if (argument.find_first_of("*?[") != std::string::npos) {
      files.many = true;
      SACCADE_RETURN_IF_ERROR(AddPattern(argument, files));
    } else {
      files.names.push_back(argument);  // reading it says what is wrong
    }
  }
  return files;
}

Status AddFile(const std::string& name, const AskFileOptions& options, ChatInput& input, Message& message) {
  SACCADE_ASSIGN_OR_RETURN(const std::string bytes, ReadInput(name));
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  auto file = std::make_shared<const std::vector<std::byte>>(data, data + bytes.size());
  message.content_is_string = false;
  if (!IsDocument(*file)) {
    PictureInput picture;
    picture.bytes = std::move(file);
    picture.limits = options.limits;
    AddPicture(std::move(picture), input, message);
    return OkStatus();
  }
  ContentPart part;
  part.filename = fs::path(name).filename().string();
  const int64_t max_pixels = options.limits ? options.limits->max_pixels : options.max_pixels;
  auto pages = TakeDocument(part, *file, options.documents, options.settings, max_pixels);
  if (!pages.ok()) return std::move(pages).status().WithContext(name);
  const bool together = !options.documents.page_by_page;
  for (RequestPage& page : *pages) {
    page.picture.limits = options.limits;
    const std::string text = page.picture.page_text;
    if (together && !page.heading.empty()) message.parts.emplace_back().text = page.heading;
    AddPicture(std::move(page.picture), input, message);
    if (together && !text.empty()) message.parts.emplace_back().text = PageTextPart(text);
  }
  // One page is a picture like any other.
  if (options.documents.page_by_page && pages->size() > 1)
    input.page_by_page = options.documents.page_by_page;
  return OkStatus();
}

}  // namespace saccade
