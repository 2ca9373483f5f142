// PDF files in a few lines, and the hook that makes a test program its own rendering child. Tests only.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "documents/document.h"

namespace saccade::testing {

// Runs before main and everything of the test library. One per program.
inline const bool kDocumentChildHook = [] {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<char*> arguments;
  for (size_t at = 0; at < text.size(); at = text.find('\0', at) + 1) arguments.push_back(text.data() + at);
  const auto code = RunDocumentChild(static_cast<int>(arguments.size()), arguments.data());
  if (code) _exit(*code);
  return true;
}();

inline std::string PdfStream(const std::string& data, const std::string& more = "") {
  return fmt::format("<< /Length {} {} >>\nstream\n{}\nendstream", data.size(), more, data);
}

// A file of these objects, the first of which is number 1 and the catalog; with a cross reference table.
inline std::string PdfFile(const std::vector<std::string>& objects, const std::string& trailer_more = "") {
  std::string pdf = "%PDF-1.4\n", table;
  for (size_t i = 0; i < objects.size(); ++i) {
    table += fmt::format("{:010} 00000 n \n", pdf.size());
    pdf += fmt::format("{} 0 obj\n{}\nendobj\n", i + 1, objects[i]);
  }
  const size_t start = pdf.size();
  pdf += fmt::format(
      "xref\n0 {}\n0000000000 65535 f \n{}trailer\n<< /Size {} /Root 1 0 R {} >>\nstartxref\n{}\n%%EOF\n",
      objects.size() + 1, table, objects.size() + 1, trailer_more, start);
  return pdf;
}

// Pages with one line of text each, `width` x `height` points.
inline std::string PdfOfLines(const std::vector<std::string>& lines, double width = 200,
                              double height = 100) {
  std::vector<std::string> objects = {"<< /Type /Catalog /Pages 2 0 R >>", "",
                                      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"};
  std::string kids;
  for (const std::string& line : lines) {
    const size_t page = objects.size() + 1;
    kids += fmt::format("{} 0 R ", page);
    objects.push_back(fmt::format(
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents {} 0 R /Resources << /Font << "
        "/F1 3 0 R >> >> >>",
        width, height, page + 1));
    objects.push_back(PdfStream(fmt::format("BT /F1 24 Tf 20 40 Td ({}) Tj ET", line)));
  }
  objects[1] = fmt::format("<< /Type /Pages /Kids [{}] /Count {} >>", kids, lines.size());
  return PdfFile(objects);
}

// A single page with this content stream, which may have a filter.
inline std::string PdfOfContent(const std::string& content, const std::string& stream_more = "",
                                const std::string& box = "0 0 200 100") {
  return PdfFile({"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                  "<< /Type /Page /Parent 2 0 R /MediaBox [" + box + "] /Contents 4 0 R /Resources << >> >>",
                  PdfStream(content, stream_more)});
}

}  // namespace saccade::testing
