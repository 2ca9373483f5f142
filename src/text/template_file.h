// Finds a checkpoint's chat template and says whether it is one that text/chat_template renders.
#pragma once

#include <string>
#include <string_view>

#include "base/file_set.h"
#include "base/status.h"

namespace saccade {

struct TemplateInfo {
  enum class Kind : uint8_t {
    kKnown,    // a published template of Qwen3-VL: RenderChat renders it byte for byte
    kUnknown,  // some other template: RenderChat gives the published format instead of this one
    kMissing,  // the checkpoint has none
  };
  Kind kind = Kind::kMissing;
  std::string name;    // of a known template: "Qwen3-VL Instruct"
  std::string source;  // "chat_template.jinja", ...: where it was found; empty when missing
  std::string sha256;  // of the normalised text
  std::string note;    // for the user when it is not known: what this means and what is done

  bool known() const { return kind == Kind::kKnown; }
};

// Looks where the reference looks, in its order: chat_template.jinja, chat_template.json, and "chat_template"
// in tokenizer_config.json. An error only when a file is there but cannot be read or parsed.
Result<TemplateInfo> RecogniseTemplate(const FileSet& checkpoint);

// The hash that decides: line ends as LF, no spaces at line ends, no empty lines at the end. None of these
// changes what the published template renders.
std::string TemplateSha256(std::string_view text);

}  // namespace saccade
