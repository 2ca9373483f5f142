#include "image/sniff.h"

#include <algorithm>
#include <array>
#include <optional>

namespace saccade {
namespace {

using namespace std::string_view_literals;

// How far into a file markup is looked for behind comments, a byte order mark and an XML declaration.
constexpr size_t kTextWindowBytes = 1024;

struct Magic {
  size_t offset;
  std::string_view bytes;
  std::string_view description;
};

constexpr std::array kForeignMagics = {
    Magic{0, "%PDF-"sv, "a PDF document"},
    Magic{0, "PK\x03\x04"sv, "a ZIP archive or an office document"},
    Magic{0, "\x1f\x8b"sv, "gzip data"},
    Magic{0, "\xff\x0a"sv, "a JPEG XL picture"},
    Magic{0, "\x00\x00\x00\x0cJXL "sv, "a JPEG XL picture"},
    Magic{0, "\x00\x00\x00\x0cjP  "sv, "a JPEG 2000 picture"},
    Magic{0, "\xff\x4f\xff\x51"sv, "a JPEG 2000 picture"},
    Magic{0, "\x00\x00\x01\x00"sv, "a Windows icon"},
    Magic{0, "8BPS"sv, "a Photoshop document"},
    Magic{0, "\x76\x2f\x31\x01"sv, "an OpenEXR picture"},
    Magic{4, "ftyp"sv, "a video or another ISO media file"},
    Magic{0, "\x1a\x45\xdf\xa3"sv, "a Matroska or WebM video"},
    Magic{0, "RIFF"sv, "an AVI video or a WAVE sound"},
    Magic{0, "P1\n"sv, "a Netpbm picture"},
    Magic{0, "P4\n"sv, "a Netpbm picture"},
    Magic{0, "P5\n"sv, "a Netpbm picture"},
    Magic{0, "P6\n"sv, "a Netpbm picture"},
    Magic{0,
          "\x7f"
          "ELF"sv,
          "a program"},
    Magic{0, "data:image/"sv, "the text of a data URL that was not decoded"},
};

std::string_view AsText(std::span<const std::byte> file, size_t bytes) {
  return {reinterpret_cast<const char*>(file.data()), std::min(file.size(), bytes)};
}

bool HasAt(std::string_view text, size_t offset, std::string_view wanted) {
  return text.size() >= offset && text.substr(offset).starts_with(wanted);
}

// Printable ASCII, white space and bytes of multi-byte characters. A character cut by the window is fine.
bool LooksLikeText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 ? byte != 0x7f && byte < 0xf8 : byte == '\t' || byte == '\n' || byte == '\r';
  });
}

std::string Lowercase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view DescribeText(std::string_view text) {
  const std::string lower = Lowercase(text);
  const bool markup = lower.find('<') != std::string::npos;
  if (markup && lower.find("<svg") != std::string::npos) return "an SVG drawing";
  if (markup &&
      (lower.find("<!doctype html") != std::string::npos || lower.find("<html") != std::string::npos)) {
    return "an HTML page";
  }
  if (lower.find("<?xml") != std::string::npos) return "an XML document";
  return "text";
}

bool IsHevcBrand(std::string_view brand) {
  constexpr std::array kBrands = {"heic"sv, "heix"sv, "heim"sv, "heis"sv,
                                  "hevc"sv, "hevx"sv, "hevm"sv, "hevs"sv};
  return std::find(kBrands.begin(), kBrands.end(), brand) != kBrands.end();
}

bool IsAv1Brand(std::string_view brand) { return brand == "avif" || brand == "avis"; }

// ISO media files: the major brand decides; "mif1" and "msf1" only say "some picture", so the compatible
// brands that follow (after four bytes of version) decide for them.
std::optional<ImageKind> SniffIsoMedia(std::string_view text) {
  if (!HasAt(text, 4, "ftyp") || text.size() < 12) return std::nullopt;
  const std::string_view major = text.substr(8, 4);
  if (IsAv1Brand(major)) return ImageKind::kAvif;
  if (IsHevcBrand(major)) return ImageKind::kHeic;
  if (major != "mif1" && major != "msf1") return std::nullopt;
  const size_t box = (static_cast<unsigned char>(text[2]) << 8) + static_cast<unsigned char>(text[3]);
  const size_t end = std::min(text.size(), box);
  for (size_t at = 16; at + 4 <= end; at += 4) {
    if (IsAv1Brand(text.substr(at, 4))) return ImageKind::kAvif;
  }
  return ImageKind::kHeic;
}

std::optional<ImageKind> SniffAccepted(std::string_view text) {
  if (text.starts_with("\xff\xd8\xff"sv)) return ImageKind::kJpeg;
  if (text.starts_with("\x89PNG\r\n\x1a\n"sv)) return ImageKind::kPng;
  if (text.starts_with("RIFF") && HasAt(text, 8, "WEBP")) return ImageKind::kWebp;
  if (text.starts_with("GIF87a") || text.starts_with("GIF89a")) return ImageKind::kGif;
  if (text.starts_with("BM")) return ImageKind::kBmp;
  // Classic TIFF and BigTIFF in either byte order.
  for (std::string_view magic : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (text.starts_with(magic)) return ImageKind::kTiff;
  }
  return SniffIsoMedia(text);
}

}  // namespace

std::string_view ImageKindName(ImageKind kind) {
  switch (kind) {
    case ImageKind::kJpeg:
      return "JPEG";
    case ImageKind::kPng:
      return "PNG";
    case ImageKind::kWebp:
      return "WebP";
    case ImageKind::kGif:
      return "GIF";
    case ImageKind::kTiff:
      return "TIFF";
    case ImageKind::kBmp:
      return "BMP";
    case ImageKind::kHeic:
      return "HEIC";
    case ImageKind::kAvif:
      return "AVIF";
  }
  return "unknown";
}

std::string AcceptedKinds() { return "JPEG, PNG, WebP, GIF, TIFF, BMP, HEIC and AVIF"; }

Result<ImageKind> SniffImage(std::span<const std::byte> file) {
  if (file.empty()) {
    return InvalidArgument("the picture is empty (0 bytes); accepted are {}", AcceptedKinds());
  }
  if (const auto kind = SniffAccepted(AsText(file, kTextWindowBytes))) return *kind;
  return InvalidArgument("not a supported picture: this is {}; accepted are {}", DescribeForeignData(file),
                         AcceptedKinds());
}

std::string DescribeForeignData(std::span<const std::byte> file) {
  const std::string_view text = AsText(file, kTextWindowBytes);
  for (const Magic& magic : kForeignMagics) {
    if (HasAt(text, magic.offset, magic.bytes)) return std::string(magic.description);
  }
  if (LooksLikeText(text)) return std::string(DescribeText(text));
  std::string first;
  for (std::byte b : file.first(std::min<size_t>(file.size(), 4))) first += fmt::format(" {:02x}", b);
  return fmt::format("unknown data (first bytes{})", first);
}

}  // namespace saccade
