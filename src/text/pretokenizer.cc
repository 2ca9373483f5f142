#include "text/pretokenizer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

#include "base/utf8.h"
#include "text/regex_dialect.h"

namespace saccade {
namespace {

// Steps of the matcher within one match. The published pattern needs at most a few per byte of a run of
// spaces; the limit only has to stop patterns that backtrack exponentially.
constexpr uint32_t kMatchLimit = 50'000'000;
constexpr uint32_t kHeapLimitKib = 64 << 10;

}  // namespace

class PreTokenizer::Regex {
 public:
  static Result<Regex> Compile(std::string_view pattern) {
    SACCADE_ASSIGN_OR_RETURN(const std::string translated, TranslatePattern(pattern));
    int error = 0;
    size_t offset = 0;
    Regex regex;
    regex.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &offset,
                                    nullptr));
    if (regex.code_ == nullptr) {
      std::array<PCRE2_UCHAR, 128> message{};
      pcre2_get_error_message(error, message.data(), message.size());
      return Unsupported("the regex does not compile: {} at {}",
                         reinterpret_cast<const char*>(message.data()), offset);
    }
    // Without a JIT (some systems forbid writable code) pcre2_match interprets: slower, the same result.
    pcre2_jit_compile(regex.code_.get(), PCRE2_JIT_COMPLETE);
    regex.context_.reset(pcre2_match_context_create(nullptr));
    if (regex.context_ == nullptr) return Internal("out of memory");
    pcre2_set_match_limit(regex.context_.get(), kMatchLimit);
    pcre2_set_heap_limit(regex.context_.get(), kHeapLimitKib);
    return regex;
  }

  // Calls `piece` for every match and for the text between matches.
  void Split(std::string_view text, FunctionRef<void(std::string_view)> piece) const {
    const std::unique_ptr<pcre2_match_data, FreeMatchData> match(pcre2_match_data_create(1, nullptr));
    size_t done = 0;
    size_t from = 0;
    while (match != nullptr && from < text.size()) {
      if (!Match(text, from, match.get())) break;
      const size_t* ends = pcre2_get_ovector_pointer(match.get());
      if (ends[1] <= ends[0]) {  // an empty match cuts nothing; step over one character
        from = ends[0] + std::max<size_t>(1, DecodeUtf8(text, ends[0]).length);
        continue;
      }
      if (ends[0] > done) piece(text.substr(done, ends[0] - done));
      piece(text.substr(ends[0], ends[1] - ends[0]));
      done = from = ends[1];
    }
    if (done < text.size()) piece(text.substr(done));
  }

 private:
  struct FreeCode {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  };
  struct FreeContext {
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  };
  struct FreeMatchData {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  };

  bool Match(std::string_view text, size_t from, pcre2_match_data* match) const {
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    // The text is known to be valid; checking it again for every match would be quadratic.
    int found =
        pcre2_match(code_.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK, match, context_.get());
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter keeps its state on the heap instead
      found = pcre2_match(code_.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, match,
                          context_.get());
    }
    return found >= 0;
  }

  std::unique_ptr<pcre2_code, FreeCode> code_;
  std::unique_ptr<pcre2_match_context, FreeContext> context_;  // only read while matching
};

PreTokenizer::PreTokenizer() = default;
PreTokenizer::PreTokenizer(PreTokenizer&&) noexcept = default;
PreTokenizer& PreTokenizer::operator=(PreTokenizer&&) noexcept = default;
PreTokenizer::~PreTokenizer() = default;

Status PreTokenizer::AddStep(const Json& step) {
  SACCADE_ASSIGN_OR_RETURN(const std::string type, GetString(step, "type"));
  if (type != "Split") return Unsupported("pre-tokenizer step \"{}\" is not supported", type);
  SACCADE_ASSIGN_OR_RETURN(const std::string behavior, GetString(step, "behavior"));
  SACCADE_ASSIGN_OR_RETURN(const bool invert, GetBoolOr(step, "invert", false));
  if (behavior != "Isolated" || invert) {
    return Unsupported("a Split step must have behavior Isolated, not inverted; it has {}{}", behavior,
                       invert ? ", inverted" : "");
  }
  SACCADE_ASSIGN_OR_RETURN(const Json* pattern, GetObject(step, "pattern"));
  SACCADE_ASSIGN_OR_RETURN(const auto regex, FindString(*pattern, "Regex"));
  if (!regex.has_value()) return Unsupported("a Split step must have a Regex pattern");
  SACCADE_ASSIGN_OR_RETURN(Regex compiled, Regex::Compile(*regex));
  steps_.push_back(std::move(compiled));
  return OkStatus();
}

Result<PreTokenizer> PreTokenizer::Parse(const Json& description) {
  if (!description.is_object()) return Unsupported("no pre-tokenizer is given; ByteLevel is needed");
  SACCADE_ASSIGN_OR_RETURN(const std::string type, GetString(description, "type"));
  std::vector<const Json*> steps = {&description};
  if (type == "Sequence") {
    SACCADE_ASSIGN_OR_RETURN(const Json* list, GetArray(description, "pretokenizers"));
    steps.clear();
    for (const Json& step : *list) steps.push_back(&step);
  }
  if (steps.empty()) return Unsupported("the pre-tokenizer is empty; ByteLevel is needed");
  SACCADE_ASSIGN_OR_RETURN(const std::string last, GetString(*steps.back(), "type"));
  if (last != "ByteLevel") return Unsupported("the pre-tokenizer ends with \"{}\", not with ByteLevel", last);
  SACCADE_ASSIGN_OR_RETURN(const bool prefix_space, GetBoolOr(*steps.back(), "add_prefix_space", true));
  SACCADE_ASSIGN_OR_RETURN(const bool use_regex, GetBoolOr(*steps.back(), "use_regex", true));
  if (prefix_space || use_regex) {
    return Unsupported("ByteLevel with {} is not supported", prefix_space ? "add_prefix_space" : "use_regex");
  }
  steps.pop_back();
  PreTokenizer result;
  for (const Json* step : steps) SACCADE_RETURN_IF_ERROR(result.AddStep(*step));
  return result;
}

void PreTokenizer::SplitFrom(size_t step, std::string_view text,
                             FunctionRef<void(std::string_view)> piece) const {
  if (step == steps_.size()) return piece(text);
  steps_[step].Split(text, [&](std::string_view part) { SplitFrom(step + 1, part, piece); });
}

void PreTokenizer::Split(std::string_view text, FunctionRef<void(std::string_view)> piece) const {
  if (!text.empty()) SplitFrom(0, text, piece);
}

}  // namespace saccade
