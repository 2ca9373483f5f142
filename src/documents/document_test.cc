#include "documents/document.h"

#include <gmock/gmock.h>
#include <png.h>

#include <random>

#include "base/file.h"
#include "base/status_testing.h"
#include "documents/document_testing.h"

namespace saccade {
namespace {

using ::testing::HasSubstr;
using testing::PdfFile;
using testing::PdfOfContent;
using testing::PdfOfLines;
using testing::PdfStream;

std::span<const std::byte> Bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

Result<Document> Render(const std::string& file, const DocumentOptions& options = {}) {
  DocumentLimits limits;
  limits.memory_bytes = int64_t{512} << 20;
  limits.cpu_seconds = 8;
  limits.wall = std::chrono::seconds(60);
  return RenderDocument(Bytes(file), options, limits);
}

std::vector<std::string> Numbered(int count) {
  std::vector<std::string> lines;
  for (int i = 1; i <= count; ++i) lines.push_back(fmt::format("line {}", i));
  return lines;
}

DocumentOptions Resolution(double dpi, int64_t max_page_pixels) {
  DocumentOptions options;
  options.dpi = dpi;
  options.max_page_pixels = max_page_pixels;
  return options;
}

// RGB pixels of a page.
std::vector<uint8_t> Pixels(const DocumentPage& page) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, page.png.data(), page.png.size()), 0) << image.message;
  EXPECT_EQ(static_cast<int>(image.width), page.width);
  EXPECT_EQ(static_cast<int>(image.height), page.height);
  image.format = PNG_FORMAT_RGB;
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0);
  return pixels;
}

TEST(Document, PagesArePicturesAtTheAskedResolution) {
  DocumentOptions options;
  options.dpi = 144;
  SACCADE_ASSERT_OK_AND_ASSIGN(const Document document,
                               Render(PdfOfContent("1 0 0 rg 0 0 100 100 re f"), options));
  ASSERT_EQ(document.pages.size(), 1u);
  EXPECT_EQ(document.total_pages, 1);
  EXPECT_EQ(document.pages[0].width, 400);
  EXPECT_EQ(document.pages[0].height, 200);
  const std::vector<uint8_t> pixels = Pixels(document.pages[0]);
  // The left half is red, the right half paper.
  const size_t left = (100 * 400 + 50) * 3, right = (100 * 400 + 350) * 3;
  EXPECT_EQ(std::vector<uint8_t>(pixels.begin() + left, pixels.begin() + left + 3),
            (std::vector<uint8_t>{255, 0, 0}));
  EXPECT_EQ(std::vector<uint8_t>(pixels.begin() + right, pixels.begin() + right + 3),
            (std::vector<uint8_t>{255, 255, 255}));
}

TEST(Document, ChosenPagesWithTheirText) {
  DocumentOptions options;
  options.pages = "3,1";
  options.text = true;
  SACCADE_ASSERT_OK_AND_ASSIGN(const Document document, Render(PdfOfLines(Numbered(4)), options));
  ASSERT_EQ(document.pages.size(), 2u);
  EXPECT_EQ(document.total_pages, 4);
  EXPECT_EQ(document.pages[0].number, 3);
  EXPECT_THAT(document.pages[0].text, HasSubstr("line 3"));
  EXPECT_EQ(document.pages[1].number, 1);
  EXPECT_THAT(document.pages[1].text, HasSubstr("line 1"));
  options.text = false;
  SACCADE_ASSERT_OK_AND_ASSIGN(const Document silent, Render(PdfOfLines(Numbered(4)), options));
  EXPECT_EQ(silent.pages[0].text, "");
}

TEST(Document, TooManyPagesAreRefusedOrLeftOut) {
  const std::string file = PdfOfLines(Numbered(500), 50, 50);
  DocumentOptions options;
  options.max_pages = 3;
  const auto refused = Render(file, options);
  EXPECT_EQ(refused.status().code(), StatusCode::kTooLarge);
  EXPECT_THAT(refused.status().message(), HasSubstr("500 pages are asked for, the limit is 3"));
  options.truncate = true;
  SACCADE_ASSERT_OK_AND_ASSIGN(const Document document, Render(file, options));
  EXPECT_EQ(document.pages.size(), 3u);
  EXPECT_TRUE(document.truncated);
  EXPECT_EQ(document.total_pages, 500);
}

TEST(Document, LargePagesAreDrawnSmaller) {
  DocumentOptions options;
  options.dpi = 600;
  options.max_page_pixels = 40'000;
  SACCADE_ASSERT_OK_AND_ASSIGN(const Document document, Render(PdfOfLines({"x"}, 2000, 1000), options));
  const DocumentPage& page = document.pages[0];
  EXPECT_LE(page.width * page.height, 42'000);
  EXPECT_NEAR(page.width / static_cast<double>(page.height), 2, 0.05);
}

TEST(Document, TiffPages) {
  const auto file = ReadFile(SACCADE_TEST_DATA "/golden/images/tiff_lzw.tiff", 1 << 22);
  SACCADE_ASSERT_OK(file);
  SACCADE_ASSERT_OK_AND_ASSIGN(const Document document, Render(*file));
  ASSERT_EQ(document.pages.size(), 1u);
  EXPECT_EQ(document.kind, DocumentKind::kTiff);
  EXPECT_EQ(Pixels(document.pages[0]).size(), size_t{3} * document.pages[0].width * document.pages[0].height);
  const auto cut = Render(file->substr(0, file->size() / 2));
  EXPECT_EQ(cut.status().code(), StatusCode::kInvalidArgument) << cut.status().ToString();
}

TEST(Document, BrokenFilesAreRefused) {
  const std::string good = PdfOfLines({"hello"});
  for (const std::string& file :
       {std::string("%PDF-1.4\n"), good.substr(0, 40), std::string("%PDF-1.7\n%%EOF"),
        PdfFile({"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 0 >>"})}) {
    const auto document = Render(file);
    ASSERT_FALSE(document.ok());
    EXPECT_EQ(document.status().code(), StatusCode::kInvalidArgument) << document.status().ToString();
    EXPECT_THAT(document.status().message(), HasSubstr("damaged"));
  }
  EXPECT_EQ(Render("hello").status().code(), StatusCode::kInvalidArgument);
}

TEST(Document, EncryptedFilesSayThatAPasswordIsNeeded) {
  const std::string key(32, 'x');
  const std::string file =
      PdfFile({"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 0 >>",
               "<< /Filter /Standard /V 1 /R 2 /P -4 /O (" + key + ") /U (" + key + ") >>"},
              "/Encrypt 3 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]");
  EXPECT_THAT(Render(file).status().message(), HasSubstr("password"));
}

TEST(Document, ABombIsAnErrorAndNothingElse) {
  // A page of 300 000 km; a page tree that is its own child; brackets without end; a form that draws itself.
  EXPECT_THAT(Render(PdfOfContent("", "", "0 0 1000000000000 1000000000000")).status().message(),
              HasSubstr("points large"));
  EXPECT_FALSE(
      Render(PdfFile({"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R] /Count 9 >>"}))
          .ok());
  EXPECT_FALSE(Render("%PDF-1.4\n1 0 obj\n" + std::string(2'000'000, '[')).ok());
  const auto loop = Render(PdfFile(
      {"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
       "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /XObject << /A 5 0 R "
       ">> >> >>",
       PdfStream("/A Do /A Do"),
       PdfStream("/A Do /A Do /A Do",
                 "/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /A 5 0 R >> >>")}));
  EXPECT_TRUE(loop.ok() || loop.status().code() != StatusCode::kInternal) << loop.status().ToString();
  // And the next one is drawn as if nothing had been.
  SACCADE_EXPECT_OK(Render(PdfOfLines({"fine"})));
}

TEST(Document, TimeAndMemoryAreLimited) {
  DocumentLimits limits;
  limits.cpu_seconds = 1;
  limits.wall = std::chrono::seconds(60);
  std::string endless;
  for (int i = 0; i < 400'000; ++i) endless += "0 0 m 200 100 l 190 3 l 7 90 l 5 5 200 90 8 8 c b* ";
  const auto slow = RenderDocument(Bytes(PdfOfContent(endless)), Resolution(2000, 30'000'000), limits);
  EXPECT_EQ(slow.status().code(), StatusCode::kUnsupported) << slow.status().ToString();
  EXPECT_THAT(slow.status().message(), HasSubstr("longer than"));
#ifndef SACCADE_SANITIZED
  limits.cpu_seconds = 20;
  limits.memory_bytes = int64_t{160} << 20;
  const auto large =
      RenderDocument(Bytes(PdfOfLines({"x"}, 5000, 5000)), Resolution(200, int64_t{1} << 28), limits);
  EXPECT_THAT(large.status().message(), HasSubstr("memory")) << large.status().ToString();
#endif
}

// Any change to a good file is an answer within the limits: pages or a message, never a hang and never a
// fault of the server.
TEST(Document, DamagedFilesNeverBringDownTheCaller) {
  const std::string good = PdfOfLines({"a", "b"});
  std::mt19937 random(20261207);
  for (int round = 0; round < 60; ++round) {
    std::string file = good;
    for (int change = 0; change <= round % 8; ++change) {
      const size_t at = random() % file.size();
      switch (random() % 4) {
        case 0:
          file[at] = static_cast<char>(random());
          break;
        case 1:
          file.erase(at, random() % 60);
          break;
        case 2:
          file.insert(at, std::string(random() % 40, "0(<[/%"[random() % 6]));
          break;
        default:
          file.insert(at, file.substr(random() % file.size(), 80));
      }
      if (file.empty()) file = good;
    }
    if (!SniffDocument(Bytes(file))) continue;
    const auto document = Render(file);
    if (document.ok()) {
      for (const DocumentPage& page : document->pages) EXPECT_GT(Pixels(page).size(), 0u);
    } else {
      EXPECT_NE(document.status().code(), StatusCode::kInternal) << document.status().ToString();
      EXPECT_FALSE(document.status().message().empty());
    }
  }
}

}  // namespace
}  // namespace saccade
