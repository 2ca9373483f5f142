// A picture on the terminal, for terminals that can show one.
#pragma once

#include <span>
#include <string>

#include "image/image.h"

namespace saccade {

enum class TerminalKind : uint8_t { kPlain, kKitty, kIterm };

// By what the terminal says about itself in the environment.
TerminalKind DetectTerminal();

// The escape sequences that show a picture in this terminal. kPlain gets blocks of two pixels in 24-bit
// colour.
std::string PictureForTerminal(TerminalKind kind, const RgbImage& picture, std::span<const std::byte> png);

// Smaller copy with at most this width, by averaging; the picture itself when it is not wider.
RgbImage ShrinkTo(const RgbImage& picture, int max_width);

}  // namespace saccade
