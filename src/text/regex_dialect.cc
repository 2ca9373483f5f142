#include "text/regex_dialect.h"

namespace saccade {
namespace {

constexpr size_t kMaxPatternBytes = 4096;

// Letters and numbers that came with Unicode 15 and 16: Oniguruma 6.9.10, which the reference uses, knows
// them, PCRE2 10.42 (Debian 12, Ubuntu 24.04) has Unicode 14. With a newer PCRE2 they are merely redundant.
constexpr std::string_view kNewLetters =
    "\\x{1C89}-\\x{1C8A}\\x{A7CB}-\\x{A7CD}\\x{A7DA}-\\x{A7DC}\\x{105C0}-\\x{105F3}\\x{10D4A}-\\x{10D65}"
    "\\x{10D6F}-\\x{10D85}\\x{10EC2}-\\x{10EC4}\\x{1123F}-\\x{11240}\\x{11380}-\\x{11389}\\x{1138B}\\x{1138E}"
    "\\x{11390}-\\x{113B5}\\x{113B7}\\x{113D1}\\x{113D3}\\x{11BC0}-\\x{11BE0}\\x{11F02}\\x{11F04}-\\x{11F10}"
    "\\x{11F12}-\\x{11F33}\\x{1342F}\\x{13441}-\\x{13446}\\x{13460}-\\x{143FA}\\x{16100}-\\x{1611D}"
    "\\x{16D40}-\\x{16D6C}\\x{18CFF}\\x{1B132}\\x{1B155}\\x{1DF25}-\\x{1DF2A}\\x{1E030}-\\x{1E06D}"
    "\\x{1E4D0}-\\x{1E4EB}\\x{1E5D0}-\\x{1E5ED}\\x{1E5F0}\\x{2B739}\\x{2EBF0}-\\x{2EE5D}\\x{31350}-\\x{"
    "323AF}";
constexpr std::string_view kNewNumbers =
    "\\x{10D40}-\\x{10D49}\\x{116D0}-\\x{116E3}\\x{11BF0}-\\x{11BF9}\\x{11F50}-\\x{11F59}\\x{16130}-\\x{"
    "16139}"
    "\\x{16D70}-\\x{16D79}\\x{1CCF0}-\\x{1CCF9}\\x{1D2C0}-\\x{1D2D3}\\x{1E4F0}-\\x{1E4F9}\\x{1E5F1}-\\x{"
    "1E5FA}";

class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  Result<std::string> Run() {
    while (pos_ < pattern_.size()) SACCADE_RETURN_IF_ERROR(Step());
    if (in_class_) return InvalidArgument("a [ in the regex is not closed");
    return std::move(out_);
  }

 private:
  bool Skip(std::string_view text) {
    if (pattern_.substr(pos_, text.size()) != text) return false;
    pos_ += text.size();
    return true;
  }

  Status Step() {
    if (Skip("\\")) return Escape();
    if (in_class_) return ClassMember();
    const char c = pattern_[pos_++];
    out_ += c;
    if (c != '[') return OkStatus();
    in_class_ = true;
    if (Skip("^")) out_ += '^';
    if (Skip("]")) return Unsupported("a class that starts with \"]\" in a regex is not supported");
    return OkStatus();
  }

  Status ClassMember() {
    if (Skip("&&")) return Unsupported("\"&&\" in a regex is not supported");
    const char c = pattern_[pos_++];
    if (c == '[') return Unsupported("\"[\" within a class of a regex is not supported");
    if (c == ']') in_class_ = false;
    out_ += c;
    return OkStatus();
  }

  Status Escape() {
    if (pos_ >= pattern_.size()) return InvalidArgument("the regex ends with a backslash");
    if (Skip("s")) return Append("\\p{White_Space}");
    if (Skip("S")) return Append("\\P{White_Space}");
    if (Skip("p{L}")) return Property("\\p{L}", kNewLetters, false);
    if (Skip("P{L}")) return Property("\\p{L}", kNewLetters, true);
    if (Skip("p{N}")) return Property("\\p{N}", kNewNumbers, false);
    if (Skip("P{N}")) return Property("\\p{N}", kNewNumbers, true);
    const char escaped = pattern_[pos_++];
    const char lower = static_cast<char>(escaped | 32);
    const bool letter_or_digit = (escaped >= '0' && escaped <= '9') || (lower >= 'a' && lower <= 'z');
    if (letter_or_digit && std::string_view("pPdDrnt").find(escaped) == std::string_view::npos) {
      return Unsupported("\"\\{}\" in a regex is not supported", escaped);
    }
    out_ += '\\';
    out_ += escaped;
    return OkStatus();
  }

  Status Append(std::string_view text) {
    out_ += text;
    return OkStatus();
  }

  Status Property(std::string_view name, std::string_view additions, bool negated) {
    if (in_class_ && negated)
      return Unsupported("a negated property within a class of a regex is not supported");
    if (!in_class_) out_ += negated ? "[^" : "[";
    out_.append(name).append(additions);
    if (!in_class_) out_ += ']';
    return OkStatus();
  }

  std::string_view pattern_;
  size_t pos_ = 0;
  bool in_class_ = false;
  std::string out_;
};

}  // namespace

Result<std::string> TranslatePattern(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return Unsupported("the regex has {} bytes, the limit is {}", pattern.size(), kMaxPatternBytes);
  }
  return Translator(pattern).Run();
}

}  // namespace saccade
