#include "text/template_file.h"

#include <array>
#include <optional>

#include "base/json.h"
#include "base/sha256.h"

namespace saccade {
namespace {

constexpr size_t kMaxTemplateBytes = size_t{4} << 20;

struct KnownTemplate {
  std::string_view sha256, name;
};
// tests/golden/chat_template.jinja is the first. The Thinking variant renders differently and is not among
// them.
constexpr std::array kKnownTemplates = {
    KnownTemplate{"9d879ef91075acbfb2df7e441fd79d60bacfca989cf6d511d2af45c681e94f10", "Qwen3-VL Instruct"},
};

// "chat_template" of a JSON file: a string, or a list of {"name", "template"} of which "default" counts.
Result<std::optional<std::string>> TemplateOfJson(const std::string& text) {
  SACCADE_ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  if (!json.is_object()) return InvalidArgument("it is not a JSON object");
  const auto member = json.find("chat_template");
  if (member == json.end() || !member->is_array()) return FindString(json, "chat_template");
  for (const Json& entry : *member) {
    SACCADE_ASSIGN_OR_RETURN(const std::string name, GetString(entry, "name"));
    if (name == "default") return FindString(entry, "template");
  }
  return std::optional<std::string>();
}

struct Found {
  std::string source, text;
};

Result<std::optional<Found>> FindTemplate(const FileSet& checkpoint) {
  for (const char* source : {"chat_template.jinja", "chat_template.json", "tokenizer_config.json"}) {
    SACCADE_ASSIGN_OR_RETURN(auto text, checkpoint.ReadOptional(source, kMaxTemplateBytes));
    if (text.has_value() && std::string_view(source) != "chat_template.jinja") {
      auto inner = TemplateOfJson(*text);
      if (!inner.ok()) return std::move(inner).status().WithContext(checkpoint.Where(source));
      text = std::move(inner).value();
    }
    if (text.has_value()) return std::optional(Found{source, *std::move(text)});
  }
  return std::optional<Found>();
}

}  // namespace

std::string TemplateSha256(std::string_view text) {
  std::string normalised;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    normalised += line.substr(0, line.find_last_not_of(" \t\r") + 1);
    normalised += '\n';
    begin = end + 1;
  }
  normalised.erase(normalised.find_last_not_of('\n') + 1);
  return ToHex(Sha256Of(normalised));
}

Result<TemplateInfo> RecogniseTemplate(const FileSet& checkpoint) {
  SACCADE_ASSIGN_OR_RETURN(const auto found, FindTemplate(checkpoint));
  TemplateInfo info;
  if (!found.has_value()) {
    info.note =
        "this checkpoint has no chat template; prompts follow the published Qwen3-VL Instruct template";
    return info;
  }
  info.source = found->source;
  info.sha256 = TemplateSha256(found->text);
  for (const KnownTemplate& known : kKnownTemplates) {
    if (known.sha256 != info.sha256) continue;
    info.kind = TemplateInfo::Kind::kKnown;
    info.name = known.name;
    return info;
  }
  info.kind = TemplateInfo::Kind::kUnknown;
  info.note = fmt::format(
      "the chat template in {} (SHA-256 {}) is not a known one; prompts follow the published Qwen3-VL "
      "Instruct template, "
      "which may not be what this checkpoint was trained with",
      info.source, info.sha256);
  return info;
}

}  // namespace saccade
