#include "text/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"

namespace saccade {
namespace {

struct Range {
  char32_t first, last;
};

template <size_t kCount>
bool IsIn(const Range (&ranges)[kCount], char32_t c) {
  const auto* range = std::upper_bound(std::begin(ranges), std::end(ranges), c,
                                       [](char32_t value, const Range& r) { return value < r.first; });
  return range != std::begin(ranges) && c <= std::prev(range)->last;
}

// Blocks of starters that are NFC themselves and never compose with a predecessor: text made of them alone is
// NFC. Chosen to cover ordinary Chinese, Japanese, Korean, Cyrillic, Greek and emoji, not to be complete.
constexpr Range kInert[] = {{0, 0x2FF},       {0x388, 0x482},     {0x2010, 0x2027},  {0x3001, 0x3029},
                            {0x3041, 0x3096}, {0x30A0, 0x30FF},   {0x3400, 0x9FFF},  {0xAC00, 0xD7A3},
                            {0xFF01, 0xFFEE}, {0x1F300, 0x1FAFF}, {0x20000, 0x2A6DF}};

// Characters that pass unchanged and keep apart what stands before and after them. All but two are combining
// marks younger than Unicode 9, which the reference takes for starters that compose with nothing. U+11930
// composes since Unicode 13. U+11A7 is one below the trailing consonants of Hangul: utf8proc 2.8 composes it
// by mistake and loses it.
constexpr Range kBarriers[] = {
    {0x7FD, 0x7FD},     {0x898, 0x89F},     {0x8CA, 0x8D3},     {0x9FE, 0x9FE},     {0xC3C, 0xC3C},
    {0xD3B, 0xD3C},     {0xEBA, 0xEBA},     {0x11A7, 0x11A7},   {0x1715, 0x1715},   {0x1ABF, 0x1ACE},
    {0x1DF6, 0x1DFA},   {0xA82C, 0xA82C},   {0x10D24, 0x10D27}, {0x10EAB, 0x10EAC}, {0x10EFD, 0x10EFF},
    {0x10F46, 0x10F50}, {0x10F82, 0x10F85}, {0x11070, 0x11070}, {0x1133B, 0x1133B}, {0x1145E, 0x1145E},
    {0x11839, 0x1183A}, {0x11930, 0x11930}, {0x1193D, 0x1193E}, {0x11943, 0x11943}, {0x119E0, 0x119E0},
    {0x11A34, 0x11A34}, {0x11A47, 0x11A47}, {0x11A99, 0x11A99}, {0x11D42, 0x11D42}, {0x11D44, 0x11D45},
    {0x11D97, 0x11D97}, {0x11F41, 0x11F42}, {0x16FF0, 0x16FF1}, {0x1E08F, 0x1E08F}, {0x1E130, 0x1E136},
    {0x1E2AE, 0x1E2AE}, {0x1E2EC, 0x1E2EF}, {0x1E4EC, 0x1E4EF}};

uint8_t CombiningClass(int32_t code_point) {
  return static_cast<uint8_t>(utf8proc_get_property(code_point)->combining_class);
}

void AppendDecomposed(char32_t code_point, std::vector<int32_t>& out) {
  if (code_point < 0xC0) return out.push_back(static_cast<int32_t>(code_point));  // nothing below decomposes
  int32_t parts[16];  // canonical decompositions have at most four
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<int32_t>(code_point), parts, std::size(parts),
                                             UTF8PROC_COMPOSE, &boundary);
  SACCADE_CHECK(count > 0 && count <= static_cast<utf8proc_ssize_t>(std::size(parts)));
  out.insert(out.end(), parts, parts + count);
}

// Canonical ordering: marks between two starters stand in the order of their combining class.
void SortMarks(std::vector<int32_t>& code_points) {
  const auto is_starter = [](int32_t c) { return c < 0x300 || CombiningClass(c) == 0; };
  for (auto run = code_points.begin(); run != code_points.end();) {
    run = std::find_if_not(run, code_points.end(), is_starter);
    const auto end = std::find_if(run, code_points.end(), is_starter);
    std::stable_sort(run, end, [](int32_t a, int32_t b) { return CombiningClass(a) < CombiningClass(b); });
    run = end;
  }
}

// Composes decomposed text between two barriers and appends it as UTF-8; `code_points` is scratch afterwards.
void AppendComposed(std::vector<int32_t>& code_points, std::string& out) {
  SortMarks(code_points);
  const auto count =
      utf8proc_normalize_utf32(code_points.data(), static_cast<utf8proc_ssize_t>(code_points.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  SACCADE_CHECK(count >= 0);
  for (size_t i = 0; i < static_cast<size_t>(count); ++i)
    AppendUtf8(static_cast<char32_t>(code_points[i]), out);
}

}  // namespace

Result<Normalization> ParseNormalizer(const Json& description) {
  if (description.is_null()) return Normalization::kNone;
  SACCADE_ASSIGN_OR_RETURN(const std::string type, GetString(description, "type"));
  if (type == "NFC") return Normalization::kNfc;
  if (type != "Sequence") return Unsupported("normalizer \"{}\" is not supported, only NFC is", type);
  SACCADE_ASSIGN_OR_RETURN(const Json* parts, GetArray(description, "normalizers"));
  auto combined = Normalization::kNone;
  for (const Json& part : *parts) {
    SACCADE_ASSIGN_OR_RETURN(const Normalization one, ParseNormalizer(part));
    if (one == Normalization::kNfc) combined = one;
  }
  return combined;
}

bool IsSurelyNfc(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    uint64_t word = 0;
    if (pos + 8 <= text.size()) {
      std::memcpy(&word, text.data() + pos, 8);
      if ((word & 0x8080808080808080U) == 0) {
        pos += 8;
        continue;
      }
    }
    const Utf8Step step = DecodeUtf8(text, pos);
    if (!IsIn(kInert, step.code_point)) return false;
    pos += step.length;
  }
  return true;
}

std::string ToNfc(std::string_view text) {
  if (IsSurelyNfc(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  std::vector<int32_t> section;
  for (size_t pos = 0; pos < text.size();) {
    const Utf8Step step = DecodeUtf8(text, pos);
    if (IsIn(kBarriers, step.code_point)) {
      AppendComposed(section, out);
      section.clear();
      AppendUtf8(step.code_point, out);
    } else {
      AppendDecomposed(step.code_point, section);
    }
    pos += step.length;
  }
  AppendComposed(section, out);
  return out;
}

}  // namespace saccade
