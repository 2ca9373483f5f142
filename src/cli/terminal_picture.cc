#include "cli/terminal_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/base64.h"

namespace saccade {
namespace {

constexpr int kBlockColumns = 72;
constexpr size_t kKittyChunk = 4096;  // the protocol's bound

std::string_view Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string Kitty(const std::string& base64) {
  std::string out;
  for (size_t at = 0; at < base64.size(); at += kKittyChunk) {
    const bool last = at + kKittyChunk >= base64.size();
    out += fmt::format("\033_G{}m={};{}\033\\", at == 0 ? "a=T,f=100," : "", last ? 0 : 1,
                       std::string_view(base64).substr(at, kKittyChunk));
  }
  return out + "\n";
}

std::string Blocks(const RgbImage& picture) {
  const RgbImage small = ShrinkTo(picture, kBlockColumns);
  std::string out;
  for (int y = 0; y + 1 < small.height; y += 2) {
    for (int x = 0; x < small.width; ++x) {
      const uint8_t* upper = &small.pixels[y * small.row_bytes() + size_t{3} * x];
      const uint8_t* lower = upper + small.row_bytes();
      out += fmt::format("\033[38;2;{};{};{};48;2;{};{};{}m\xE2\x96\x80", upper[0], upper[1], upper[2],
                         lower[0], lower[1], lower[2]);
    }
    out += "\033[0m\n";
  }
  return out;
}

}  // namespace

TerminalKind DetectTerminal() {
  const std::string_view program = Environment("TERM_PROGRAM"), term = Environment("TERM");
  if (!Environment("KITTY_WINDOW_ID").empty() || term == "xterm-kitty" || term == "xterm-ghostty" ||
      program == "ghostty") {
    return TerminalKind::kKitty;
  }
  if (program == "iTerm.app" || program == "WezTerm" || program == "mintty" ||
      Environment("LC_TERMINAL") == "iTerm2") {
    return TerminalKind::kIterm;
  }
  return TerminalKind::kPlain;
}

std::string PictureForTerminal(TerminalKind kind, const RgbImage& picture, std::span<const std::byte> png) {
  if (kind == TerminalKind::kPlain) return Blocks(picture);
  const std::string base64 = EncodeBase64(png);
  if (kind == TerminalKind::kKitty) return Kitty(base64);
  return fmt::format("\033]1337;File=inline=1;size={}:{}\a\n", png.size(), base64);
}

RgbImage ShrinkTo(const RgbImage& picture, int max_width) {
  if (picture.width <= max_width) return picture;
  RgbImage small;
  small.width = max_width;
  small.height = std::max(1, static_cast<int>(int64_t{picture.height} * max_width / picture.width));
  small.pixels.resize(small.row_bytes() * static_cast<size_t>(small.height));
  for (int y = 0; y < small.height; ++y) {
    const int top = static_cast<int>(int64_t{y} * picture.height / small.height);
    const int bottom = std::max(top + 1, static_cast<int>(int64_t{y + 1} * picture.height / small.height));
    for (int x = 0; x < small.width; ++x) {
      const int left = static_cast<int>(int64_t{x} * picture.width / small.width);
      const int right = std::max(left + 1, static_cast<int>(int64_t{x + 1} * picture.width / small.width));
      for (int channel = 0; channel < 3; ++channel) {
        int64_t sum = 0;
        for (int v = top; v < bottom; ++v) {
          for (int u = left; u < right; ++u)
            sum += picture.pixels[v * picture.row_bytes() + size_t{3} * u + channel];
        }
        small.pixels[y * small.row_bytes() + size_t{3} * x + channel] =
            static_cast<uint8_t>(sum / (int64_t{bottom - top} * (right - left)));
      }
    }
  }
  return small;
}

}  // namespace saccade
